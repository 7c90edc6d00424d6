// Follows a plan of banditree for one case: asks what to give, takes outcomes late, missing, corrected or overridden.
// docs/travel.md says what every part means; conformance/following.json says what has to come of it.

export const MACHINE = "banditree/machine/1";
const SESSION = "banditree/session/1";
const KNOWN = "not again|give|treat as|best of|hand over|for good|rounds|score|watch|outcome|promise|fit".split("|");
const LEAST_CHANCE = 1e-9; // An outcome that is called impossible has this chance.
const within = (value, low, high) => Math.min(Math.max(value, low), high);
const sumOf = (values) => values.reduce((sum, one) => sum + one, 0);

/** Something that the follower does not do; nothing has changed. */
export class Refused extends Error {}

export class Follower {
  /** A new case. machine: what `banditree show plan.json --format machine` writes. */
  constructor(machine, { seed = 0, caseNumber = 0, without = [] } = {}) {
    check(machine);
    Object.assign(this, { machine, seed, caseNumber, rounds: [] });
    this.without = without.map((arm) => this.armNumber(arm));
    const { low = null, high = null } = machine.rewards;
    this.inRange = low !== null && high !== null;
    [this.low, this.width] = this.inRange ? [low, high - low] : [0, 1];
    this.begin();
    if (this.stranded) throw new Refused(`This plan has no page for a case that must not get ${without.join(" or ")}.`);
  }

  /** The case in a case file (its `session`), or in what `snapshot` returned. */
  static resume(machine, session) {
    const { schema, policy, seed, case: caseNumber, without = [], rounds } = session;
    if (schema !== SESSION || policy !== machine.policy) throw new Refused(`No case of this plan: ${schema}, ${policy}.`);
    const made = new Follower(machine, { seed, caseNumber, without: without.map((k) => machine.arms[k]) });
    made.rounds = structuredClone(rounds);
    made.apply();
    return made;
  }

  /** The rounds that wait for an outcome. */
  get openRounds() {
    return this.rounds.flatMap((entry, i) => (entry.reward === null ? [i + 1] : []));
  }

  /** The rounds whose arm was not the plan's. */
  get offPlanRounds() {
    const strayed = (e, i) => e.overridden || (i < this.applied && !e.tallied && e.reward !== "missing");
    return this.rounds.flatMap((entry, i) => (strayed(entry, i) ? [i + 1] : []));
  }

  /** Where the case stands: page (from 1), row (from 0), rounds tallied there, and the total or score there. */
  get at() { return { page: this.machine.pages.indexOf(this.page) + 1, row: this.row, pulls: this.pulls, total: this.total }; }

  /** The open rounds, or new ones: [{round, arm}], or [{round, outcome}] with the reason why there is none. */
  ask({ n, context, available, wait = true } = {}) {
    if (n !== undefined && !(n >= 1)) throw new Refused(`n must be at least 1. Got ${n}.`);
    const x = this.contextOf(context, this.ownContext());
    const some = available?.map((arm) => this.armNumber(arm));
    const never = [...this.without, ...this.barred];
    const mask = this.machine.arms.map((_, k) => (!some || some.includes(k)) && !never.includes(k));
    const wanted = n || (wait ? 1 : this.openRounds.length + 1);
    const steps = this.openRounds.slice(0, wanted).map((number) => this.step(number));
    while (steps.length < wanted) {
      const step = this.open(x, mask, wait);
      if (!step.outcome || n === undefined || !steps.length) steps.push(step);
      if (step.outcome) break;
    }
    return n === undefined ? steps.slice(-1) : steps;
  }

  /** Report the outcome of a round, a number or "missing", and harm, also later. The same report again changes nothing. */
  tell(reward, round, harm) {
    const [entry, value] = [this.entry(round), this.checked(reward)];
    const again = entry.reward !== null;
    if (again && (entry.reward !== value || (harm ?? entry.harm) !== (entry.harm ?? harm)))
      throw new Refused(`Round ${round} was already told as ${entry.reward}. Got ${value}.`);
    Object.assign(entry, { reward: value }, harm === undefined ? {} : { harm });
    if (again) this.begin();
    this.apply();
  }

