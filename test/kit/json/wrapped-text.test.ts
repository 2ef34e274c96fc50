import { describe, expect, it } from "vitest";
import { WrappedText } from "../../../src/kit/json/wrapped-text.ts";

/** Reads a text in pieces of a length. */
function read(text: string, length = text.length): string {
  const reader = new WrappedText("value");
  let value = "";
  for (let at = 0; at < text.length; at += length) value += reader.push(text.slice(at, at + length));
  return value + reader.end();
}

describe("WrappedText", () => {
  it.each([
    ["a list", '{"value":[1,{"a":"}"}]}', '[1,{"a":"}"}]'],
    ["white space", ' { "value" :\n[ 1 ] }\n', "[ 1 ] \n"],
    ["a text with brackets and quotes", '{"value":"a\\"},]{"}', '"a\\"},]{"'],
    ["a number", '{"value":12}', "12"],
    ["null", '{"value": null}', "null"],
    ["characters outside of the basic plane", '{"value":["😀"]}', '["😀"]'],
    ["a text after it", '{"value":[1]} Done.', "[1] Done."],
    ["members that nobody asked for", '{"value":[1],"note":"[2]}","more":{"value":3}}.', "[1]."],
    ["a value that is cut", '{"value":[1,{"a":"b', '[1,{"a":"b'],
    ["a value that has not begun", '{"value":', ""],
  ])("takes the value out of its wrapper: %s", (_name, text, value) => {
    for (let length = 1; length <= text.length; length += 1) expect(read(text, length)).toBe(value);
  });

  it.each([
    ["a list", "[1,2]"],
    ["an object with another member", '{"values":[1]}'],
    ["a refusal", "I cannot help with that."],
    ["the beginning of a wrapper", '{"val'],
    ["a code fence", '```json\n{"value":[1]}\n```'],
    ["a name with white space", '{"va lue":[1]}'],
    ["nothing", ""],
    ["much white space", `${" ".repeat(300)}{"value":1}`],
  ])("leaves a text without a wrapper as it is: %s", (_name, text) => {
    for (let length = 1; length <= Math.max(text.length, 1); length += 1)
      expect(read(text, length)).toBe(text);
  });

  it("gives each piece of the value as soon as it has it", () => {
    const reader = new WrappedText("value");
    expect(['{"value', '":', "[1,", "2", "]", "}"].map((piece) => reader.push(piece))).toEqual([
      ...["", "", "[1,", "2", "]", ""],
    ]);
  });

  it("keeps no more than the beginning of a text", () => {
    const reader = new WrappedText("value");
    let given = 0;
    for (let count = 0; count < 1_000; count += 1) given += reader.push("  ").length;
    expect(2_000 - given).toBeLessThanOrEqual(256);
  });
});
