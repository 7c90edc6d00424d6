/** What `banditree show plan.json --format machine` writes. */
export interface Machine {
  schema: "banditree/machine/1";
  plan: string;
  horizon: number;
  arms: string[];
  tasks: string[];
  text: string[];
  pages: { missing: string[]; gives: string[]; rows: { place: string; says: string; [part: string]: unknown }[] }[];
  rewards: { outcomes: { value: number; name: string }[]; low?: number; high?: number; [part: string]: unknown };
  [part: string]: unknown;
}

export type Reward = number | "missing";
export type Context = Record<string, number | string> | number[];

/** Why there is nothing to give. */
export type Outcome =
  | "horizon_reached"
  | "arm_not_available"
  | "no_arm_available"
  | "context_needed"
  | "outcome_needed"
  | "person_needed";

export interface Step {
  round: number;
  arm?: string;
  outcome?: Outcome;
}

export interface Round {
  arm: number;
  context: number[] | null;
  reward: Reward | null;
  overridden: boolean;
  tallied: boolean;
  harm?: boolean;
}

/** A case as case files keep it, under `session`. */
export interface Session {
  schema: "banditree/session/1";
  policy: string;
  horizon: number;
  seed: number;
  case: number;
  without?: number[];
  n_applied: number;
  rounds: Round[];
  [part: string]: unknown;
}

/** Something that the follower does not do; nothing has changed. */
export class Refused extends Error {}

export class Follower {
  constructor(machine: Machine, options?: { seed?: number; caseNumber?: number; without?: string[] });
  static resume(machine: Machine, session: Session): Follower;
  readonly machine: Machine;
  readonly rounds: Round[];
  readonly openRounds: number[];
  readonly offPlanRounds: number[];
  readonly at: { page: number; row: number; pulls: number; total: number };
  ask(options?: { n?: number; context?: Context; available?: string[]; wait?: boolean }): Step[];
  tell(reward: Reward, round: number, harm?: boolean): void;
  override(arm: string, round?: number, context?: Context): Step;
  correct(reward: Reward, round: number, harm?: boolean): void;
  askedNames(): string[];
  snapshot(): Session;
}
