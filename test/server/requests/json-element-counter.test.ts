import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countJsonElements } from "../../../src/server/requests/json-element-counter.ts";

const MANY = 1_000_000;

function count(json: string, max = MANY): number {
  return countJsonElements(Buffer.from(json), max);
}

/** Objects, lists, and the places between values, of a parsed value. */
function splitElements(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const items = Object.values(value);
  return (
    1 + Math.max(0, items.length - 1) + items.reduce((sum: number, item) => sum + splitElements(item), 0)
  );
}

describe("countJsonElements()", () => {
  it("counts objects, lists and the values after the first of each", () => {
    expect(count("null")).toBe(0);
    expect(count('{"a":1,"b":[1,2,{}]}')).toBe(6);
  });

  it("does not look into texts, short or long", () => {
    expect(count(JSON.stringify(["{[,", '",\\\\"', `${"x".repeat(100)}",{`.repeat(3), "\\\\"]))).toBe(4);
  });

  it("counts the values of JSON texts in fields that hold them", () => {
    const inner = JSON.stringify({ a: [{}, {}, "x"] });
    expect(count(JSON.stringify({ argumentsJson: inner }))).toBe(1 + 6);
    expect(count(JSON.stringify({ arguments_json: inner, text: inner }))).toBe(2 + 6);
    expect(count(JSON.stringify({ providerOptionsJson: { a: inner, b: inner }, text: inner }))).toBe(4 + 12);
    expect(count(JSON.stringify([{ dataJson: inner }, { text: inner }]))).toBe(4 + 6);
    expect(count(JSON.stringify({ dataJson: [[inner], inner], text: inner }))).toBe(5 + 12);
  });

  it("counts values in JSON texts with any escapes", () => {
    const opening = (code: string) => `\\u00${code}`;
    const hidden = `${opening("7b")}\\"a\\":${opening("5B")}1${opening("2c")}2]}`;
    expect(count(`{"dataJson":"${hidden}"}`)).toBe(1 + 3);
    expect(count(`{"data\\u004ason" \n : "${hidden}"}`)).toBe(1 + 3);
    expect(count(`{"dataJson":"\\\\u002c"}`)).toBe(1);
  });

  it("counts nothing inside the text of a key with an escaped backslash before a `u`", () => {
    expect(count(String.raw`{"C:\\users":"{,,,[[["}`)).toBe(1);
    expect(count(String.raw`{"\\\u006a":"{,,,[[["}`)).toBe(1 + 7);
  });

  it("agrees with a parser about any JSON", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), (json) => {
        // A key that appears twice is parsed once.
        expect(count(json)).toBeGreaterThanOrEqual(splitElements(JSON.parse(json)));
        expect(count(JSON.stringify(JSON.parse(json)))).toBe(splitElements(JSON.parse(json)));
      }),
      { numRuns: 2000 },
    );
  });

  it("agrees with a parser about any text, wherever its quotes and backslashes are", () => {
    const text = fc.array(fc.constantFrom('"', "\\", ",", "{", "x".repeat(40)), { maxLength: 12 });
    fc.assert(
      fc.property(
        fc.array(
          text.map((parts) => parts.join("")),
          { maxLength: 4 },
        ),
        (texts) => {
          expect(count(JSON.stringify(texts))).toBe(splitElements(texts));
        },
      ),
      { numRuns: 5000 },
    );
  });

  it("stops at the limit and names it", () => {
    expect(count("[1,2,3]", 3)).toBe(3);
    const exceed = () => count("[1,2,3]", 2);
    expect(exceed).toThrow(ConnectError);
    expect(exceed).toThrow("expected at most 2 fields and values (limits.max_message_elements)");
    try {
      exceed();
    } catch (error) {
      expect(ConnectError.from(error).code).toBe(Code.ResourceExhausted);
    }
  });

  it("ends for any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(countJsonElements(bytes, MANY)).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});
