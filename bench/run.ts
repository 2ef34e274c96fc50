/**
 * Outrigger's benchmark: the cost of a call, compared with the same service on stock connect-node and
 * with a minimal Node server. See bench/README.md.
 *
 *   node bench/run.ts --help
 */
import type { BenchCase, Round } from "./cases/case.ts";
import { CASES } from "./cases/cases.ts";
import { measureCeiling } from "./ceiling.ts";
import { writeChart } from "./chart.ts";
import { installGateways } from "./gateways/gateway.ts";
import {
  buildImplementation,
  IMPLEMENTATION_NAMES,
  type Implementation,
} from "./implementations/implementation.ts";
import { buildLoad } from "./load/load.ts";
import { describeMachine } from "./machine.ts";
import { type BenchOptions, type CaseName, readOptions, USAGE } from "./options.ts";
import { killAll } from "./processes.ts";
import { profileCase } from "./profile.ts";
import type { CaseResult } from "./report.ts";
import { describeRun } from "./results.ts";
import { writeReport } from "./results-file.ts";
import { checkAnswers } from "./self-check.ts";
import { PROJECT_FOLDER } from "./work-folder.ts";

process.once("exit", killAll);
// Node does not emit "exit" when a signal ends it, so signals must exit explicitly for the children to be killed.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

// Compilers resolve paths relative to the working directory.
process.chdir(PROJECT_FOLDER);

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
  // They would keep this process alive.
  killAll();
}

async function main(args: readonly string[]): Promise<void> {
  const options = readOptions(args);
  if (options === "help") return print(USAGE);
  await buildLoad();
  if (options.profile === undefined) return measureAll(options, args);
  const { profile, implementation, quick, whole } = options;
  print(await profileCase({ benchCase: CASES[profile], implementation, quick, whole }));
}

async function measureAll(options: BenchOptions, args: readonly string[]): Promise<void> {
  const machine = await describeMachine();
  const implementations: Implementation[] = [];
  for (const name of IMPLEMENTATION_NAMES) implementations.push(await buildImplementation(name));
  await checkAnswers(implementations);
  progress("all implementations return the same answers");
  const ceiling = await measureCeiling(options);
  const cases = new Map<CaseName, CaseResult>();
  const besideGateways = await withGateways(implementations, options);
  for (const name of options.cases) {
    const compared = CASES[name].besideGateways ? besideGateways : implementations;
    cases.set(name, await runCase(CASES[name], compared, options));
  }
  const results = describeRun({ date: new Date(), machine, args, ceiling, cases });
  print(results);
  if (!options.write) return;
  await writeReport(results);
  writeChart();
}

/** Returns Outrigger and the third-party gateways, if a case compares them. */
async function withGateways(
  implementations: readonly Implementation[],
  options: BenchOptions,
): Promise<readonly Implementation[]> {
  if (!options.cases.some((name) => CASES[name].besideGateways)) return [];
  return [
    ...implementations.filter(({ name }) => name === "outrigger"),
    ...(await installGateways(progress)),
  ];
}

async function runCase(
  benchCase: BenchCase,
  implementations: readonly Implementation[],
  { rounds: wanted, quick, whole }: BenchOptions,
): Promise<CaseResult> {
  const rounds: Round[] = [];
  const count = Math.min(wanted, benchCase.maxRounds ?? wanted);
  for (let index = 0; index < count; index++) {
    progress(`${benchCase.name}: round ${index + 1} of ${count}`);
    rounds.push(await benchCase.runRound({ implementations, index, quick, whole }));
  }
  const configurations = implementations.flatMap(({ configuration = [] }) => configuration);
  return { title: benchCase.title, rounds, configurations };
}

/** Prints progress to standard error; results go to standard output. */
function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
