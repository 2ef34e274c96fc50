import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonText } from "../../../src/core/json-text.ts";
import { isObject, type JsonValue, MAX_JSON_LEVELS } from "../../../src/kit/json/json.ts";
import { PartialJsonParser } from "../../../src/kit/json/partial-json.ts";
import { growsInto, inPieces, jsonText, valueOfPrefix } from "./json-texts.ts";

/** Creates a parser that has read some pieces. */
function getParser(...pieces: readonly string[]): PartialJsonParser {
  const parser = new PartialJsonParser();
  for (const piece of pieces) parser.push(piece);
  return parser;
}

/** The value after each of some pieces. */
function parseGrowing(...pieces: readonly string[]): readonly (JsonValue | undefined)[] {
  const parser = new PartialJsonParser();
  return pieces.map((piece) => {
    parser.push(piece);
    return parser.snapshot();
  });
}

/** Expects equal values, with members in the same order. Vitest takes a member named `constructor` for a class. */
function expectSame(found: unknown, expected: unknown): void {
  expect(JSON.stringify(found)).toBe(JSON.stringify(expected));
  expect(isDeepStrictEqual(found, expected)).toBe(true);
}

function toFailure(parser: PartialJsonParser) {
  const result = parser.end();
  if (result.ok) throw new Error("expected a failure, found a value");
  return result.error;
}