  /** The round in which a person gives another arm: an open one, or a new one if none is open. */
  override(arm, round, context) {
    const [k, x, open] = [this.armNumber(arm), this.contextOf(context, this.ownContext()), this.openRounds];
    const given = (own) => ({ arm: k, context: own, reward: null, overridden: true, tallied: false });
    const isNew = round === undefined && !open.length;
    if (isNew && this.rounds.length >= this.machine.horizon) return { round: this.rounds.length + 1, outcome: "horizon_reached" };
    if (isNew) return this.step(this.rounds.push(given(kept(x))));
    if (round === undefined && open.length > 1) throw new Refused("Say which round is overridden.");
    const [number, entry] = [round ?? open[0], this.entry(round ?? open[0])];
    if (entry.reward !== null) throw new Refused(`Round ${number} already has its outcome.`);
    if (entry.arm === k && !entry.overridden) throw new Refused(`Round ${number} is ${arm} as planned.`);
    this.rounds[number - 1] = given(context === undefined ? entry.context : kept(x));
    return this.step(number);
  }

  /** Replace the outcome of a round, and play the case again from its start. */
  correct(reward, round, harm) {
    const [entry, value] = [this.entry(round), this.checked(reward)];
    if (entry.reward === null) throw new Refused(`Round ${round} has no outcome to correct yet: tell it.`);
    Object.assign(entry, { reward: value }, harm === undefined ? {} : { harm });
    this.begin();
    this.apply();
  }

  /** The case as case files keep it. */
  snapshot() {
    const { machine, against, fit, without } = this;
    const plan = { place: [this.row, this.pulls], total: [this.total] };
    const state = { plan, arms: { pulls: this.armPulls, sums: this.armSums }, against, fit };
    const about = { schema: SESSION, policy: machine.policy, options: {}, horizon: machine.horizon, seed: this.seed };
    const more = without.length ? { without: [...without].sort((a, b) => a - b) } : {};
    const rounds = { n_applied: this.applied, rounds: this.rounds, state: machine.policy === "follow" ? plan : state };
    return structuredClone({ ...about, case: this.caseNumber, ...more, ...rounds });
  }

  begin() {
    const { arms, tasks, fallback } = this.machine;
    this.bar([]);
    this.worth = Math.max(0, ...this.page.rows.map((row) => row.gives.worth || 0));
    this.target = this.page.rows.findIndex((row) => row.gives.kind === "hand over");
    this.byOdds = Boolean(fallback && fallback.odds) && this.target >= 0;
    [this.applied, this.armPulls, this.armSums] = [0, arms.map(() => 0), arms.map(() => 0)];
    [this.against, this.fit] = [0, 0].map(() => (this.byOdds ? tasks.map(() => 0) : []));
    this.enter(0);
  }

  /** Never give these arms: the case goes on at the first row of the page for it, unless it is on that page. */
  bar(arms) {
    const never = [...this.without, ...arms].map((k) => this.machine.arms[k]);
    const all = [...this.machine.pages].sort((a, b) => b.missing.length - a.missing.length);
    const fits = (one) => one.missing.every((arm) => never.includes(arm)) && !one.gives.some((arm) => never.includes(arm));
    const page = all.find(fits);
    const turns = page && page !== this.page;
    [this.barred, this.stranded, this.page] = [arms, !page, page ?? this.page ?? this.machine.pages[0]];
    if (turns) this.enter(0);
  }

  enter(row) { [this.row, this.pulls, this.total] = [row, 0, 0]; }
  apply() {
    for (; this.applied < this.rounds.length; this.applied++) {
      const entry = this.rounds[this.applied];
      if (entry.reward === null) return;
      const x = this.contextOf(entry.context || undefined);
      const only = this.machine.arms.map((_, k) => k === entry.arm);
      const never = entry.overridden || this.stranded || this.barred.includes(entry.arm);
      const fits = !never && this.choose(x, only, this.applied + 1) === entry.arm;
      entry.tallied = entry.reward !== "missing" && fits;
      if (entry.tallied) this.update(x, entry.arm, entry.reward);
      const bars = this.machine.on_harm && entry.harm && !this.barred.includes(entry.arm);
      if (bars) this.bar([...this.barred, entry.arm]);
    }
  }

  open(x, mask, wait) {
    const [number, waiting] = [this.rounds.length + 1, this.rounds.length - this.applied];
    if (number > this.machine.horizon) return { round: number, outcome: "horizon_reached" };
    const late = this.machine.on_harm ? this.rounds.slice(this.applied).filter((entry) => entry.harm) : [];
    if (this.stranded) return { round: number, outcome: "person_needed" };
    if (late.some((entry) => !this.barred.includes(entry.arm))) return { round: number, outcome: "outcome_needed" };
    if (!mask.some(Boolean)) return { round: number, outcome: "no_arm_available" };
    if (wait && waiting && waiting >= this.patience()) return { round: number, outcome: "outcome_needed" };
    const arm = this.choose(x, mask, number);
    if (typeof arm === "string") return { round: number, outcome: arm };
    return this.step(this.rounds.push({ arm, context: kept(x), reward: null, overridden: false, tallied: false }));
  }

