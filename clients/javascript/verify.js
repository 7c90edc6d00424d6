// Checks a proof of `banditree certify --proof` with whole numbers, as conformance/check_proof.py does: regret, wrong
// options and harm. What the unlucky lose is left to that file. Rates are decimals, kept as whole numbers of 10^-40.

const [UNIT, RATE, SLOT, RARE] = [58n, 60n, 120n, 40n]; // Bits: see conformance/check_proof.py.
const [ALL, ONE] = [1n << UNIT, 10n ** 40n];
const [OFF, WIDE] = [3n * 10n ** 31n, 10n ** 34n]; // Of the most: how far a claim may be off, how open a proof may be.
const mask = (count) => (1n << (SLOT * BigInt(count))) - 1n;
const least = (values) => values.reduce((a, b) => (b < a ? b : a));
const most = (values) => values.reduce((a, b) => (b > a ? b : a));
const total = (values) => values.reduce((a, b) => a + b, 0n);
const need = (condition, sentence) => { if (!condition) throw new Error(sentence); };

/** JSON in which numbers that are not whole stay the text that they are. */
export const readExactly = (text) => JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (part) => (part[0] !== '"' && /[.eE]/.test(part) ? `"${part}"` : part)));

function exactly(number) { // a decimal in whole numbers of 10^-40
  const [, sign, whole, part = "", power = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(String(number));
  const shift = 40 + Number(power) - part.length;
  const digits = BigInt(whole + part);
  need(shift >= 0 || digits % 10n ** BigInt(-shift) === 0n, `${number} has too many decimals.`);
  return (sign ? -1n : 1n) * (shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift));
}

function canonical(value) { // as Python writes JSON with sorted keys
  if (Array.isArray(value)) return `[${value.map(canonical).join(", ")}]`;
  if (value && typeof value === "object") return `{${Object.keys(value).sort().map((key) => `${canonical(key)}: ${canonical(value[key])}`).join(", ")}}`;
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

async function stamp(value) {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(value)));
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sum(slots) { // of all slots
  let found = 0n;
  for (; slots; slots >>= SLOT * 64n) for (let part = slots & mask(64); part; part >>= SLOT) found += part & mask(1);
  return found;
}

function repeated(bits, count) { // so many low bits in each of some slots
  const one = ((1n << BigInt(bits)) - 1n).toString(16).padStart(Number(SLOT) / 4, "0");
  return count > 0 ? BigInt(`0x${one.repeat(count)}`) : 0n;
}

/** Chances to be on a line after 0, 1, ... rounds, and to have left it by then below and above. */
function law(counts, chances, values, horizon) {
  const [here, low, high] = [[ALL], [0n], [0n]];
  const moved = (inside, places, keep) => (total(chances.map((c, i) => (inside * ((c << RATE) / ONE)) << (SLOT * BigInt(places[i])))) >> RATE) & keep;
  const { kind } = counts;
  if (kind === "rounds") {
    const unit = values.map((value) => value - least(values)).reduce(function divisor(a, b) { return b ? divisor(b, a % b) : a; }) || 1n;
    const places = values.map((value) => Number((value - least(values)) / unit));
    const keep = repeated(RATE, counts.rounds * Math.max(...places) + 1);
    let inside = ALL;
    for (let i = 0; i < counts.rounds; i++) inside = moved(inside, places, keep);
    const at = exactly(counts.at_most) + 10n ** 31n - least(values) * BigInt(counts.rounds);
    const below = at < 0n ? 0n : at / unit + 1n;
    for (let i = 1; i <= counts.rounds; i++) [here[i], low[i], high[i]] = i < counts.rounds ? [ALL, 0n, 0n] : [0n, sum(inside & mask(below)), sum(inside >> (SLOT * below))];
  } else if (kind !== "for good") {
    need(counts.points.kind === "outcome", "Points that look at more than the outcome are not checked.");
    const steps = values.map((value) => counts.points.points[counts.points.cuts.filter((cut) => value > exactly(cut)).length]);
    const [floor, cap, fall] = [counts.floor, counts.cap || 0, Math.max(0, -Math.min(...steps))];
    const top = floor - 1 + (counts.ceil || (cap ? cap + 1 : safe(chances, steps, floor, horizon)));
    const [places, keep] = [steps.map((step) => step + fall), repeated(RATE, top + Math.max(...steps) + fall)];
    let [inside, stays] = [ALL << (SLOT * BigInt(floor - 1)), 0n];
    while (here.length <= horizon && sum(inside) >> (UNIT - RARE)) {
      let after = moved(inside, places, keep);
      low.push(low.at(-1) + sum(after & mask(fall)));
      after >>= SLOT * BigInt(fall);
      const above = sum(after >> (SLOT * BigInt(top)));
      inside = after & mask(top);
      high.push(high.at(-1) + (kind === "score" ? above : 0n));
      if (kind === "watch" && above && cap) inside += above << (SLOT * BigInt(top - 1));
      else if (kind === "watch" && above) stays += above - (above >> RARE) - 1n;
      here.push(stays + sum(inside));
    }
    here.push(stays);
  }
  return [here, low, high].map((part) => Array.from({ length: horizon + 1 }, (_, i) => part[Math.min(i, part.length - 1)]));
}

