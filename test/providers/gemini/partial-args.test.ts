import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StreamError } from "../../../src/core/errors.ts";
import { PartialArguments } from "../../../src/providers/gemini/partial-args.ts";

type Entry = Readonly<Record<string, string | number | boolean | null>>;

function written(entries: readonly Entry[]): string[] {
  const args = new PartialArguments();
  return [...entries.map((entry) => args.add(entry)), args.close()];
}

describe("PartialArguments", () => {
  it("appends each value to one JSON text", () => {
    const pieces = written([
      { jsonPath: "$.city", stringValue: "Ro", willContinue: true },
      { jsonPath: "$.city", stringValue: 'me"' },
      { jsonPath: "$.days[0].rain", numberValue: 0.5 },
      { jsonPath: "$.days[0].wind", boolValue: false },
      { jsonPath: "$.days[1].rain", nullValue: "NULL_VALUE" },
      { jsonPath: "$.note", stringValue: "" },
    ]);
    expect(pieces).toEqual([
      '{"city":"Ro',
      'me\\""',
      ',"days":[{"rain":0.5',
      ',"wind":false',
      '},{"rain":null',
      '}],"note":""',
      "}",
    ]);
  });

  it("closes a string that the next value interrupts", () => {
    const pieces = written([
      { jsonPath: "$.a", stringValue: "x", willContinue: true },
      { jsonPath: "$.b", numberValue: 1 },
      { jsonPath: "$.c", stringValue: "y", willContinue: true },
    ]);
    expect(JSON.parse(pieces.join(""))).toEqual({ a: "x", b: 1, c: "y" });
  });

  it("writes nothing for entries without a value", () => {
    expect(written([])).toEqual([""]);
    expect(written([{ jsonPath: "$.a" }])).toEqual(["", ""]);
  });

  it("joins an emoji that is split between two entries", () => {
    const pieces = written([
      { jsonPath: "$.a", stringValue: "\ud83d", willContinue: true },
      { jsonPath: "$.a", stringValue: "\ude00" },
    ]);
    expect(JSON.parse(pieces.join(""))).toEqual({ a: "😀" });
  });

  it.each([
    ["$['a key']['it\\'s']", { "a key": { "it's": 1 } }],
    ['$["a.b"]["c[0]"]', { "a.b": { "c[0]": 1 } }],
    ["$.äöü.x-y", { äöü: { "x-y": 1 } }],
    ["$.a[0][0]", { a: [[1]] }],
  ])("reads the path %s", (jsonPath, value) => {
    expect(JSON.parse(written([{ jsonPath, numberValue: 1 }]).join(""))).toEqual(value);
  });

  it.each(["", "$", "a.b", "$[0]", "$.a..b", "$.a[x]", "$.a["])(
    "refuses %j, which is no path",
    (jsonPath) => {
      expect(() => written([{ jsonPath, numberValue: 1 }])).toThrow(StreamError);
    },
  );

  it.each([
    ["a key that was closed", "$.a.x", "$.b", "$.a.y"],
    ["a key that was written", "$.a", "$.b", "$.a"],
    ["a place that was passed over", "$.a[0]", "$.a[2]", "$.b"],
    ["a list that does not begin at its beginning", "$.a[1]", "$.b", "$.c"],
    ["a list that was an object", "$.a.x", "$.a[0]", "$.b"],
    ["inside a value", "$.a", "$.a.x", "$.b"],
    ["around a value", "$.a.x", "$.a", "$.b"],
    ["the same value again", "$.a", "$.a", "$.b"],
  ])("refuses a path back to %s", (_, ...paths) => {
    expect(() => written(paths.map((jsonPath) => ({ jsonPath, numberValue: 1 })))).toThrow(StreamError);
  });

  it("rebuilds any JSON value that was split in document order", () => {
    const key = fc.stringMatching(/^[a-z][a-z0-9_]{0,3}$/);
    const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        scalar,
        fc.array(tie("value"), { minLength: 1, maxLength: 3 }),
        fc.dictionary(key, tie("value"), { minKeys: 1, maxKeys: 3 }),
      ),
    }));
    const args = fc.dictionary(key, value, { minKeys: 1, maxKeys: 3 });
    fc.assert(
      fc.property(args, (whole) => {
        expect(JSON.parse(written(listEntries(whole, "$")).join(""))).toEqual(
          JSON.parse(JSON.stringify(whole)),
        );
      }),
    );
  });
});

/** Splits a value as the API does: value by value, strings in two pieces and an empty last one. */
function listEntries(value: unknown, jsonPath: string): Entry[] {
  if (Array.isArray(value))
    return value.flatMap((entry, index) => listEntries(entry, `${jsonPath}[${index}]`));
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, entry]) => listEntries(entry, `${jsonPath}.${key}`));
  if (typeof value === "number") return [{ jsonPath, numberValue: value }];
  if (typeof value === "boolean") return [{ jsonPath, boolValue: value }];
  if (typeof value !== "string") return [{ jsonPath, nullValue: "NULL_VALUE" }];
  const pieces = [value.slice(0, 1), value.slice(1)].map((stringValue) => ({
    jsonPath,
    stringValue,
    willContinue: true,
  }));
  return [...pieces, { jsonPath, stringValue: "" }];
}
