/** The HTTP API of the banditree service, with types made from its own description (`make clients`). */
import createClient, { type Client } from "openapi-fetch";

import type { components, paths } from "./schema.js";

/** The shapes of requests and answers, as in `Shapes["Standing"]`. */
export type Shapes = components["schemas"];

/** The service refused: its HTTP status, a code for programs, a sentence for people. */
export class ServiceError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const AGAIN = [502, 503, 504];
const LONGEST = 10_000; // ms between two attempts

/**
 * The service at an address: `(await connect(url, token).GET("/api/v1/cases")).data`.
 *
 * What is refused throws a ServiceError. After a lost connection, a 503, and a 502 or 504 of a proxy a request is sent
 * again, `retries` times; that does no harm, since every change carries a key with which it is carried out once.
 */
export function connect(url: string, token?: string, retries = 3): Client<paths> {
  return createClient<paths>({
    baseUrl: url,
    fetch: async (request) => {
      if (token !== undefined) request.headers.set("authorization", `Bearer ${token}`);
      if (request.method !== "GET" && !request.headers.has("idempotency-key"))
        request.headers.set("idempotency-key", crypto.randomUUID());
      const answer = await patiently(request, retries);
      if (answer.ok) return answer;
      const { error } = (await answer.json().catch(() => ({}))) as Partial<Shapes["Failure"]>;
      throw new ServiceError(answer.status, error?.code ?? "unknown", error?.message ?? answer.statusText);
    },
  });
}

async function patiently(request: Request, retries: number): Promise<Response> {
  for (let attempt = 0; ; attempt++) {
    let wait = 100 * 2 ** attempt;
    try {
      const answer = await fetch(request.clone());
      if (attempt === retries || !AGAIN.includes(answer.status)) return answer;
      wait = Math.max(wait, 1000 * Number(answer.headers.get("retry-after") ?? 0) || 0);
    } catch (problem) {
      if (attempt === retries) throw problem;
    }
    await new Promise((go) => setTimeout(go, Math.min(wait, LONGEST)));
  }
}