  step(number) { return { round: number, arm: this.machine.arms[this.rounds[number - 1].arm] }; }
  entry(round) {
    if (this.rounds[round - 1]) return this.rounds[round - 1];
    throw new Refused(`round must be one that was asked. Got ${round}. Open: ${this.openRounds.join(", ") || "none"}.`);
  }

  armNumber(arm) {
    const k = this.machine.arms.indexOf(arm);
    if (k < 0) throw new Refused(`An arm must be one of ${this.machine.arms.join(", ")}. Got ${arm}.`);
    return k;
  }

  checked(reward) {
    if (reward === "missing") return reward;
    const { outcomes, low = null, high = null } = this.machine.rewards;
    const inside = (low === null || reward >= low) && (high === null || reward <= high) && Math.abs(reward) <= 1e100;
    const possible = outcomes.length ? outcomes.some((one) => one.value === reward) : inside;
    if (possible && typeof reward === "number") return reward;
    throw new Refused(`${reward} is no outcome of this plan.`);
  }

  ownContext() {
    if (!this.machine.features.some((feature) => feature.per_case)) return null;
    const recent = this.rounds.slice(Math.max(this.applied - 100, 0)).reverse(); // where others look, too
    return recent.find((entry) => entry.context)?.context ?? null;
  }

  /** The columns of a context that have to be given. */
  askedNames(known = this.ownContext()) {
    const asked = this.machine.features.filter((f) => f.name !== "(intercept)" && !(f.per_case && known));
    return [...new Set(asked.map((feature) => feature.name))];
  }

  /** The context as numbers; null where it is not known. */
  contextOf(given, known = null) {
    const { features } = this.machine;
    if (given === undefined) return !features.length ? [] : known && !this.askedNames(known).length ? known : null;
    const wrong = (what) => new Refused(`The context must have a value for ${this.askedNames(known)}. Wrong: ${what}.`);
    if (Array.isArray(given) && features.length && given.length === features.length && given.every(Number.isFinite)) return given;
    if (Array.isArray(given)) throw wrong(given);
    const missing = this.askedNames(known).filter((name) => !(name in given));
    const unknown = Object.keys(given).filter((name) => !this.askedNames(null).includes(name));
    if (!features.length || missing.length || unknown.length) throw wrong([...missing, ...unknown]);
    return features.map((f, i) => (f.name === "(intercept)" ? 1 : f.name in given ? coded(f, given[f.name]) : known[i]));
  }

  patience() {
    const { counts, fall, climb } = this.page.rows[this.row];
    if (this.chooses() || counts.kind === "for good") return this.chooses() ? 1 : Infinity;
    if (counts.kind === "rounds") return counts.rounds - this.pulls;
    const down = Math.ceil((this.total + counts.floor) / fall);
    return counts.kind === "watch" ? down : Math.min(down, Math.ceil((counts.ceil - this.total) / climb));
  }

  chooses() {
    const { gives } = this.page.rows[this.row];
    return gives.kind === "best of" || (gives.kind === "hand over" && this.machine.fallback.to === "thompson");
  }

  choose(x, mask, round) {
    const { gives, counts } = this.page.rows[this.row];
    if (this.chooses()) return this.chosen(gives, mask, round);
    let arm = gives.kind === "hand over" ? this.machine.fallback.arm : gives.arm;
    if (gives.kind === "hand over" && !arm) return "person_needed";
    if (x === null && (gives.kind === "treat as" || counts.points?.kind === "fit")) return "context_needed";
    if (gives.kind === "treat as") arm = this.treatedAs(gives.task, x).arm;
    const k = this.machine.arms.indexOf(arm);
    return mask[k] ? k : "arm_not_available";
  }

  chosen(gives, mask, round) {
    const [rng, expected] = [[this.seed, this.caseNumber, round], this.worth > 0 && gives.kind === "best of"];
    let [task, arm, highest] = [expected ? this.drawnTask(rng) : -1, "no_arm_available", -Infinity];
    this.machine.arms.forEach((name, k) => {
      const place = gives.arms ? gives.arms.indexOf(name) : 0;
      if (!mask[k] || (place < 0 && task < 0)) return;
      const rate = task < 0 ? (gives.expected || [])[place] || 0 : this.machine.fallback.means[task][k];
      const value = expected ? this.upperMean(rate, k) : this.drawnMean(k, rng);
      if (value > highest) [arm, highest] = [k, value];
    });
    return arm;
  }

