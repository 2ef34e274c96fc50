/** Answers in very many pieces: joining them takes time in proportion to their number. */
import { describe, expect, it } from "vitest";
import { addDetails } from "../../../src/providers/openai-chat/reasoning-details.ts";
import { ThinkTagSplitter } from "../../../src/providers/openai-chat/think-tags.ts";
import { addThinkingBlocks } from "../../../src/providers/openai-chat/thinking-blocks.ts";

const PIECES = 4000;

/** Milliseconds in which this thread computes. A machine that is busy with something else makes no difference. */
function measureMs(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** Pieces with a field that no other one has. */
function createPieces(type: string): object[] {
  return Array.from({ length: PIECES }, (_, index) => ({ type, index: 0, [`field${index}`]: 1 }));
}

describe("many pieces", () => {
  it("of a reasoning detail, each with a new field, are joined in one object", () => {
    const known: object[] = [];
    expect(measureMs(() => addDetails(known, createPieces("reasoning.text")))).toBeLessThan(500);
    expect(Object.keys(known[0] ?? {})).toHaveLength(PIECES + 2);
  });

  it("of a thinking block, each with a new field, are joined in one object", () => {
    const known: object[] = [];
    expect(measureMs(() => addThinkingBlocks(known, createPieces("thinking")))).toBeLessThan(500);
    expect(Object.keys(known[0] ?? {})).toHaveLength(PIECES + 4);
  });

  it("of white space before a text are passed on with the text", () => {
    let text = "";
    const splitter = new ThinkTagSplitter({
      text: (piece) => {
        text += piece;
      },
      reasoning: () => {},
    });
    const work = () => {
      for (let index = 0; index < 25 * PIECES; index += 1) splitter.push(" ");
    };
    expect(measureMs(work)).toBeLessThan(500);
    splitter.push("Hello");
    expect(text).toBe(`${" ".repeat(25 * PIECES)}Hello`);
  });
});
