import { expect, it } from "vitest";
import { findChangedLines, readDiff } from "../../../scripts/mutants/changes.ts";

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