  drawnTask(rng) {
    const most = Math.max(...this.fit);
    const weights = this.fit.map((one) => Math.exp(one - most));
    const start = uniforms(rng, 0)[0] * sumOf(weights);
    return weights.findLastIndex((_, i) => weights.slice(0, i).reduce((left, weight) => left - weight, start) >= 0);
  }

  upperMean(rate, k) {
    const worth = this.worth + this.armPulls[k];
    const mean = (this.worth * rate + this.armSums[k]) / worth;
    const inside = Math.max((mean - this.low) * (this.low + this.width - mean), 0);
    const variance = this.inRange ? inside : this.machine.rewards.variance;
    const left = this.machine.horizon - sumOf(this.armPulls); // half the logarithm: see docs/travel.md
    return left <= worth ? mean : mean + Math.sqrt((0.5 * Math.log(left / worth) * variance) / (worth + 1));
  }

  drawnMean(k, rng) {
    const [n, draw] = [this.armPulls[k], () => normal(...uniforms(rng, k))];
    if (!this.inRange) return n ? this.armSums[k] / n + Math.sqrt(this.machine.rewards.variance / n) * draw() : Infinity;
    const successes = (this.armSums[k] - this.low * n) / this.width;
    const one = gamma(1 + Math.max(successes, 0), rng, 2 * k);
    return one / (one + gamma(1 + Math.max(n - successes, 0), rng, 2 * k + 1));
  }

  /** The best arm of a task at a context, and the chance of success that this promises. */
  treatedAs(task, x) {
    const nodes = this.machine.kind_rules?.find((one) => one.task === task)?.nodes;
    let node = nodes?.[0];
    while (node && !node.arm) node = nodes[(x[node.feature - 1] <= node.cut ? node.low : node.high) - 1];
    if (node) return { arm: node.arm, promise: node.promise || 0 };
    const values = this.machine.theta[this.machine.tasks.indexOf(task)].map((weights) => product(weights, x));
    return { arm: this.machine.arms[values.indexOf(Math.max(...values))] };
  }

  predicted(task, x, arm) {
    const value = product(this.machine.theta[this.machine.tasks.indexOf(task)][arm], x);
    if (this.machine.rewards.logistic) return 1 / (1 + Math.exp(-within(value, -700, 700)));
    return this.inRange ? within(value, this.low, this.low + this.width) : value;
  }

  update(x, arm, reward) {
    const inDoubt = this.byOdds && this.row !== this.target;
    if (inDoubt) this.weigh(arm, reward);
    this.armPulls[arm] += 1;
    this.armSums[arm] += reward;
    this.count(x, arm, reward);
    const against = () => this.page.rows[this.row].rightly.map((i) => this.against[i]);
    if (inDoubt && against().every((one) => one >= Math.log(this.machine.fallback.odds))) this.enter(this.target);
  }

  count(x, arm, reward) {
    const { gives, counts, low, high } = this.page.rows[this.row];
    if (counts.kind === "for good") return;
    this.pulls += 1;
    this.total += counts.kind === "rounds" ? reward : this.points(counts.points, gives, x, arm, reward);
    if (counts.kind === "rounds" && this.pulls < counts.rounds) return;
    if (counts.kind === "rounds") return void this.enter(this.total <= counts.at_most + 1e-9 ? low : high);
    if (counts.cap) this.total = Math.min(this.total, counts.cap);
    if (counts.kind === "score" && this.total >= counts.ceil) this.enter(high);
    else if (this.total <= -counts.floor) this.enter(low);
  }

  points(points, gives, x, arm, reward) {
    if (points.kind === "outcome") return points.points[points.cuts.filter((cut) => reward > cut).length];
    if (points.kind === "fit") {
      const ratio = this.logRatio(reward, this.predicted(points.favoured, x, arm), this.predicted(points.other, x, arm));
      return within(Math.floor(ratio / points.unit + 0.5), -points.most, points.most);
    }
    const { promise = this.predicted(gives.task, x, arm) } = points.cuts.length ? this.treatedAs(gives.task, x) : { promise: 0 };
    return points.rows[points.cuts.filter((cut) => promise >= cut).length][reward > 0.5 ? 1 : 0];
  }

  logRatio(reward, first, second) {
    const { family, sigma } = this.machine.rewards;
    if (family === "gaussian") return ((first - second) * (reward - (first + second) / 2)) / sigma ** 2;
    const [a, b] = [first, second].map((mean) => within(mean, LEAST_CHANCE, 1 - LEAST_CHANCE));
    return reward > 0.5 ? Math.log(a) - Math.log(b) : Math.log1p(-a) - Math.log1p(-b);
  }

