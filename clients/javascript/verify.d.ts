/** JSON in which numbers that are not whole stay the text that they are. */
export function readExactly(text: string): unknown;

/** What is proven of a plan. What is not is an Error that says why. Documents: from `readExactly`. */
export function verify(
  plan: unknown,
  collection: unknown,
  proof: unknown,
): Promise<{ task: string; what: "regret" | "wrong_arm" | "harm"; least: number; most: number }[]>;
