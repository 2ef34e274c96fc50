import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { chooseBase, findChangedLines, readDiff } from "../../../scripts/mutants/changes.ts";

const DIFF = `diff --git a/src/a.ts b/src/a.ts
--- a/src/a.ts
+++ b/src/a.ts
@@ -3 +3,2 @@ function f()
-old
+new
+newer
@@ -9,2 +11,0 @@
-gone
-gone
diff --git a/src/b.ts b/src/b.ts
--- /dev/null
+++ b/src/b.ts
@@ -0,0 +1 @@
+first
`;

it("reads the lines that a diff adds or replaces", () => {
  expect([...readDiff(DIFF)]).toEqual([
    ["src/a.ts", new Set([3, 4])],
    ["src/b.ts", new Set([1])],
  ]);
});

it("finds nothing to compare with if the base does not exist", () => {
  expect(findChangedLines(process.cwd(), "no-such-commit")).toBeUndefined();
});

/** A repository whose commits each add a line to `src/a.ts`. */
function createRepository(commits: number) {
  const root = mkdtempSync(join(tmpdir(), "outrigger-changes-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root });
  let text = "";
  const commit = () => {
    text += "line\n";
    writeFileSync(join(root, "src/a.ts"), text);
    git("add", "-A");
    git("commit", "--quiet", "--no-gpg-sign", "-m", "Change");
  };
  git("init", "--quiet", "--initial-branch=main");
  mkdirSync(join(root, "src"));
  for (let count = 0; count < commits; count += 1) commit();
  const listLines = () => [...(findChangedLines(root, chooseBase(root))?.get("src/a.ts") ?? [])];
  return { git, commit, listLines };
}

it("compares a branch with the main branch, and that one with what it was ten commits before", () => {
  const { git, commit, listLines } = createRepository(12);
  expect(listLines()).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  git("checkout", "--quiet", "-b", "branch");
  commit();
  commit();
  expect(listLines()).toEqual([13, 14]);
});

it("compares a young main branch with its first commit", () => {
  expect(createRepository(3).listLines()).toEqual([2, 3]);
});
