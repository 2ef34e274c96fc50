/**
 * Changes the code in one place at a time and runs the nearest tests: a change that no test notices is a gap in the
 * tests. Usage: npm run mutants -- [folder or file ...] [--changed BASE] [--sample N] [--seed S] [--minutes M]
 * [--min PERCENT] [--jobs N]. Without a folder it tries what the latest commits changed, for five minutes; see
 * CONTRIBUTING.md.
 */
import { availableParallelism } from "node:os";
import { isAbsolute, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chooseBase, findChangedLines } from "./mutants/changes.ts";
import { readEquivalents } from "./mutants/equivalents.ts";
import { printReport } from "./mutants/report.ts";
import { runMutants, type Selection } from "./mutants/run.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

function readCount(name: string, text: string): number {
  const count = Number(text);
  if (text.trim() === "" || !Number.isFinite(count) || count < 0) {
    throw new Error(`--${name}: found ${JSON.stringify(text)}, expected a number of at least 0`);
  }
  return count;
}

/** Minutes for a change, if no folder is named. With the copy of the project and its removal the run takes five. */
const CHANGE_MINUTES = 4.5;

function readSelection(paths: readonly string[], base: string | undefined): Selection | undefined {
  const folders = paths.map((path) => (isAbsolute(path) ? relative(root, path) : path).replace(/\/$/, ""));
  if (base === undefined) return { paths: folders };
  const changedLines = findChangedLines(root, base);
  return changedLines && { paths: folders.length === 0 ? ["src"] : folders, changedLines };
}

function describeChange(base: string, { changedLines = new Map() }: Selection): string {
  const lines = [...changedLines.values()].reduce((sum, { size }) => sum + size, 0);
  return `${lines} lines in ${changedLines.size} files of src differ from ${base.slice(0, 12)}\n`;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      changed: { type: "string" },
      sample: { type: "string", default: "Infinity" },
      seed: { type: "string", default: "1" },
      minutes: { type: "string" },
      min: { type: "string", default: "85" },
      jobs: { type: "string", default: String(availableParallelism()) },
    },
  });
  const isWholeChange = positionals.length === 0;
  const { sample, minutes = isWholeChange ? String(CHANGE_MINUTES) : "Infinity" } = values;
  const read = (name: string, text: string) =>
    text === "Infinity" ? Number.POSITIVE_INFINITY : readCount(name, text);
  const base = values.changed ?? (isWholeChange ? chooseBase(root) : undefined);
  const selection = readSelection(positionals, base);
  if (selection === undefined) {
    process.stdout.write(`skipped: there is no commit ${values.changed} to compare with\n`);
    return 0;
  }
  if (base !== undefined) process.stdout.write(describeChange(base, selection));
  const outcome = await runMutants(root, selection, {
    sample: read("sample", sample),
    seed: readCount("seed", values.seed),
    deadline: performance.now() + read("minutes", minutes) * 60_000,
    jobs: Math.max(1, readCount("jobs", values.jobs)),
    equivalents: readEquivalents(root),
    onProgress: (line) => process.stderr.write(`${line}\n`),
  });
  return printReport(outcome, readCount("min", values.min), (line) => process.stdout.write(`${line}\n`));
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
  return 2;
});
