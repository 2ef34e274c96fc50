import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import {
  asCount,
  asInt32,
  asObject,
  asString,
  isJson,
  isObject,
  type JsonObject,
  type JsonValue,
  MAX_JSON_LEVELS,
  mergeObjects,
  parseJson,
  parseObjectField,
  tryParseJson,
  tryReadJson,
  without,
} from "../../../src/kit/json/json.ts";
import { sourceObject, stringifyJson } from "../../../src/kit/json/json-source.ts";

/** Numbers that a double does not hold, in every place in which a number can stand. */
const LONG_NUMBERS = [
  "9007199254740993",
  "-9007199254740993",
  "12345678901234567890",
  "0.1234567890123456789",
  "3.14159265358979323846",
  "12345678901234.12345",
  "9007199254740991.4",
  "0.99999999999999999999",
  "1.2345678901234567e10",
  "1e400",
  "-1E+400",
  "1.5e-400",
  "1.23456789e-320",
];

/** Numbers that a double holds, as JSON.stringify spells them. */
const SHORT_NUMBERS = ["0", "-1", "1.5", "1e+21", "5e-324", "9007199254740991", "0.1", "123456789012345"];

describe("parseJson()", () => {
  it.each([...LONG_NUMBERS, ...SHORT_NUMBERS])("gives %s back as it is spelled", (number) => {
    const texts = [number, `[${number}]`, `{"a":{"b":[true,${number}]}}`, `{"a":${number},"b":"x"}`];
    for (const text of texts) {
      expect(JSON.stringify(parseJson(text))).toBe(text);
      expect(stringifyJson(parseJson(text))).toBe(text);
    }
    expect(JSON.stringify(parseJson(`[ ${number} , {"a" :\n${number} } ]`))).toBe(
      `[${number},{"a":${number}}]`,
    );
  });

  it.each(SHORT_NUMBERS)("makes %s a number even alongside a long one", (number) => {
    expect(parseJson(`[${number},9007199254740993]`)).toMatchObject([Number(number), {}]);
  });

  it("leaves digits in strings and keys alone", () => {
    const text = '{"12345678901234567890":"12345678901234567890","a":": 1e400"}';
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  it("agrees with JSON.parse on everything else", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        expect(JSON.stringify(parseJson(text))).toBe(text);
      }),
      { seed: 12 },
    );
  });

  it("keeps any number's value, however it is written", () => {
    const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength: 25 });
    const number = fc
      .tuple(
        fc.constantFrom("", "-"),
        digits,
        fc.option(digits),
        fc.option(fc.integer({ min: -420, max: 420 })),
      )
      .map(([sign, whole, fraction, exponent]) => {
        const decimals = fraction === null ? "" : `.${fraction}`;
        return `${sign}${whole.replace(/^0+(?=.)/, "")}${decimals}${exponent === null ? "" : `e${exponent}`}`;
      });
    fc.assert(
      fc.property(number, (number) => {
        expect(canonical(stringifyJson(parseJson(`[${number}]`)).slice(1, -1))).toBe(canonical(number));
      }),
      { seed: 13, numRuns: 500 },
    );
  });

  it.each(["", "{", "[1,]", "9007199254740993x", "undefined"])("throws SyntaxError for %j", (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
    expect([tryParseJson(text), isJson(text)]).toEqual([undefined, false]);
  });
});

/** The value of a decimal number, one spelling for each: its digits without zeros around them, and their places. */
function canonical(number: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const trimmed = digits.replace(/0+$/, "");
  const scale = Number(exponent) - fraction.length + digits.length - trimmed.length;
  return trimmed === "" ? "0" : `${sign}${trimmed}e${scale}`;
}

describe("tryParseJson() and isJson()", () => {
  it.each(["null", "false", '"a"', "{}", " [1] "])("take %s", (text) => {
    expect([tryParseJson(text), isJson(text)]).toEqual([JSON.parse(text), true]);
  });
});

