import { execFileSync } from "node:child_process";

/** Lines of files that a change adds or replaces, from 1, by their paths below the project's folder. */
export type ChangedLines = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * Finds the differences between the working tree and the last commit that it shares with a base. Undefined if there is
 * no such base.
 */
export function findChangedLines(root: string, base: string): ChangedLines | undefined {
  const git = (...args: string[]) =>
    execFileSync("git", args, {
      cwd: root,
      encoding: "utf8",
      maxBuffer: 256 * 1024 * 1024,
      stdio: ["ignore", "pipe", "ignore"],
    });
  let commit: string;
  try {
    commit = git("merge-base", base, "HEAD").trim();
  } catch {
    return undefined;
  }
  return readDiff(git("diff", "--unified=0", "--no-color", "--no-ext-diff", commit, "--", "src"));
}

/** Reads a diff without context (`git diff --unified=0`). */
export function readDiff(diff: string): ChangedLines {
  const changed = new Map<string, Set<number>>();
  let lines = new Set<number>();
  for (const line of diff.split("\n")) {
    const [, file] = /^\+\+\+ b\/(.*)$/.exec(line) ?? [];
    if (file !== undefined) {
      lines = new Set();
      changed.set(file, lines);
    }
    const [, first, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? [];
    for (let offset = 0; first !== undefined && offset < Number(count); offset += 1) {
      lines.add(Number(first) + offset);
    }
  }
  return changed;
}
