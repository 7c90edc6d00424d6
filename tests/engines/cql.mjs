// Follows cases with the CQL of plans, by a translator and an engine that we did not write: [{cql, cases}].
// The whole case goes in each time: what was given so far, its outcomes, and which of it did harm.
import { readFileSync } from "node:fs";
import { SystemModelInfoProvider } from "@cqframework/cql/cql";
import { CqlTranslator, LibraryManager, ModelManager } from "@cqframework/cql/cql-to-elm";
import engine from "cql-execution";

const models = new ModelManager();
models.modelInfoLoader.registerModelInfoProvider(new SystemModelInfoProvider(), true);
const answers = [];
for (const { cql, cases } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const translated = CqlTranslator.fromText(cql, new LibraryManager(models));
  const problems = translated.exceptions.asJsReadonlyArrayView();
  if (problems.length) throw new Error(problems.map((one) => one.message).join("\n"));
  const library = new engine.Library(JSON.parse(translated.toJson()));
  const followed = [];
  for (const one of cases) followed.push(await follow(library, one));
  answers.push(followed);
}
console.log(JSON.stringify(answers));

async function follow(library, { without, events }) {
  const [given, rounds] = [[], []];
  for (let round = 1; round <= events.length + 1; round++) {
    const parameters = { Rounds: rounds, Without: without };
    const executor = new engine.Executor(library, new engine.CodeService({}), parameters);
    const found = (await executor.exec(new engine.PatientSource([]))).unfilteredResults;
    const { page, place, tallied, total } = found.At;
    given.push([found.Option ?? found.Reason, page, place, tallied, total]);
    const names = Object.keys(found).filter((name) => name.startsWith("Gives option") && found[name]);
    if (names.length !== (found.Option === null ? 0 : 1)) throw new Error(`${names} at ${found.Option}`);
    if (!found.Option || round > events.length) break;
    rounds.push({ option: found.Option, ...events[round - 1] });
  }
  return given;
}
