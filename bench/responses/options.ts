import { resolve } from "node:path";
import { parseArgs } from "node:util";

/** The parts, in the order in which they run. */
export const PART_NAMES = ["streams", "background", "stored", "full", "readers"] as const;

/** Name of a part. */
export type PartName = (typeof PART_NAMES)[number];

/** The options of the command line. */
export interface ResponsesOptions {
  readonly parts: readonly PartName[];
  /** Undefined: each part has its default. */
  readonly rounds: number | undefined;
  /** A tenth of the calls: to check that everything works, not to measure. */
  readonly quick: boolean;
  /** Whether the tables are written to RESULTS.md. */
  readonly write: boolean;
  /** Absolute path: folder of another checkout, or the file that starts another bundle. */
  readonly base: string | undefined;
}

/** How to call the program. */
export const USAGE = `node bench/responses.ts [options] [part...]

  part         ${PART_NAMES.join(", ")}; default all
  --rounds N   number of rounds of each part; default: as many as each needs
  --quick      a tenth of the calls: checks that everything works, measures little
  --base PATH  measures another program as well, in turns, and prints ratios: the folder of another checkout with its
               node_modules, or the file that starts a bundle (outrigger.cjs)
  --write      writes the tables into bench/RESULTS.md; not with --base`;

/** Reads the command line. @throws Error that names the option, what was found and what was expected. */
export function readOptions(args: readonly string[]): ResponsesOptions | "help" {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      base: { type: "string" },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  const { quick, base, write, help } = values;
  if (help) return "help";
  if (write && base !== undefined) {
    throw new Error("--write and --base were both given; expected one: RESULTS.md has no comparisons");
  }
  const parts = positionals.map(parsePart);
  return {
    parts: PART_NAMES.filter((name) => parts.length === 0 || parts.includes(name)),
    rounds: values.rounds === undefined ? undefined : parseRounds(values.rounds),
    quick,
    base: base === undefined ? undefined : resolve(base),
    write,
  };
}

function parsePart(text: string): PartName {
  const name = PART_NAMES.find((candidate) => candidate === text);
  if (name !== undefined) return name;
  throw new Error(`"${text}" is no part; expected some of ${PART_NAMES.join(", ")}`);
}

function parseRounds(text: string): number {
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text);
  throw new Error(`--rounds is "${text}"; expected a number from 1 to 999`);
}
