// Follows all cases of a conformance file (by default the one of this repository) and says where an answer differs.
import { readFileSync, writeFileSync } from "node:fs";
import { Follower, Refused } from "./follower.js";

const [path = new URL("../../conformance/following.json", import.meta.url), keep] = process.argv.slice(2);
const kept = [];
let events = 0;
let wrong = 0;

function done(follower, { do: what, n, wait, context, available, round, reward, arm, harm }) {
  if (what === "tell") return follower.tell(reward, round, harm);
  if (what === "correct") return follower.correct(reward, round, harm);
  if (what === "override") return [follower.override(arm, round, context)];
  return follower.ask({ n, wait, context, available });
}

function answered(follower, event) {
  const found = {};
  try {
    const steps = done(follower, event);
    if (steps) found.steps = steps;
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    found.refused = true;
  }
  return { ...found, at: Object.values(follower.at), open: follower.openRounds };
}

const same = (one, two) => JSON.stringify(one) === JSON.stringify(two);

for (const { about, machine, cases } of JSON.parse(readFileSync(path, "utf8")).plans) {
  for (const { name, seed, case: caseNumber, without = [], events: all, off_plan } of cases) {
    let follower = new Follower(machine, { seed, caseNumber, without });
    for (const event of all) {
      const { steps, refused, at, open } = event;
      const wanted = { ...(steps ? { steps } : {}), ...(refused ? { refused } : {}), at, open };
      const found = answered(follower, event);
      events += 1;
      if (!same(found, wanted)) {
        wrong += 1;
        console.log(`${about}, ${name}: ${JSON.stringify(event)} gave ${JSON.stringify(found)}`);
        break;
      }
      if (events % 5 === 0) follower = Follower.resume(machine, JSON.parse(JSON.stringify(follower.snapshot())));
    }
    if (!same(follower.offPlanRounds, off_plan)) wrong += console.log(`${about}, ${name}: other rounds off plan`) || 1;
    kept.push(follower.snapshot());
  }
}
if (keep) writeFileSync(keep, JSON.stringify(kept));
console.log(`${events} events, ${wrong} wrong`);
process.exit(wrong ? 1 : 0);
