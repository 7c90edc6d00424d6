// Reads the DMN of a file as version 1.3 and prints what its reader warns of.
import { readFileSync } from "node:fs";
import { DmnModdle } from "dmn-moddle";

for (const { dmn: xml } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const { rootElement, warnings } = await new DmnModdle().fromXML(xml);
  console.log(rootElement.drgElement.filter((one) => one.$type === "dmn:Decision").length, warnings.length, "warnings");
}
