/** The cost of `/v1/responses`: `node bench/responses.ts --help`. See bench/README.md. */

import { writeChart } from "./chart.ts";
import { buildLoad } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import { killAll } from "./processes.ts";
import { background } from "./responses/background.ts";
import { compareFigures } from "./responses/figures.ts";
import { full } from "./responses/full.ts";
import { type PartName, type ResponsesOptions, readOptions, USAGE } from "./responses/options.ts";
import type { Figures, Part, Program } from "./responses/part.ts";
import { buildBase, buildCurrent } from "./responses/programs.ts";
import { readers } from "./responses/readers.ts";
import { stored } from "./responses/stored.ts";
import { streams } from "./responses/streams.ts";
import { writeSection } from "./results-file.ts";
import { PROJECT_FOLDER } from "./work-folder.ts";

const PARTS: Readonly<Record<PartName, Part>> = { streams, background, stored, full, readers };

/** The programs that are measured. */
interface Programs {
  readonly current: Program;
  /** Undefined: this checkout is compared with nothing. */
  readonly base: Program | undefined;
}

process.once("exit", killAll);
// Node does not emit "exit" when a signal ends it, so signals must exit explicitly for the children to be killed.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

try {
  const options = readOptions(process.argv.slice(2));
  // Compilers resolve paths relative to the working directory.
  process.chdir(PROJECT_FOLDER);
  if (options === "help") process.stdout.write(`${USAGE}\n`);
  else await measureAll(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}

async function measureAll(options: ResponsesOptions): Promise<void> {
  const machine = await describeMachine();
  const base = options.base === undefined ? undefined : await buildBase(options.base);
  const programs = { current: await buildCurrent(), base };
  await buildLoad();
  const texts: string[] = [];
  for (const name of options.parts) texts.push(await measurePart(name, programs, options));
  const section = [
    "## The Responses API",
    ...texts,
    `Written on ${new Date().toISOString().slice(0, 10)} by \`node bench/responses.ts\`.`,
    [...machine.slice(0, 2), `Node ${process.version}`].map((line) => `- ${line}`).join("\n"),
  ].join("\n\n");
  process.stdout.write(`${section}\n`);
  if (!options.write) return;
  await writeSection("responses.ts", section);
  writeChart();
}

/** Measures a part in all rounds. @returns Its tables. */
async function measurePart(
  name: PartName,
  { current, base }: Programs,
  { rounds = PARTS[name].rounds, quick }: ResponsesOptions,
): Promise<string> {
  const part = PARTS[name];
  const found = { current: [] as Figures[], base: [] as Figures[] };
  for (let round = 0; round < rounds; round += 1) {
    const programs = base === undefined ? [current] : [current, base];
    // The order alternates, since the load of the machine may change during a round.
    for (const program of round % 2 === 0 ? programs : programs.reverse()) {
      const figures = await part.measure({ program, quick, isCompared: base !== undefined });
      found[program === base ? "base" : "current"].push(figures);
    }
    process.stderr.write(`${name}: round ${round + 1} of ${rounds}\n`);
  }
  const table = part.describe(found.current, quick);
  return base === undefined ? table : `${table}\n\n${compareFigures(found.base, found.current)}`;
}
