/**
 * Outrigger's benchmark: what a call costs, beside the same service on the stock transport and
 * beside the least that a Node program can do. See bench/README.md.
 *
 *   node bench/run.ts --help
 */

import type { BenchCase, Round } from "./cases/case.ts";
import { CASES } from "./cases/cases.ts";
import { buildContestant, CONTESTANT_NAMES, type Contestant } from "./contestants/contestant.ts";
import { buildLoad } from "./load/load.ts";
import { type BenchOptions, readOptions, USAGE } from "./options.ts";
import { killAll } from "./processes.ts";
import { profileCase } from "./profile.ts";
import { type CaseResult, failuresOf, tableOf } from "./report.ts";
import { checkAnswers } from "./self-check.ts";

process.once("exit", killAll);
// A signal ends Node without "exit", at which the others are killed.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

try {
  const options = readOptions(process.argv.slice(2));
  if (options === "help") print(USAGE);
  else await main(options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  process.exitCode = 1;
}

async function main(options: BenchOptions): Promise<void> {
  await buildLoad();
  if (options.profile !== undefined) {
    const { contestant, quick, whole } = options;
    print(await profileCase({ benchCase: caseOf(options.profile), contestant, quick, whole }));
    return;
  }
  const contestants: Contestant[] = [];
  for (const name of CONTESTANT_NAMES) contestants.push(await buildContestant(name));
  await checkAnswers(contestants);
  print("All contestants give the same answers.");
  for (const benchCase of options.cases.map(caseOf)) {
    const result = await runCase(benchCase, contestants, options);
    print("", `## ${result.title}`, "", tableOf(result), ...failuresOf(result));
  }
}

async function runCase(
  benchCase: BenchCase,
  contestants: readonly Contestant[],
  { rounds: count, quick, whole }: BenchOptions,
): Promise<CaseResult> {
  const rounds: Round[] = [];
  for (let index = 0; index < count; index++) {
    process.stderr.write(`${benchCase.name}: round ${index + 1} of ${count}\n`);
    rounds.push(await benchCase.runRound({ contestants, index, quick, whole }));
  }
  return { title: benchCase.title, rounds };
}

function caseOf(name: BenchOptions["cases"][number]): BenchCase {
  const found = CASES[name];
  if (found === undefined) throw new Error(`there is no case ${name}`);
  return found;
}

function print(...lines: string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}