/** A score that is left with a chance below 2^-RARE, or out of reach (Lundberg). */
function safe(chances, steps, floor, horizon) {
  const [down, up] = [Math.min(...steps), Math.max(...steps)];
  const far = up * horizon + 1;
  const holds = (k) => total(chances.map((c, i) => c * k ** BigInt(steps[i] - down) * 4096n ** BigInt(up - steps[i]))) <= ONE * k ** BigInt(-down) * 4096n ** BigInt(up);
  let [low, high] = [1, 4096];
  while (low < high) { const middle = (low + high) >> 1; if (holds(BigInt(middle))) high = middle; else low = middle + 1; }
  return low === 4096 ? far : Math.min(Math.max(1, Math.ceil(1 - Number(RARE) / Math.log2(low / 4096)) - floor), far);
}

/** On average, in units of ALL^2: rounds on each line, chances to be there at the end, changes, chance of a pause then. */
function follow(lines, laws, horizon) {
  const packed = laws.map(([, ...sides]) => sides.map((side) => BigInt(`0x0${side.slice(1).map((now, i) => (now - side[i]).toString(16).padStart(30, "0")).reverse().join("")}`)));
  const rounds = laws.map(([here]) => here.reduce((so, one) => (so.push(so.at(-1) + one), so), [0n]));
  const [spent, ends, keep] = [laws.map(() => 0n), laws.map(() => 0n), repeated(SLOT - UNIT, horizon + 1)];
  let [coming, changes, pauses] = [laws.map((_, i) => (i ? 0n : ALL)), 0n, 0n];
  for (let left = horizon; left >= 0; left--) {
    const masses = coming.map((one) => one & mask(1));
    coming = coming.map((one) => one >> SLOT);
    masses.forEach((mass, number) => {
      if (!mass) return;
      const [here, ...sides] = laws[number];
      spent[number] += mass * rounds[number][left];
      ends[number] += mass * here[left];
      lines[number].leads.forEach(({ to, turns, pause }, i) => {
        coming[to] += (((mass * packed[number][i]) >> UNIT) & keep) << (SLOT * BigInt(pause));
        if (turns) changes += mass * sides[i][Math.max(left - 1, 0)];
        for (let k = 1; k <= Math.min(pause, left); k++) spent[to] += mass * sides[i][left - k];
        pauses += mass * (sides[i][left] - sides[i][Math.max(left - pause, 0)]);
      });
    });
  }
  return { spent, ends, changes, pauses };
}

/** The lines, the ends inside them and the hand-over, with the safety rule written out, and where their exits lead. */
function linesOf(plan) {
  let [{ rule, fallback = { to: "person" } }, lines] = [plan, structuredClone(plan.lines)];
  const away = lines.push({ gives: { kind: "hand over" }, counts: { kind: "for good" } }) - 1;
  for (const line of lines) { // which grows
    need(["give", "hand over"].includes(line.gives.kind) && fallback.to !== "thompson", "A line that is learned is not checked.");
    line.exits = [line.below, line.above].filter((exit) => exit !== undefined).map((exit) => (typeof exit === "object" ? lines.push(exit) - 1 : exit - 1));
    if (line.gives.kind === "hand over") line.gives = { kind: "hand over", arm: fallback.arm };
    else if (rule && line.counts.kind === "for good") Object.assign(line, { counts: { ...rule, kind: "watch", points: { ...rule, kind: "outcome" } }, exits: [rule.hands_over ? away : 0] });
  }
  const [n, starts = 1] = [lines.length, fallback.starts]; // once more for every further time that line 1 is begun
  const next = (to, time) => (to || !fallback.starts ? to + n * time : time + 1 < starts ? n * (time + 1) : away + n * time);
  lines = Array.from({ length: starts }, (_, time) => lines.map((line) => ({ ...line, exits: line.exits.map((to) => next(to, time)) }))).flat();
  for (const line of lines) line.leads = line.exits.map((to) => {
    const [arm, then] = [line.gives.arm, lines[to].gives.arm];
    return { to, turns: !then || arm !== then, pause: arm && then && arm !== then && lines[to].counts.kind !== "for good" ? plan.washout || 0 : 0 };
  });
  return lines;
}

