// Follows cases with the DMN tables of plans, by an engine that we did not write: [{dmn, arms, cases: [{without, events}]}].
// An event is {outcome, harm}: whether the option did harm. Prints what was given in each round, and where.
import { readFileSync } from "node:fs";
import dmn from "@hbtgmbh/dmn-eval-js";

const { parseDmnXml, evaluateDecision } = dmn.decisionTable;
// The engine knows DMN by the name space of version 1.1; the elements that we use have not changed since.
const asRead = (xml) => xml.replace("https://www.omg.org/spec/DMN/20191111/MODEL/", "http://www.omg.org/spec/DMN/20151101/dmn.xsd");
const answers = [];
for (const { dmn: xml, arms, cases } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const tables = await parseDmnXml(asRead(xml));
  answers.push(cases.map((one) => follow(tables, arms, one)));
}
console.log(JSON.stringify(answers));

function follow(tables, arms, { without, events }) {
  const never = Object.fromEntries(arms.map((arm, k) => [`without_${k + 1}`, without.includes(arm)]));
  const { page_now } = evaluateDecision("page_now", tables, { ...never });
  let at = { page: page_now, row: 0, rounds: 0, total: 0 };
  const given = [];
  for (let round = 1; round <= events.length + 1; round++) {
    const { option, reason } = evaluateDecision("give", tables, { ...at, round });
    given.push([option ?? reason, at.page, at.row, at.rounds, at.total]);
    if (!option || round > events.length) break;
    const { outcome, harm } = events[round - 1];
    if (harm) never[`without_${arms.indexOf(option) + 1}`] = true;
    const next = evaluateDecision("after", tables, { ...at, ...never, outcome });
    at = { page: next.next_page, row: next.next_row, rounds: next.next_rounds, total: next.next_total };
  }
  return given;
}
