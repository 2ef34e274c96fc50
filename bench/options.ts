import { parseArgs } from "node:util";
import { CONTESTANT_NAMES, type ContestantName } from "./contestants/contestant.ts";

/** The cases of the benchmark, in the order in which they run. */
const CASE_NAMES = ["complete", "stream", "paced", "paced-light", "stalled", "cancel"] as const;

/** Name of a case. */
export type CaseName = (typeof CASE_NAMES)[number];

/** What the command line asks for. */
export interface BenchOptions {
  readonly rounds: number;
  readonly cases: readonly CaseName[];
  /** A tenth of the calls, and shorter rests: to see that all is in order, not to measure. */
  readonly quick: boolean;
  /** Whether a stream of the upstream leaves in one write. */
  readonly whole: boolean;
  /** Whether the results go into RESULTS.md. */
  readonly write: boolean;
  /** Case of which a profile is wanted, instead of measures. */
  readonly profile: CaseName | undefined;
  /** Whose profile is wanted. */
  readonly contestant: ContestantName;
}

/** How to call the program. */
export const USAGE = `node bench/run.ts [options]

  --rounds N             how often everything is measured; default 5
  --cases a,b            ${CASE_NAMES.join(", ")}; default all
  --quick                a tenth of the calls: shows that all is in order, measures little
  --whole                the upstream writes each stream at once instead of event by event
  --write                writes the results into bench/RESULTS.md
  --profile CASE         measures nothing; shows where a contestant spends its time in a case
  --contestant NAME      whose profile: ${CONTESTANT_NAMES.join(", ")}; default outrigger`;

/** Reads the command line. @throws Error that names the option, what was found and what was expected. */
export function readOptions(args: readonly string[]): BenchOptions | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: "string", default: "5" },
      cases: { type: "string", default: CASE_NAMES.join(",") },
      quick: { type: "boolean", default: false },
      whole: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      profile: { type: "string" },
      contestant: { type: "string", default: "outrigger" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  return {
    rounds: countIn(values.rounds),
    cases: values.cases.split(",").map((name) => oneOf(CASE_NAMES, name, "--cases")),
    quick: values.quick,
    whole: values.whole,
    write: values.write,
    profile: values.profile === undefined ? undefined : oneOf(CASE_NAMES, values.profile, "--profile"),
    contestant: oneOf(CONTESTANT_NAMES, values.contestant, "--contestant"),
  };
}

function countIn(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new Error(`--rounds is "${text}"; expected a number from 1 to 999`);
}

function oneOf<Name extends string>(names: readonly Name[], found: string, option: string): Name {
  const name = names.find((candidate) => candidate === found);
  if (name !== undefined) return name;
  throw new Error(`${option} names "${found}"; expected one of ${names.join(", ")}`);
}