describe("tryReadJson()", () => {
  it("reads numbers as doubles, however they are spelled", () => {
    expect(tryReadJson('{"a":[9007199254740993,-0.00003547789674485102]}')).toEqual({
      a: [2 ** 53, -0.00003547789674485102],
    });
  });

  it("is undefined if the text is not JSON", () => {
    expect([tryReadJson("{"), tryReadJson("")]).toEqual([undefined, undefined]);
  });
});

describe("the readers of values", () => {
  const long = parseJson("12345678901234567890");

  it.each([
    [{}, true],
    [{ a: 1 }, true],
    [[], false],
    [null, false],
    [undefined, false],
    ["{}", false],
    [7, false],
    [long, false],
  ])("distinguish an object from %j", (value, want) => {
    expect(isObject(value)).toBe(want);
    expect(asObject(value)).toBe(want ? value : undefined);
  });

  it.each([
    ["a", "a"],
    ["", ""],
    [1, undefined],
    [null, undefined],
    [long, undefined],
  ])("find a string in %j only if it is one", (value, want) => {
    expect(asString(value)).toBe(want);
  });

  it.each([
    [0, 0],
    [-2147483648, -2147483648],
    [2147483647, 2147483647],
    [2147483648, undefined],
    [-2147483649, undefined],
    [1.5, undefined],
    [Number.NaN, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    ["7", undefined],
    [true, undefined],
    [null, undefined],
    [long, undefined],
  ])("find a 32-bit whole number in %j only if it is one", (value, want) => {
    expect(asInt32(value)).toBe(want);
  });
});

describe("asCount()", () => {
  it.each([
    [0, 0],
    [1_000_000, 1_000_000],
    [-1, undefined],
    [2 ** 30, undefined],
    [1.5, undefined],
    ["7", undefined],
  ])("finds a count in %j only if it is one", (value, want) => {
    expect(asCount(value)).toBe(want);
  });
});

describe("parseObjectField()", () => {
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

  it.each([MAX_JSON_LEVELS + 1, 5000, 100_000])("rejects %d levels with the name of the field", (levels) => {
    const description = "expected at most 256 levels of JSON, found more";
    const field = 'provider_options_json["openai"]';
    expect(() => parseObjectField(deep(levels), field)).toThrow(
      expect.objectContaining({ violations: [{ field, description }] }),
    );
    expect(() => parseObjectField(`{"a":${"[".repeat(levels)}${"]".repeat(levels)}}`, field)).toThrow(
      description,
    );
  });

  it("takes as many levels as may be", () => {
    const text = deep(MAX_JSON_LEVELS);
    expect(JSON.stringify(parseObjectField(text, "f"))).toBe(text);
  });

  it("gives the object, long numbers as they are spelled", () => {
    const text = '{"seed":12345678901234567890}';
    expect(JSON.stringify(parseObjectField(text, "f"))).toBe(text);
  });

  it.each([
    ["", "text that is not JSON"],
    ["{", "text that is not JSON"],
    ["[{}]", "a list"],
    ["null", "null"],
    ["7", "a number"],
    ["12345678901234567890", "a number"],
    ['"{}"', "a string"],
    ["true", "a boolean"],
  ])("names the field and what it found for %j", (text, found) => {
    const field = 'provider_options_json["openai"]';
    const description = `expected the text of a JSON object, found ${found}`;
    expect(() => parseObjectField(text, field)).toThrow(InvalidRequestError);
    expect(() => parseObjectField(text, field)).toThrow(
      expect.objectContaining({ violations: [{ field, description }] }),
    );
  });
});

/** RFC 7396, appendix A: original, patch, result. */
const APPENDIX_A: [string, string, string][] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', "{}"],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', "null", "null"],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
  ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

