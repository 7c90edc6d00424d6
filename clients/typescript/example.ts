/** A case from the upload of its plan to its end: node dist/example.js http://127.0.0.1:8000 plan.json [token] */
import { readFile } from "node:fs/promises";

import { connect, ServiceError } from "./index.js";

const [url, file, token] = process.argv.slice(2);
if (url === undefined || file === undefined) throw new Error("Give the address of a service and a plan file.");
const service = connect(url, token);

const plan = JSON.parse(await readFile(file, "utf8"));
const added = await service.POST("/api/v1/plans", {
  body: { name: "from TypeScript", plan, sign: { comment: "Read and agreed." } },
});
const started = await service.POST("/api/v1/cases", { body: { plan: added.data!.data.id, label: "bed 12" } });
const id = started.data!.data.id;
const path = { params: { path: { id } } };

let [step] = (await service.POST("/api/v1/cases/{id}/ask", { ...path, body: {} })).data!.data;
for (const reward of [1, 0, "missing"] as const) {
  const body = { round: step!.round!, reward, ask: {} };
  [step] = (await service.POST("/api/v1/cases/{id}/tell", { ...path, body })).data!.data.steps ?? [];
}
try {
  await service.POST("/api/v1/cases/{id}/tell", { ...path, body: { round: 1, reward: 0 } });
} catch (problem) {
  if (!(problem instanceof ServiceError)) throw problem;
  console.log(`${problem.status} ${problem.code}`);
}
await service.POST("/api/v1/cases/{id}/close", { ...path, body: { reason: "well" } });
const { data: standing } = (await service.GET("/api/v1/cases/{id}", path)).data!;
console.log(`${id} ${standing.state}, ${standing.rounds} rounds`);
