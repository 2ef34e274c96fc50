import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countJsonValues, nestsDeeper } from "../../src/core/json-text.ts";

/** The values of a parsed text. */
function valuesIn(value: unknown): number {
  const inside = typeof value === "object" && value !== null ? Object.values(value) : [];
  return inside.reduce((sum: number, each) => sum + valuesIn(each), 1);
}

describe("countJsonValues()", () => {
  it("counts at least every value, and none more than twice", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.boolean(), (text, isSpread) => {
        const written = isSpread ? JSON.stringify(JSON.parse(text), undefined, 2) : text;
        const values = valuesIn(JSON.parse(text));
        const count = countJsonValues(written, Infinity);
        expect(count + 1).toBeGreaterThanOrEqual(values);
        expect(count).toBeLessThanOrEqual(2 * values);
      }),
      { seed: 8 },
    );
  });

  it.each([
    ['{"a":"[,,,{{{"}', 1],
    ['{"a":"\\",[","b":"\\\\"}', 2],
    ['["\\\\\\"",1]', 2],
    ['"never ends ,,,,', 0],
    ["", 0],
  ])("does not look into strings: %s", (text, count) => {
    expect(countJsonValues(text, Infinity)).toBe(count);
  });

  it("stops after the maximum", () => {
    expect(countJsonValues("[".repeat(1000), 10)).toBe(11);
  });
});

describe("nestsDeeper()", () => {
  const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${"}]".repeat(levels / 2)}`;

  it("counts lists and objects, and no brackets in texts", () => {
    expect([nestsDeeper(nested(10), 10), nestsDeeper(nested(12), 10)]).toEqual([false, true]);
    expect(nestsDeeper(`[${'{"a":[[]]},'.repeat(20)}1]`, 4)).toBe(false);
    expect(nestsDeeper(JSON.stringify([`${"[".repeat(50)}"{\\`]), 1)).toBe(false);
  });
});