describe("mergeObjects()", () => {
  it.each(APPENDIX_A)(
    "merges as the table of RFC 7396 has it: %s and %s give %s",
    (original, patch, result) => {
      // The table's values stand under a key, since null removes keys.
      const merged = mergeObjects(JSON.parse(`{"x":${original}}`), JSON.parse(`{"x":${patch}}`));
      expect(JSON.stringify(merged)).toBe(result === "null" ? "{}" : `{"x":${result}}`);
    },
  );

  it("gives the same result as the RFC's program for any objects", () => {
    const object = fc.dictionary(
      fc.constantFrom("a", "b", "__proto__", "constructor"),
      fc.jsonValue({ maxDepth: 3 }),
    );
    fc.assert(
      fc.property(object, object, (base, patch) => {
        const before = JSON.stringify([base, patch]);
        const merged = mergeObjects(base as JsonObject, patch as JsonObject);
        expect(canonicalJson(merged)).toBe(
          canonicalJson(mergePatch(base as JsonObject, patch as JsonObject)),
        );
        expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
        expect(JSON.stringify([base, patch])).toBe(before);
      }),
      { seed: 14, numRuns: 300 },
    );
  });

  it("keeps the order of the keys that it had and adds new ones behind", () => {
    const merged = mergeObjects(
      { model: "m", input: [], store: false },
      { store: true, seed: 1, input: ["x"] },
    );
    expect(JSON.stringify(merged)).toBe('{"model":"m","input":["x"],"store":true,"seed":1}');
  });

  it("keeps long numbers as they are spelled", () => {
    const patch = parseObjectField('{"a":12345678901234567890,"b":{"c":0.1234567890123456789}}', "f");
    const merged = mergeObjects({ a: { x: 1 }, b: 2 }, patch);
    expect(JSON.stringify(merged)).toBe('{"a":12345678901234567890,"b":{"c":0.1234567890123456789}}');
    const again = mergeObjects(merged, { a: { x: 1 } });
    expect(JSON.stringify(again)).toBe('{"a":{"x":1},"b":{"c":0.1234567890123456789}}');
  });

  it("merges into an object that is kept as it is spelled", () => {
    const schema = sourceObject('{"type":"object","x":{"y":1.0}}');
    const body = { format: { schema, strict: true } };
    expect(stringifyJson(mergeObjects(body, { format: { strict: false } }))).toBe(
      '{"format":{"schema":{"type":"object","x":{"y":1.0}},"strict":false}}',
    );
    expect(stringifyJson(mergeObjects(body, { format: { schema: { x: { z: 2 }, type: null } } }))).toBe(
      '{"format":{"schema":{"x":{"y":1,"z":2}},"strict":true}}',
    );
  });

  it("joins the lists under the given keys, only at the top level", () => {
    const base = { tools: [1], include: ["a"], nested: { tools: [1] }, other: [1] };
    const patch = { tools: [2], include: "b", nested: { tools: [2] }, other: [2] };
    expect(mergeObjects(base, patch, ["tools", "include"])).toEqual({
      tools: [1, 2],
      include: "b",
      nested: { tools: [2] },
      other: [2],
    });
    expect(mergeObjects({}, { tools: [2] }, ["tools"])).toEqual({ tools: [2] });
    expect(mergeObjects({ tools: [1] }, { tools: null }, ["tools"])).toEqual({});
    expect(base.tools).toEqual([1]);
  });
});

/** JSON with its keys sorted, `__proto__` among them. */
function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(",")}}`;
}

/** The program of RFC 7396, section 2, over maps, so that no key is special. */
function mergePatch(target: JsonValue, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return patch;
  const merged = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else if (value !== undefined) merged.set(name, mergePatch(merged.get(name) ?? null, value));
  }
  return Object.fromEntries(merged);
}

describe("without()", () => {
  it("copies all other keys in their order, also one that is named like the prototype", () => {
    const object = parseJson('{"b":1,"a":2,"__proto__":{"c":3},"d":4}') as JsonObject;
    expect(JSON.stringify(without(object, "a"))).toBe('{"b":1,"__proto__":{"c":3},"d":4}');
    expect(Object.getPrototypeOf(without(object))).toBe(Object.prototype);
  });
});
