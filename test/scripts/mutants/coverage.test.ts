import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, it, onTestFinished, vi } from "vitest";
import { COVERAGE_FILE, getBlock, instrument } from "../../../scripts/mutants/coverage.ts";
import { listMutants } from "../../../scripts/mutants/operators.ts";

const SOURCE = `export const limit = 7;
export function check(size: number): string {
  if (size > limit) {
    return "large";
  }
  return "small";
}
`;

it("reports the blocks that run, once each, and leaves the lines where they are", async () => {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-coverage-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [module, report] = [join(folder, "check.ts"), join(folder, "blocks.txt")];
  const text = instrument("src/check.ts", SOURCE);
  expect(text.split("\n")).toHaveLength(SOURCE.split("\n").length);
  writeFileSync(module, text);
  writeFileSync(report, "");
  vi.stubEnv(COVERAGE_FILE, report);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { check } = (await import(/* @vite-ignore */ pathToFileURL(module).href)) as {
    check: (size: number) => string;
  };
  expect([check(1), check(2)]).toEqual(["small", "small"]);
  const body = `src/check.ts:${SOURCE.indexOf("{")}`;
  expect(readFileSync(report, "utf8")).toBe(`${body}\n`);
  expect(check(8)).toBe("large");
  const inner = `src/check.ts:${SOURCE.indexOf("{", SOURCE.indexOf("if"))}`;
  expect(readFileSync(report, "utf8")).toBe(`${body}\n${inner}\n`);
});

it("names the innermost block of a mutant, and none outside of all blocks", () => {
  const blocks = listMutants("src/check.ts", SOURCE).map((mutant) => [
    mutant.before,
    getBlock(mutant, SOURCE),
  ]);
  const body = `src/check.ts:${SOURCE.indexOf("{")}`;
  expect(blocks).toContainEqual(["7", undefined]);
  expect(blocks).toContainEqual([">", body]);
  expect(blocks).toContainEqual(['"large"', `src/check.ts:${SOURCE.indexOf("{", SOURCE.indexOf("if"))}`]);
  expect(blocks).toContainEqual(['"small"', body]);
});
