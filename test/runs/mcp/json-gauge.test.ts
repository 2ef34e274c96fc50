import { describe, expect, it } from "vitest";
import { JsonGauge } from "../../../src/runs/mcp/json-gauge.ts";

function passes(text: string, limits: { maxAnswerBytes?: number; maxAnswerValues?: number }): boolean {
  const gauge = new JsonGauge({ maxAnswerBytes: 1e6, maxAnswerValues: 1e6, ...limits });
  const bytes = Buffer.from(text);
  try {
    // Cut everywhere: strings and escapes go on in the next chunk.
    for (const byte of bytes) gauge.push(Uint8Array.of(byte));
    return true;
  } catch {
    return false;
  }
}

describe("JsonGauge", () => {
  it("counts lists, objects and commas outside of strings", () => {
    const text = '{"a,[{\\",":[1,2,{"b":3}],"c":"[[[,,,"}';
    expect(passes(text, { maxAnswerValues: 6 })).toBe(true);
    expect(passes(text, { maxAnswerValues: 5 })).toBe(false);
  });

  it("is not misled by a quote before the line that holds the JSON", () => {
    for (const end of ["\n", "\r", "\\\n"])
      expect(passes(`: "${end}data: [,,,,,,]\n\n`, { maxAnswerValues: 5 })).toBe(false);
  });

  it.each([
    ["events that end with LF", "data: 1\n\n", ""],
    ["events that end with CR", "data: 1\r\r", ""],
    ["events that end with CRLF", "event: message\r\ndata: 1\r\n\r\n", ""],
    ["members of a batch", '{"a":[1,2]},', "["],
  ])("limits the messages: %s", (_name, message, before) => {
    expect(passes(before + message.repeat(5000), {})).toBe(true);
    expect(passes(before + message.repeat(5001), {})).toBe(false);
  });

  it("takes no line of a text or a list for a message", () => {
    expect(passes(`{"list":[${"1,".repeat(6000)}1]}`, {})).toBe(true);
    expect(passes(`data: a\ndata: b\n${"data: c\r\n".repeat(6000)}\n`, {})).toBe(true);
  });

  it("limits the bytes", () => {
    expect(passes("x".repeat(100), { maxAnswerBytes: 100 })).toBe(true);
    expect(passes("x".repeat(101), { maxAnswerBytes: 100 })).toBe(false);
  });
});
