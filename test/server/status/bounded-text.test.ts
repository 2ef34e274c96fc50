import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundedText } from "../../../src/server/status/bounded-text.ts";

describe("boundedText()", () => {
  it("leaves a text that fits as it is", () => {
    expect(boundedText("grüße", 7)).toBe("grüße");
  });

  it("cuts at a character boundary and marks it", () => {
    expect(boundedText("grüße", 6)).toBe("gr…");
    expect(boundedText("a😀b", 5)).toBe("a…");
  });

  it("replaces half surrogate pairs, so that the text can be encoded", () => {
    expect(boundedText("x\ud83d", 10)).toBe("x\ufffd");
  });

  it("keeps every bound for every text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", maxLength: 60 }),
        fc.integer({ min: 3, max: 80 }),
        (text, maxBytes) => {
          const bounded = boundedText(text, maxBytes);
          expect(Buffer.byteLength(bounded)).toBeLessThanOrEqual(maxBytes);
          expect(bounded.isWellFormed()).toBe(true);
          const kept = bounded.endsWith("…") && !text.endsWith("…") ? bounded.slice(0, -1) : bounded;
          expect(text.toWellFormed().startsWith(kept)).toBe(true);
        },
      ),
    );
  });
});
