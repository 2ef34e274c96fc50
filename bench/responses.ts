/**
 * The cost of `/v1/responses`: `node bench/responses.ts [--quick] [--write] [part...]`. Parts are `streams`, `background`
 * and `stored`; all by default. `--quick` makes a tenth of the calls. `--write` writes the tables into RESULTS.md.
 */

import { buildLoad } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import { killAll } from "./processes.ts";
import { measureBackground } from "./responses/background.ts";
import { measureStored } from "./responses/stored.ts";
import { measureStreams } from "./responses/streams.ts";
import { writeSection } from "./results-file.ts";
import { PROJECT_FOLDER } from "./work-folder.ts";

/** Measures one aspect. @returns Its table with a sentence before it. */
type Part = (quick: boolean) => Promise<string>;

const PARTS: Readonly<Record<string, Part>> = {
  streams: measureStreams,
  background: measureBackground,
  stored: measureStored,
};

process.once("exit", killAll);
// Node does not emit "exit" when a signal ends it, so signals must exit explicitly for the children to be killed.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

// Compilers resolve paths relative to the working directory.
process.chdir(PROJECT_FOLDER);

const args = process.argv.slice(2);
const named = args.filter((arg) => !arg.startsWith("--"));
const unknown = named.find((name) => !Object.hasOwn(PARTS, name));
if (unknown !== undefined)
  throw new Error(`"${unknown}" is no part; expected ${Object.keys(PARTS).join(", ")}`);

const machine = await describeMachine();
await buildLoad();
const texts: string[] = [];
for (const [name, part] of Object.entries(PARTS)) {
  if (named.length === 0 || named.includes(name)) texts.push(await part(args.includes("--quick")));
}
const section = [
  "## The Responses API",
  ...texts,
  `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/responses.ts\`.`,
  [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
].join("\n\n");
process.stdout.write(`${section}\n`);
if (args.includes("--write")) await writeSection("responses.ts", section);
