import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpanConverter } from "../../../src/kit/adapter/citation-span.ts";

const TEXT = "Zürich 😀 东京.";

describe("SpanConverter", () => {
  it.each([
    ["code_points", { start: 7, end: 8 }],
    ["utf16_units", { start: 7, end: 9 }],
    ["utf8_bytes", { start: 8, end: 12 }],
  ] as const)("converts %s into code points", (unit, span) => {
    expect(new SpanConverter(TEXT, unit).convert(span)).toEqual({ start: 7, end: 8 });
  });

  it.each([
    ["that ends behind the text", "code_points", { start: 0, end: 13 }],
    ["that is negative", "code_points", { start: -1, end: 2 }],
    ["whose end is before its start", "code_points", { start: 3, end: 2 }],
    ["that cuts a character of two UTF-16 units", "utf16_units", { start: 7, end: 8 }],
    ["that cuts a character of several bytes", "utf8_bytes", { start: 0, end: 2 }],
    ["that is not a number", "code_points", { start: Number.NaN, end: 2 }],
  ] as const)("gives none for a span %s", (_what, unit, span) => {
    expect(new SpanConverter(TEXT, unit).convert(span)).toBeUndefined();
  });

  it("covers the whole text, and the empty span behind it", () => {
    const converter = new SpanConverter(TEXT, "utf8_bytes");
    const bytes = Buffer.byteLength(TEXT);
    expect(converter.convert({ start: 0, end: bytes })).toEqual({ start: 0, end: [...TEXT].length });
    expect(converter.convert({ start: bytes, end: bytes })).toEqual({ start: 12, end: 12 });
  });

  it("agrees with a slow conversion for every span of any text", () => {
    const units = fc.constantFrom("code_points", "utf8_bytes", "utf16_units" as const);
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 20 }),
        units,
        fc.nat(40),
        fc.nat(40),
        (text, unit, start, end) => {
          const sizes = [...text].map((character) => {
            if (unit === "code_points") return 1;
            return unit === "utf16_units" ? character.length : Buffer.byteLength(character);
          });
          const starts = [0];
          for (const size of sizes) starts.push((starts.at(-1) ?? 0) + size);
          const [from, to] = [starts.indexOf(start), starts.indexOf(end)];
          const want = from < 0 || to < 0 || end < start ? undefined : { start: from, end: to };
          expect(new SpanConverter(text, unit).convert({ start, end })).toEqual(want);
        },
      ),
      { seed: 6, numRuns: 500 },
    );
  });
});
