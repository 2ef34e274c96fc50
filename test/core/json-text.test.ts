import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonText } from "../../src/core/json-text.ts";
import { jsonText } from "../kit/json/json-texts.ts";

describe("parseJsonText()", () => {
  // V8 predicts names from earlier objects, and confuses an escape with the backslash at the end of such a name.
  it.each([
    ['{"\\\\":1}', '{"\\u00e9":1}', { é: 1 }],
    ['{"a":1,"b\\\\":1}', '{"a":1,"b\\u00e9":1}', { a: 1, bé: 1 }],
    ['[{"a":1,"b\\\\":1}]', '[ { "a" : 1 ,\n"b\\n" : {"c\\"":[]} } ]', [{ a: 1, "b\n": { 'c"': [] } }]],
    ['{"q":1,"\\\\n":1}', '{"q":1,"\\nx":1}', { q: 1, "\nx": 1 }],
  ])("reads names with escapes after %s: %s", (earlier, text, expected) => {
    JSON.parse(earlier);
    parseJsonText(earlier);
    expect(JSON.stringify(parseJsonText(text))).toBe(JSON.stringify(expected));
    expect(JSON.stringify(parseJsonText(earlier))).toBe(earlier);
  });

  it("keeps the order of members, and the last value of a repeated name", () => {
    const parsed = parseJsonText('{"\\u0061":1,"b":2,"a":3,"__proto__":{"\\n":4},"\\u0062":5}');
    expect(JSON.stringify(parsed)).toBe('{"a":3,"b":5,"__proto__":{"\\n":4}}');
  });

  it("revives values by their names, with their source text", () => {
    const seen: unknown[] = [];
    parseJsonText('{"\\n":1.50,"b":["\\t"]}', (key, value, { source }) => {
      seen.push([key, source]);
      return value;
    });
    expect(seen).toEqual([
      ["\n", "1.50"],
      ["0", '"\\t"'],
      ["b", undefined],
      ["", undefined],
    ]);
  });

  it.each(['{"\\n":1,}', '{"a":"\\n","\\x":1}', '{"\\n":1', '{"\\n', '{"a\\u00":1}', '["a","\\"'])(
    "fails as JSON.parse does: %s",
    (text) => {
      const fail = (parse: (text: string) => unknown) => {
        try {
          return parse(text);
        } catch (error) {
          return error;
        }
      };
      expect(fail(parseJsonText)).toBeInstanceOf(SyntaxError);
      expect(fail(parseJsonText)).toEqual(fail(JSON.parse));
    },
  );

  it("keeps the last value of a name that comes with and without escapes", () => {
    expect(parseJsonText('{"a":[],"\\u0061":false,"a":true}')).toEqual({ a: true });
    expect(parseJsonText('{"a":1,"\\u0061":2}')).toEqual({ a: 2 });
  });

  it("gives the text back for values of every kind", () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const parsed = parseJsonText(text);
        expect(JSON.stringify(parseJsonText(JSON.stringify(parsed)))).toBe(JSON.stringify(parsed));
      }),
      { numRuns: 500 },
    );
  });

  it("takes time in proportion to the text", () => {
    const toMs = (text: string) => {
      const begun = performance.now();
      parseJsonText(text);
      return performance.now() - begun;
    };
    const commas = `["\\n${", ".repeat(100_000)}","${"\\\\".repeat(100_000)}"]`;
    const names = `{${Array.from({ length: 20_000 }, (_, index) => `"\\n${index}":"${"x".repeat(20)}"`).join()}}`;
    for (const text of [commas, names]) expect(toMs(text)).toBeLessThan(2_000);
  });
});
