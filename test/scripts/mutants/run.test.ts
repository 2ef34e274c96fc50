/** The whole run, over a small separate project. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Equivalent } from "../../../scripts/mutants/equivalents.ts";
import { printReport } from "../../../scripts/mutants/report.ts";
import { type Outcome, runMutants, type Selection } from "../../../scripts/mutants/run.ts";
import { createWorkspace, listFiles } from "../../../scripts/mutants/workspace.ts";

const SOURCE = `export function isLarge(size: number): boolean {
  return size > 100;
}

export function clamp(size: number): number {
  return isLarge(size) ? 100 : size;
}
`;

const FILES: Readonly<Record<string, string>> = {
  ".gitignore": "node_modules\n",
  "package.json": '{ "type": "module" }',
  "src/sizes/size.ts": SOURCE,
  "src/sizes/unused.ts": "export const isUnused = true;\n",
  "test/sizes/size.test.ts": `
    import { expect, it } from "vitest";
    import { clamp, isLarge } from "../../src/sizes/size.ts";
    it("knows large sizes", () => {
      expect(isLarge(99)).toBe(false);
      expect(isLarge(101)).toBe(true);
    });
    it("does not look at what it calls", () => void clamp(5));
  `,
  "test/spin.test.ts": `
    import { it } from "vitest";
    it("spins", () => { for (;;); });
  `,
};

const EQUIVALENT: Equivalent = {
  file: "src/sizes/size.ts",
  line: "return size > 100;",
  before: ">",
  after: ">=",
  reason: "for the test",
};

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "outrigger-project-"));
  for (const [file, text] of Object.entries(FILES)) {
    mkdirSync(join(root, dirname(file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  symlinkSync(fileURLToPath(new URL("../../../node_modules", import.meta.url)), join(root, "node_modules"));
  execFileSync("git", ["init", "--quiet"], { cwd: root });
});
afterAll(() => rmSync(root, { recursive: true }));

function run(
  selection: Selection,
  equivalents: readonly Equivalent[] = [],
  deadline = Infinity,
  sample = 100,
) {
  return runMutants(root, selection, {
    sample,
    seed: 1,
    deadline,
    jobs: 2,
    equivalents,
    onProgress: () => {},
  });
}

function listVerdicts({ results }: Outcome): string[] {
  return results
    .map(({ mutant, verdict }) => `${verdict}: ${mutant.line} ${mutant.before} → ${mutant.after}`)
    .sort();
}

describe("runMutants", { timeout: 120_000 }, () => {
  it("reports which changes a test notices, and does not change the project", async () => {
    const outcome = await run({ paths: ["src/sizes/size.ts"] }, [EQUIVALENT]);
    expect(listVerdicts(outcome)).toEqual([
      "equivalent: 2 > → >=",
      "killed: 2 100 → 0",
      "killed: 2 100 → 100000",
      "killed: 2 > → <=",
      "survived: 6 100 → 0",
      "survived: 6 100 → 100000",
      "survived: 6 isLarge(size) → false",
      "survived: 6 isLarge(size) → true",
    ]);
    expect(readFileSync(join(root, "src/sizes/size.ts"), "utf8")).toBe(SOURCE);
    const lines: string[] = [];
    expect(printReport(outcome, 85, (line) => lines.push(line))).toBe(1);
    expect(lines).toContain("survived: src/sizes/size.ts:6 isLarge(size) → true");
    expect(lines.join("\n")).toMatch(/src\/sizes +3 +0 +4 +0 +1 +42\.9 %/);
    expect(printReport(outcome, 40, () => {})).toBe(0);
  });

  it("tries changed lines only, and counts a file without a test as not noticed", async () => {
    const changedLines = new Map([
      ["src/sizes/size.ts", new Set([2])],
      ["src/sizes/unused.ts", new Set([1])],
    ]);
    const outcome = await run({ paths: ["src"], changedLines }, [EQUIVALENT]);
    expect(listVerdicts(outcome)).toContain("no test: 1 true → false");
    expect(listVerdicts(outcome).filter((verdict) => verdict.includes(": 6"))).toEqual([]);
  });

  it("chooses the same mutants for the same seed, and starts none when the time is over", async () => {
    const all = await run({ paths: ["src/sizes"] }, [], Number.NEGATIVE_INFINITY);
    expect(all).toMatchObject({ results: [], untried: 9 });
    const [first, second] = await Promise.all(
      [1, 2].map(() => run({ paths: ["src/sizes"] }, [], Infinity, 2)),
    );
    expect(first && listVerdicts(first)).toHaveLength(2);
    expect(first && listVerdicts(first)).toEqual(second && listVerdicts(second));
  });

  it("does not judge by a few mutants of many", async () => {
    const outcome = await run({ paths: ["src/sizes/unused.ts"] });
    expect(printReport(outcome, 85, () => {})).toBe(1);
    expect(printReport({ ...outcome, untried: 1 }, 85, () => {})).toBe(0);
    const ten = Array.from({ length: 10 }, () => outcome.results).flat();
    expect(printReport({ ...outcome, results: ten, untried: 1 }, 85, () => {})).toBe(1);
  });

  it("names entries of the list of equivalents that match nothing, and fails", async () => {
    const stale = { ...EQUIVALENT, line: "return size > 99;" };
    const outcome = await run({ paths: ["src/sizes/size.ts"] }, [stale], Number.NEGATIVE_INFINITY);
    expect(outcome.stale).toEqual([stale]);
    const lines: string[] = [];
    expect(printReport(outcome, 0, (line) => lines.push(line))).toBe(1);
    expect(lines).toContain("equivalents.json: no mutant matches src/sizes/size.ts: return size > 99;");
  });

  it("refuses a selection without source files", async () => {
    await expect(run({ paths: ["src/nothing"] })).rejects.toThrow("found no source files in src/nothing");
  });

  it("ends tests that hang", async () => {
    const workspace = createWorkspace(root, listFiles(root));
    try {
      expect(await workspace.runTest("test/spin.test.ts", 5000)).toMatchObject({ outcome: "timed out" });
      expect(await workspace.runTest("test/sizes/size.test.ts", 60_000)).toMatchObject({ outcome: "passed" });
    } finally {
      workspace.remove();
    }
  });
});
