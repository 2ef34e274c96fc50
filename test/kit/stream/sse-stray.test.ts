import { describe, expect, it } from "vitest";
import { MAX_STRAY_CHARS, SseDecoder } from "../../../src/kit/stream/sse.ts";
import { createRandom, splitAtRandom } from "../../support/random.ts";

const EVENTS = 'data: {"text":"a line {\\n{ inside"}\n\ndata: [1]\n\n';
const PROBLEM = '{\n  "error": {\n    "code": 499\n  }\n}';

function read(chunks: Iterable<Uint8Array>): { stray: string; events: string[] } {
  const events: string[] = [];
  const decoder = new SseDecoder(({ data }) => events.push(data));
  for (const chunk of chunks) decoder.push(chunk);
  decoder.end();
  return { stray: decoder.stray, events };
}

describe("SseDecoder.stray", () => {
  it("is empty if there are events alone", () => {
    expect(read([Buffer.from(EVENTS)])).toEqual({
      stray: "",
      events: ['{"text":"a line {\\n{ inside"}', "[1]"],
    });
  });

  it.each(["\n", "\r", "\r\n"])("holds JSON that was written behind events (line ends %j)", (end) => {
    const bytes = Buffer.from((EVENTS + PROBLEM).replaceAll("\n", end));
    expect(JSON.parse(read([bytes]).stray)).toEqual({ error: { code: 499 } });
  });

  it("holds a whole body that is not a stream of events", () => {
    expect(JSON.parse(read([Buffer.from(`[${PROBLEM}]`)]).stray)).toEqual([{ error: { code: 499 } }]);
  });

  it("is the same however the bytes are split", () => {
    const bytes = Buffer.from(`${EVENTS}${PROBLEM}`);
    for (let seed = 0; seed < 40; seed += 1) {
      expect(read(splitAtRandom(bytes, createRandom(seed), 9))).toEqual(read([bytes]));
    }
  });

  it("is bounded", () => {
    const filler = Buffer.from(`{"filler":"${"x".repeat(MAX_STRAY_CHARS)}"}\n`);
    expect(read([filler, filler]).stray).toHaveLength(MAX_STRAY_CHARS);
  });
});
