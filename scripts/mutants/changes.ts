import { execFileSync } from "node:child_process";

/** Lines of files that a change adds or replaces, from 1, by their paths below the project's folder. */
export type ChangedLines = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * Finds the differences between the working tree and the last commit that it shares with a base. Undefined if there is
 * no such base.
 */
export function findChangedLines(root: string, base: string): ChangedLines | undefined {
  const commit = findCommit(root, "merge-base", base, "HEAD");
  if (commit === undefined) return undefined;
  return readDiff(git(root, "diff", "--unified=0", "--no-color", "--no-ext-diff", commit, "--", "src"));
}

/** Commits of the main branch that count as its latest change. */
const LATEST_COMMITS = 10;

/** Chooses what to compare with: the main branch, or some commits earlier if this is the main branch. */
export function chooseBase(root: string): string {
  const head = findCommit(root, "rev-parse", "HEAD");
  for (const branch of ["main", "origin/main"]) {
    const commit = findCommit(root, "merge-base", branch, "HEAD");
    if (commit !== undefined && commit !== head) return commit;
  }
  const latest = git(root, "rev-list", "--first-parent", `--max-count=${LATEST_COMMITS + 1}`, "HEAD");
  return latest.trim().split("\n").at(-1) ?? "HEAD";
}

function git(root: string, ...args: string[]): string {
  return execFileSync("git", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"],
  });
}

function findCommit(root: string, ...args: string[]): string | undefined {
  try {
    return git(root, ...args).trim();
  } catch {
    return undefined;
  }
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