describe("a partial value", () => {
  it("is the completed beginning of the text, at every character", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const parser = new PartialJsonParser();
        for (let length = 1; length <= text.length; length += 1) {
          parser.push(text.charAt(length - 1));
          expectSame(parser.value, valueOfPrefix(text.slice(0, length)));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("does not depend on where the text is cut into pieces", () => {
    fc.assert(
      fc.property(inPieces(jsonText), ([, pieces]) => {
        const parser = new PartialJsonParser();
        let text = "";
        for (const piece of pieces) {
          text += piece;
          parser.push(piece);
          expectSame(parser.value, getParser(...text).value);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("only grows", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        let earlier: JsonValue | undefined;
        for (const later of parseGrowing(...JSON.stringify(value))) {
          expect(growsInto(earlier, later)).toBe(true);
          earlier = later;
        }
      }),
      { numRuns: 300 },
    );
  });

  it("has changed exactly when push() says so", () => {
    fc.assert(
      fc.property(inPieces(fc.jsonValue().map((value) => JSON.stringify(value, null, 1))), ([, pieces]) => {
        const parser = new PartialJsonParser();
        for (const piece of pieces) {
          const before = JSON.stringify(parser.value);
          expect(parser.push(piece)).toBe(JSON.stringify(parser.value) !== before);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("shows a key when its value begins, and a number when it is finished", () => {
    expect(parseGrowing('{"na', 'me":', '"A', 'da","age":', "1", "2", ',"ok":tr', "ue}")).toStrictEqual([
      {},
      {},
      { name: "A" },
      { name: "Ada" },
      { name: "Ada" },
      { name: "Ada" },
      { name: "Ada", age: 12 },
      { name: "Ada", age: 12, ok: true },
    ]);
  });

  it("keeps half an escape and half a surrogate pair back", () => {
    expect(
      parseGrowing('"a\\', "n", "\\u00", "e9", "\\ud83d", "\\ude", "00", "\ud83d", "\ude00"),
    ).toStrictEqual(["a", "a\n", "a\n", "a\né", "a\né", "a\né", "a\né😀", "a\né😀", "a\né😀😀"]);
    expect(parseGrowing('"\\ud83d', "x")).toStrictEqual(["", "\ud83dx"]);
    expect(parseGrowing('"\\ud83d', '"')).toStrictEqual(["", "\ud83d"]);
  });

  it("is undefined before a value begins", () => {
    expect(parseGrowing("", " \n", "n", "ul", "l")).toStrictEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      null,
    ]);
    expect(getParser("-1").value).toBeUndefined();
  });

  it("has __proto__ as a member, and no prototype of the text's choice", () => {
    const text = '{"__proto__":{"polluted":"yes"},"a":{"__proto__":"long';
    const parser = getParser(...text);
    for (const value of [parser.value, parser.snapshot()]) {
      expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":"yes"},"a":{"__proto__":"long"}}');
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

describe("snapshot()", () => {
  it("gives values that later pieces do not change", () => {
    fc.assert(
      fc.property(inPieces(jsonText), ([, pieces]) => {
        const parser = new PartialJsonParser();
        const taken = pieces.map((piece) => {
          parser.push(piece);
          const snapshot = parser.snapshot();
          expectSame(snapshot, parser.value);
          return { snapshot, text: JSON.stringify(snapshot) };
        });
        for (const { snapshot, text } of taken) expect(JSON.stringify(snapshot)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });

  it("shares closed values, and copies open ones", () => {
    const parser = getParser('{"closed":{"a":[1]},"open":{"done":[2],"text":"a');
    const earlier = parser.snapshot();
    parser.push("b");
    const later = parser.snapshot();
    if (!isObject(earlier) || !isObject(later) || !isObject(earlier.open) || !isObject(later.open))
      throw new Error("expected objects");
    expect(later.closed).toBe(earlier.closed);
    expect(later.open.done).toBe(earlier.open.done);
    expect([earlier.open.text, later.open.text]).toEqual(["a", "ab"]);
  });
});

describe("end()", () => {
  it("gives the same value as JSON.parse", () => {
    fc.assert(
      fc.property(inPieces(jsonText), ([text, pieces]) => {
        expectSame(getParser(...pieces).end(), { ok: true, value: parseJsonText(text) });
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts and refuses the texts that JSON.parse accepts and refuses", () => {
    const damaged = fc
      .tuple(jsonText, fc.nat(), fc.constantFrom("", ...'{}[]",:\\01-+.eEtu \n\u0000\u00a0\ufeff/x'))
      .map(([text, place, inserted]) => {
        const at = place % (text.length + 1);
        return text.slice(0, at) + inserted + text.slice(at + (place % 2));
      });
    fc.assert(
      fc.property(damaged, (text) => {
        let expected: unknown = { ok: false };
        try {
          expected = { ok: true, value: parseJsonText(text) };
        } catch {}
        const result = getParser(text).end();
        expectSame(result.ok ? result : { ok: false }, expected);
      }),
      { numRuns: 5000 },
    );
  });

  it("refuses every beginning of an object as incomplete", () => {
    const text = '{"a":[1,-2.5e3,true,"x\\u0041"],"b":{"c":null}}';
    for (let length = 0; length < text.length; length += 1) {
      expect(toFailure(getParser(text.slice(0, length)))).toMatchObject({
        isIncomplete: true,
        position: length,
      });
    }
  });

  it("finishes a number at the end of the text", () => {
    expect(getParser("-1.5e3").end()).toEqual({ ok: true, value: -1500 });
    expect(toFailure(getParser("-1.5e")).isIncomplete).toBe(true);
  });

  it.each([
    ['{"a" 1}', 'expected a ":" at position 5, found "1"'],
    ["{a:1}", 'expected a key or "}" at position 1, found "a"'],
    ['{"a":1,}', 'expected a key at position 7, found "}"'],
    ["[1,]", 'expected a JSON value at position 3, found "]"'],
    ["[,]", 'expected a JSON value or "]" at position 1, found ","'],
    ["[1}", 'expected a "," or a closing bracket at position 2, found "}"'],
    ["[01]", 'expected a "," or a closing bracket at position 2, found "1"'],
    ["[1.]", 'expected a digit at position 3, found "]"'],
    ["[nil]", 'expected null at position 2, found "i"'],
    ["NaN", 'expected a JSON value at position 0, found "N"'],
    ['"a\nb"', 'expected no control character in a string at position 2, found "\\n"'],
    ['"\\x41"', 'expected an escape sequence of JSON at position 2, found "x"'],
    ['"\\u00g0"', 'expected a hexadecimal digit at position 5, found "g"'],
    ["{} {}", 'expected nothing after the JSON value at position 3, found "{"'],
    ["\ufeff{}", 'expected a JSON value at position 0, found "\ufeff"'],
    ["", "expected a JSON value at position 0, found the end of the text"],
    ['{"a":"b', "expected the end of a string at position 7, found the end of the text"],
  ])("names the mistake in %j and its place, however it is cut", (text, message) => {
    expect(toFailure(getParser(text)).message).toBe(message);
    expect(toFailure(getParser(...text)).message).toBe(message);
  });
});

describe("text that is not JSON", () => {
  it("stops the growth, and leaves the value as it was", () => {
    const parser = getParser('{"a":"b","c":[1,');
    expect(parser.push('2,"d\\q","e"]')).toBe(true);
    expect(parser.value).toEqual({ a: "b", c: [1, 2, "d"] });
    expect(parser.push('"f"]}')).toBe(false);
    expect(parser.value).toEqual({ a: "b", c: [1, 2, "d"] });
    expect(toFailure(parser)).toMatchObject({ position: 21, isIncomplete: false });
  });

  it("is repeated in the error by one character only", () => {
    const secret = "a secret of the caller";
    const { message } = toFailure(getParser(`{"a":"${secret}" ${secret}`));
    expect(message.length).toBeLessThan(100);
    expect(message).not.toContain("secret");
  });
});

describe("an embedded value", () => {
  function embedded(text: string, kind: "object" | "value" = "object") {
    const parser = new PartialJsonParser({ embedded: kind });
    for (const character of text) parser.push(character);
    return parser;
  }

  it.each([
    '{"a":[1]}',
    ' {"a":[1]}\n',
    '```json\n{"a":[1]}\n```',
    '```\n{"a":[1]}\n```\nI hope this helps {you}!',
    'As [1] says, it is:\n\n```json\n{"a":[1]}\n```',
    '\ufeff{"a":[1]}{"b":2}',
  ])("is found in %j", (text) => {
    expect(embedded(text).end()).toEqual({ ok: true, value: { a: [1] } });
    expect(embedded(text).value).toEqual({ a: [1] });
  });

  it("may be a list if the caller says so", () => {
    expect(embedded("Here: ```json\n[1, 2]\n```", "value").end()).toEqual({ ok: true, value: [1, 2] });
  });

  it("fails if it is missing, cut or invalid", () => {
    expect(toFailure(embedded("I cannot do that.")).message).toBe(
      "expected the opening bracket of a JSON value at position 17, found the end of the text",
    );
    expect(toFailure(embedded('```json\n{"a":'))).toMatchObject({ isIncomplete: true });
    expect(toFailure(embedded("```json\n{a: 1}\n```"))).toMatchObject({ position: 9, isIncomplete: false });
  });
});

describe("a hostile text", () => {
  /** Characters that a function reads from strings, by index, as a slice, or with a pattern. */
  function charactersReadBy(run: () => void): number {
    let count = 0;
    const { charCodeAt, charAt, slice } = String.prototype;
    const prototype: {
      -readonly [Key in "charCodeAt" | "charAt" | "slice"]: (typeof String.prototype)[Key];
    } = String.prototype;
    prototype.charCodeAt = function (this: string, ...parameters) {
      count += 1;
      return charCodeAt.apply(this, parameters);
    };
    prototype.charAt = function (this: string, ...parameters) {
      count += 1;
      return charAt.apply(this, parameters);
    };
    prototype.slice = function (this: string, ...parameters) {
      const part = slice.apply(this, parameters);
      count += part.length;
      return part;
    };
    try {
      run();
    } finally {
      Object.assign(prototype, { charCodeAt, charAt, slice });
    }
    return count;
  }

  function pushAll(text: string, size: number): PartialJsonParser {
    const parser = new PartialJsonParser();
    for (let at = 0; at < text.length; at += size) parser.push(text.substring(at, at + size));
    return parser;
  }

  const keys = Array.from({ length: 100_000 }, (_, index) => `"key${index}":${index}`);

  it.each([
    ["a string of 10 MB", JSON.stringify("abcdefghi\n".repeat(1_000_000))],
    ["surrogate pairs that are cut in two", JSON.stringify(`a${"😀".repeat(200_000)}`)],
    ["escapes alone", `"${"\\u0041".repeat(200_000)}"`],
    ["100,000 keys", `{${keys.join(",")}}`],
    ["100,000 items", `[${"1,".repeat(100_000)}1]`],
    ["one key 100,000 times", `{${'"a":"b",'.repeat(100_000)}"a":1}`],
    ["a number of 1 MB", `[${"1".repeat(1_000_000)}]`],
    ["a key of 1 MB", `{"${"k".repeat(1_000_000)}":1}`],
    ["1 MB of white space", `[${" ".repeat(1_000_000)}]`],
  ])("costs a few steps per character: %s", (_, text) => {
    for (const size of [7, text.length]) {
      let parser = new PartialJsonParser();
      const count = charactersReadBy(() => {
        parser = pushAll(text, size);
      });
      expect(count).toBeGreaterThan(text.length / 2);
      expect(count).toBeLessThan(4 * text.length);
      expect(parser.end()).toEqual({ ok: true, value: parseJsonText(text) });
    }
  });

  it.each(["[", '{"a":', '[{"a":'])("may not nest %s for a megabyte", (opening) => {
    const text = opening.repeat(1_000_000 / opening.length);
    const parser = pushAll(text, 4096);
    expect(toFailure(parser).message).toMatch(
      /^expected at most 256 levels of JSON at position \d+, found "[[{]"$/,
    );
    expect(JSON.stringify(parser.snapshot()).length).toBeLessThan(5000);
  });

  it("may nest as deeply as JSON in a request", () => {
    const deep = "[".repeat(MAX_JSON_LEVELS) + "]".repeat(MAX_JSON_LEVELS);
    expect(getParser(deep).end().ok).toBe(true);
    expect(getParser(`[${deep}]`).end().ok).toBe(false);
  });
});
