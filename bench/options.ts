import { parseArgs } from "node:util";
import { IMPLEMENTATION_NAMES, type OwnName } from "./implementations/implementation.ts";

/** The cases of the benchmark, in the order in which they run. */
const CASE_NAMES = [
  "complete",
  "stream",
  "connect-json",
  "connect-proto",
  "sse",
  "paced",
  "paced-light",
  "stalled",
  "cancel",
  "gateway-complete",
  "gateway-stream",
] as const;

/** Name of a case. */
export type CaseName = (typeof CASE_NAMES)[number];

/** The options of the command line. */
export interface BenchOptions {
  readonly rounds: number;
  readonly cases: readonly CaseName[];
  /** A tenth of the calls, and shorter pauses: to check that everything works, not to measure. */
  readonly quick: boolean;
  /** Whether the upstream sends each stream in one write. */
  readonly whole: boolean;
  /** Whether the results are written to RESULTS.md. */
  readonly write: boolean;
  /** Case to profile, instead of measuring. */
  readonly profile: CaseName | undefined;
  /** Implementation to profile. */
  readonly implementation: OwnName;
}

/** How to call the program. */
export const USAGE = `node bench/run.ts [options]

  --rounds N             number of rounds; default 5
  --cases a,b            ${CASE_NAMES.join(", ")}; default all
  --quick                a tenth of the calls: checks that everything works, measures little
  --whole                the upstream writes each stream at once instead of event by event
  --write                writes the results into bench/RESULTS.md, and their chart into bench/results.svg
  --profile CASE         instead of measuring, shows where an implementation spends its time
  --implementation NAME      implementation to profile: ${IMPLEMENTATION_NAMES.join(", ")}; default outrigger`;

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
      implementation: { type: "string", default: "outrigger" },
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
    implementation: oneOf(IMPLEMENTATION_NAMES, values.implementation, "--implementation"),
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
