import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./operators.ts";

/** A mutant that does the same as the code, so that no test can notice it. */
export interface Equivalent {
  readonly file: string;
  /** The line, without indentation. Line numbers change too often. */
  readonly line: string;
  readonly before: string;
  readonly after: string;
  /** Why it does the same. */
  readonly reason: string;
}

/** Reads the list of the project. Throws if an entry has no reason. */
export function readEquivalents(root: string): Equivalent[] {
  const list: Equivalent[] = JSON.parse(readFileSync(join(root, "scripts/mutants/equivalents.json"), "utf8"));
  for (const { file, line, reason } of list) {
    if (!reason) throw new Error(`equivalents.json: ${file}: ${line}: found no reason, expected one`);
  }
  return list;
}

/** Whether an entry is about a mutant. */
export function matches(entry: Equivalent, { file, lineText, before, after }: Mutant): boolean {
  return entry.file === file && entry.line === lineText && entry.before === before && entry.after === after;
}
