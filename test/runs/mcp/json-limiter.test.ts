import { describe, expect, it } from "vitest";
import { JsonLimiter } from "../../../src/runs/mcp/mcp-fetch.ts";

function passes(text: string, limits: { maxAnswerBytes?: number; maxAnswerValues?: number }): boolean {
  const gauge = new JsonLimiter({ maxAnswerBytes: 1e6, maxAnswerValues: 1e6, ...limits });
  const bytes = Buffer.from(text);
  try {
    // Cut everywhere: strings and escapes continue in the next chunk.
    for (const byte of bytes) gauge.push(Uint8Array.of(byte));
    return true;
  } catch {
    return false;
  }
}

describe("JsonLimiter", () => {
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

  it.each([
    ["[]", 1],
    ["{}", 1],
    ["[1,2]", 2],
    ['{"a":{}}', 2],
    ["[[],[]]", 4],
    ['"[,{"', 0],
    ['"a\\\\",', 1],
    ['"a\\"[,",', 1],
    ["data: [\ndata: 1]\n", 1],
  ])("counts the values of %s", (text, values) => {
    expect(passes(text, { maxAnswerValues: values })).toBe(true);
    if (values > 0) expect(passes(text, { maxAnswerValues: values - 1 })).toBe(false);
  });

  it("counts the members of a batch alone as messages, and not what is in them", () => {
    const members = (count: number, member: string) => `[${Array.from({ length: count }, () => member)}]`;
    expect(passes(members(5001, "1"), {})).toBe(true);
    expect(passes(members(5002, "1"), {})).toBe(false);
    expect(passes(members(3000, '{"a":1,"b":[1,2]}'), {})).toBe(true);
    expect(passes(`{"a":${members(6000, "1")}}`, {})).toBe(true);
    // Brackets without a beginning, as in lines of a stream, do not shift the depth.
    expect(passes(`]}]${members(5002, "1")}`, {})).toBe(false);
    expect(passes(`{}${members(5002, "1")}`, {})).toBe(false);
    expect(passes(`[]{"a":${members(6000, "1")}}`, {})).toBe(true);
  });

  it("counts a line end of two bytes once, and an empty first line", () => {
    expect(passes("\r\n".repeat(5000), {})).toBe(true);
    expect(passes("\r\n".repeat(5001), {})).toBe(false);
    expect(passes("\n".repeat(5001), {})).toBe(false);
    expect(passes("x\r\n".repeat(6000), {})).toBe(true);
  });

  it("limits the bytes", () => {
    expect(passes("x".repeat(100), { maxAnswerBytes: 100 })).toBe(true);
    expect(passes("x".repeat(101), { maxAnswerBytes: 100 })).toBe(false);
  });
});
