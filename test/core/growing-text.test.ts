import { describe, expect, it } from "vitest";
import { GrowingText } from "../../src/core/growing-text.ts";
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

  it("takes about as much memory as its characters, however small its pieces are", () => {
    const before = measureHeap();
    const text = new GrowingText();
    for (let index = 0; index < 300_000; index += 1) text.append("x");
    expect(measureHeap() - before).toBeLessThan(2 * MIB);
    expect(text.value).toHaveLength(300_000);
  });
});
