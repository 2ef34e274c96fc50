import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Pattern } from "../../../../src/kit/json-schema/validation/pattern.ts";
import { UnsupportedPatternError } from "../../../../src/kit/json-schema/validation/pattern-parser.ts";

/** Whether a pattern matches, and at what cost. */
function match(source: string, text: string): { readonly matches: boolean; readonly steps: number } {
  let steps = 0;
  const matches = new Pattern(source).test(text, (spent) => {
    steps += spent;
  });
  return { matches, steps };
}

/** The flags that JSON Schema asks for, or none if the pattern is not valid with these flags. */
function nativePattern(source: string): RegExp {
  try {
    return new RegExp(source, "u");
  } catch {
    return new RegExp(source);
  }
}

const PATTERNS = [
  "",
  "a",
  "^$",
  "^a|b$",
  "(?:ab)*c?",
  "^a{2}$",
  "^a{2,}$",
  "^a{1,3}?b+?$",
  "^(?:a|ab)(?:c|bcd)(?:d*)$",
  "^(?:a*)*$",
  "^(?:a|b|)+c$",
  "^(?:(?:){3}a)+$",
  "[a-c]+[^a-c]",
  "[\\d\\-.]+",
  "[\\]a]",
  "[]",
  "[^]",
  "^.$",
  "^\\.\\*$",
  "\\bab\\b",
  "a\\Bb",
  "^\\w+\\s\\S+\\D\\W?$",
  "^[\\w.+-]+@[\\w-]+\\.[a-z]{2,}$",
  "^(?!a)",
  "^(?=.*\\d)(?=.*[a-z]).{2,4}$",
  "^(?!.*\\.\\.)[a.b]+$",
  "(?=(?!b)a)",
  "(?<year>\\d{2})-(?<day>\\d)",
  "^\\u0061\\x62\\u{63}?$",
  "^\\ud83d\\ude00$",
  "^😀{2}$",
  "\\p{Lu}",
  "[\\p{L}-]",
  "^\\cJ\\0\\t$",
  "\\d{3}\\-\\d",
  "a\\_?\\é?",
  "a{",
  "a{,2}",
  "{}]",
  "^[\\s\\S]{0,3}$",
];

describe("test()", () => {
  it.each(PATTERNS)("matches what the engine matches with %s", (source) => {
    const native = nativePattern(source);
    const pieces = fc.constantFrom(
      ..."abcd.-@ 1234_A]{}*,é\n\t\u0000\u2028",
      "ab",
      "aa",
      "..",
      "😀",
      "\ud83d",
      "10-3",
    );
    const text = fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, (each) => {
        expect(match(source, each).matches, JSON.stringify(each)).toBe(native.test(each));
      }),
      { numRuns: 400 },
    );
  });

  it("matches what the engine matches with generated patterns", () => {
    const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
      pattern: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "\\w", "^", "$", "\\b", ""),
        fc.tuple(tie("pattern"), tie("pattern")).map((parts) => parts.join("")),
        fc.tuple(tie("pattern"), tie("pattern")).map(([left, right]) => `(?:${left}|${right})`),
        fc
          .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"))
          .map(([part, quantifier]) => `(${part})${quantifier}`),
        tie("pattern").map((part) => `(?=${part})`),
        tie("pattern").map((part) => `(?!${part})`),
      ),
    }));
    fc.assert(
      fc.property(
        pattern,
        fc.string({ unit: fc.constantFrom("a", "b", "c", " "), maxLength: 6 }),
        (source, text) => {
          expect(match(source, text).matches).toBe(new RegExp(source, "u").test(text));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it.each([
    ["(a+)+$", "a"],
    ["^(a|a)*$", "a"],
    ["^(a|b|ab)*c$", "ab"],
    ["(.*)(.*)(.*)(.*)x$", "a"],
    ["\\s+$", " "],
    ["^(?:a?){20}a{20}$", "a"],
  ])("costs the same for each character of a text with %s", (source, unit) => {
    const short = match(source, `${unit.repeat(500)}!`);
    const long = match(source, `${unit.repeat(5000)}!`);
    expect([short.matches, long.matches]).toEqual([false, false]);
    expect(long.steps).toBeGreaterThan(short.steps);
    expect(long.steps / short.steps).toBeLessThan(10.1);
  });

  it("stops if its cost is refused", () => {
    const refuse = () => {
      throw new Error("too much");
    };
    expect(() => new Pattern("a").test("b", refuse)).toThrow("too much");
  });
});

describe("a pattern", () => {
  it.each([
    ["a back-reference", "(a)\\1"],
    ["a named back-reference", "(?<n>a)\\k<n>"],
    ["lookbehind", "(?<=a)b"],
    ["negative lookbehind", "(?<!a)b"],
    ["flags of a group", "(?i:a)"],
    ["an escape of another language", "\\Aa\\Z"],
    ["a property where an escape forbids the flag u", "\\p{L}\\-"],
    ["half an escape", "\\u12\\-"],
    ["too many repetitions", "((a{100}){100}){100}"],
    ["a repetition of nothing without end", "(?:){1000000000}"],
    ["too many groups", `${"(".repeat(51)}${")".repeat(51)}`],
    ["too many characters", "a".repeat(5001)],
  ])("is not supported with %s", (_, source) => {
    expect(() => new Pattern(source)).toThrow(UnsupportedPatternError);
  });

  it.each(["(", "[", "a**", "\\"])("must be valid: %s", (source) => {
    expect(() => new Pattern(source)).toThrow(SyntaxError);
  });
});