  /** What one more reward of an arm says against each task, and how well it fits each. */
  weigh(arm, reward) {
    const [{ fallback, rewards }, n] = [this.machine, this.armPulls[arm]];
    const [total, z] = [(this.armSums[arm] - n * this.low) / this.width, (reward - this.low) / this.width];
    const inRange = (value) => (this.inRange ? within(value, 0, 1) : value);
    fallback.means.forEach((means, i) => {
      const [mean, off] = [(means[arm] - this.low) / this.width, fallback.allow / this.width];
      const [low, high] = [inRange(mean - off), inRange(mean + off)];
      const excess = (sum, rounds) => Math.max(sum - rounds * high, rounds * low - sum, 0);
      this.against[i] += this.inRange
        ? logOddsStep(total, n, z, low, high)
        : normalOdds(excess(total + z, n + 1), n + 1, rewards.variance) - normalOdds(excess(total, n), n, rewards.variance);
      if (!this.worth) return;
      const now = (this.worth * mean + total) / (this.worth + n);
      this.fit[i] += this.inRange
        ? z * Math.log(Math.max(now, LEAST_CHANCE)) + (1 - z) * Math.log(Math.max(1 - now, LEAST_CHANCE))
        : (-0.5 * (z - now) * (z - now)) / (rewards.variance * (1 + 1 / (this.worth + n)));
    });
  }

}

function check({ schema, pages, on_harm }) {
  if (schema !== MACHINE) throw new Refused(`This is not a plan of the form ${MACHINE}, but ${schema}. Write it again.`);
  for (const { gives, counts } of pages.flatMap((page) => page.rows))
    for (const kind of [gives.kind, counts.kind, counts.points?.kind ?? "outcome", on_harm ?? "not again"])
      if (!KNOWN.includes(kind)) throw new Refused(`A line is of a kind not known here: ${kind}. Upgrade.`);
}

const kept = (x) => (x === null || !x.length ? null : x);
const product = (weights, x) => sumOf(weights.map((weight, i) => x[i] * weight));

function coded({ name, level = null, levels }, value) {
  if (level !== null && levels?.length && !levels.includes(String(value))) throw new Refused(`${name} must be one of ${levels}.`);
  if (level !== null) return String(value) === level ? 1 : 0;
  if (String(value).trim() && Number.isFinite(Number(value))) return Number(value);
  throw new Refused(`${name} must be a number. Got ${value}.`);
}

// Four well-mixed words from four words (pcg4d of Jarzynski and Olano); two numbers in [0, 1) for each key.
function uniforms([seed, caseNumber, round], draw) {
  let v = [(seed ^ 0x243f6a88) >>> 0, caseNumber, round, draw].map((one) => (Math.imul(one, 1664525) + 1013904223) >>> 0);
  const mix = () => {
    for (const [a, b, c] of [[0, 1, 3], [1, 2, 0], [2, 0, 1], [3, 1, 2]]) v[a] = (v[a] + Math.imul(v[b], v[c])) >>> 0;
  };
  mix();
  v = v.map((one) => (one ^ (one >>> 16)) >>> 0);
  mix();
  const unit = (first, second) => ((first >>> 5) * 67108864 + (second >>> 6)) / 9007199254740992;
  return [unit(v[0], v[1]), unit(v[2], v[3])];
}
const normal = (first, second) => Math.sqrt(-2 * Math.log(1 - first)) * Math.cos(2 * Math.PI * second);
function gamma(shape, rng, draw) {
  const d = shape - 1 / 3;
  for (let attempt = 0; ; attempt++) {
    const x = normal(...uniforms(rng, draw + ((2 * attempt) << 20)));
    const v = (1 + x / Math.sqrt(9 * d)) ** 3;
    const u = uniforms(rng, draw + ((2 * attempt + 1) << 20))[0];
    if (v > 0 && Math.log(1 - u) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

function logOddsStep(total, n, reward, low, high) {
  const guess = (total + 1) / (n + 2);
  const bet = reward * Math.log(guess) + (1 - reward) * Math.log(1 - guess);
  return bet + logMost(total, n, low, high) - logMost(total + reward, n + 1, low, high);
}

function logMost(total, n, low, high) {
  const log = (chance) => Math.log(Math.max(chance, LEAST_CHANCE));
  return n ? total * log(within(total / n, low, high)) + (n - total) * log(1 - within(total / n, low, high)) : 0;
}
const normalOdds = (excess, n, variance) => (0.5 * excess ** 2) / (variance * (1 + n)) - 0.5 * Math.log(1 + n);
