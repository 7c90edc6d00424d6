// Checks the Bundles of a file against FHIR R4, by a validator that we did not write; prints what is wrong.
import { readFileSync } from "node:fs";
import { Fhir } from "fhir";

const validator = new Fhir();
for (const bundle of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const found = validator.validate(bundle, { errorOnUnexpected: true }).messages;
  const wrong = found.filter((one) => one.severity !== "info"); // info: the list of media types is not part of FHIR
  console.log(`${bundle.entry.length} resources;`, wrong.length, "wrong", JSON.stringify(wrong));
}