/** {what: [least, most, the most that it could be]} for a case of one task, in units of 10^-40. */
function proven(lines, collection, task, horizon) {
  const { arms, worth = {}, harm } = collection;
  const values = (collection.rewards.values || [0, 1]).map(exactly);
  const chances = (collection.chances ? collection.chances[task].map((one) => one.slice(0, -1).map(exactly)) : collection.means[task].map((p) => [ONE - exactly(p)])).map((one) => [...one, ONE - total(one)]);
  need(chances.flat().every((chance) => chance >= 0n), "A chance is below 0.");
  const worths = worth.outcomes ? worth.outcomes.map((one) => one.map(exactly)) : arms.map(() => values);
  const means = chances.map((one, k) => total(one.map((c, i) => c * worths[k][i]))); // in units of 10^-80
  const gap = new Map(arms.map((arm, k) => [arm, most(means) - means[k]]));
  const change = exactly(worth.change || 0) * ONE;
  const given = lines.map((line) => line.gives.arm);
  const laws = lines.map((line, i) => law(line.counts, chances[arms.indexOf(given[i])] || [], values, horizon));
  const { spent, ends, changes, pauses } = follow(lines, laws, horizon);
  const [whole, highest] = [ALL * ALL, most([...gap.values()]) + change];
  const missing = BigInt(horizon) * whole - total(spent);
  const round = (low, high, all, unit) => [low / unit, high / unit + 1n, all];
  const lost = total(spent.map((one, i) => one * (gap.get(given[i]) || 0n))) + change * changes;
  const wrong = total(ends.filter((_, i) => ["for good", "watch"].includes(lines[i].counts.kind) && (gap.get(given[i]) || 0n) > 10n ** 68n));
  const found = {
    regret: round(lost, lost + missing * highest, (BigInt(horizon) * highest) / ONE, whole * ONE),
    wrong_arm: round(wrong * ONE, (wrong + whole - total(ends) - pauses) * ONE, ONE, whole),
  };
  if (!harm) return found;
  const rates = harm.rates[task].map(exactly);
  const harms = total(spent.map((one, i) => one * (rates[arms.indexOf(given[i])] || 0n)));
  return { ...found, harm: round(harms, harms + missing * most(rates), BigInt(horizon) * most(rates), whole) };
}

/** What is proven: [{task, what, least, most}]. What is not is an error that says why. Documents: from `readExactly`. */
export async function verify(...documents) {
  const [plan, collection, { seal, ...proof }] = documents.map((one) => one.data ?? one);
  need(proof.schema === "banditree/proof/2", "This is no proof of this version of `banditree certify --proof`.");
  need(proof.plan === (await stamp(plan)), "This is the proof of another plan.");
  need(proof.collection === (await stamp(collection)), "This is the proof of another collection.");
  need(seal === (await stamp(proof)), "The proof was changed after it was written.");
  const odd = [collection.radius, collection.theta, collection.harm?.within, plan.fallback?.odds, plan.on_harm];
  need(odd.every((one) => [undefined, null, 0, "0.0"].includes(one)), "Only known rates are checked, without contexts, odds or barred options.");
  need(["bernoulli", "graded"].includes(plan.rewards.family), "Only 0/1 and graded rewards are checked.");
  need(["family", "values"].every((part) => canonical(plan.rewards[part] ?? 0) === canonical(collection.rewards[part] ?? 0)) && canonical(plan.arms) === canonical(collection.arms), "The plan and the collection have other options or rewards.");
  need(canonical(collection.tasks) === canonical(proof.tasks.map((part) => part.task)), "The tasks are others.");
  const lines = linesOf(plan);
  return proof.tasks.flatMap((claims, number) => Object.entries(proven(lines, collection, number, proof.horizon)).map(([what, [low, high, all]]) => {
    const claim = exactly(claims[what]);
    const [least_, most_] = [low, high].map((one) => Number(one) / 1e40);
    need(high - low <= (WIDE * all) / ONE + 1n, `The ${what} of ${claims.task} is at most ${most_} and at least ${least_}: no more can be said.`);
    need(low - (OFF * all) / ONE <= claim && claim <= high + (OFF * all) / ONE, `The ${what} of ${claims.task} is not ${claims[what]}: it lies near ${least_}.`);
    return { task: claims.task, what, least: Math.min(least_, Number(claims[what])), most: Math.max(most_, Number(claims[what])) };
  }));
}
