import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { boundedText, GrowingText } from "../../src/core/text.ts";
import { measureHeap } from "../support/measure-heap.ts";

const MIB = 1024 * 1024;

describe("GrowingText", () => {
  it("holds its pieces in their order", () => {
    const pieces = Array.from({ length: 2000 }, (_, index) => `${index},`);
    const text = new GrowingText("begin:");
    for (const [index, piece] of pieces.entries()) {
      text.append(piece);
      if (index % 500 === 0) expect(text.value).toBe(`begin:${pieces.slice(0, index + 1).join("")}`);
    }
    expect(text.value).toBe(`begin:${pieces.join("")}`);
  });

  it("takes about as much memory as its characters, even with small pieces", () => {
    const before = measureHeap();
    const text = new GrowingText();
    for (let index = 0; index < 300_000; index += 1) text.append("x");
    expect(measureHeap() - before).toBeLessThan(2 * MIB);
    expect(text.value).toHaveLength(300_000);
  });
});

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
