/** Generated JSON texts, and a reference for what a parser may know of the beginning of one. */
import fc from "fast-check";
import { parseJsonText } from "../../../src/core/json-text.ts";

const space = fc.constantFrom("", "", "", " ", "\n", "\t", "\r\n  ");

/** One character of a string, spelled raw or as an escape; surrogates whole, halved, and escaped. */
const character = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "{",
    "[",
    "]",
    "}",
    ",",
    ":",
    " ",
    "1",
    "e",
    "é",
    "\u2028",
    "😀",
    "\ud83d",
    "\ude00",
  ),
  fc.constantFrom('\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t"),
  fc.constantFrom(
    "\\u0041",
    "\\u00e9",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\uD83D",
    "\\uDE00",
    "\\ud83dx",
    "\\ud83d\\n",
  ),
  fc.string({ unit: "binary", maxLength: 2 }).map((text) => JSON.stringify(text).slice(1, -1)),
);

const string = fc.array(character, { maxLength: 8 }).map((characters) => `"${characters.join("")}"`);

const number = fc.oneof(
  fc.constantFrom(
    "0",
    "-0",
    "1",
    "12",
    "-1.50",
    "1e3",
    "1E+3",
    "10.25e-2",
    "9007199254740993",
    "1e400",
    "5e-324",
  ),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);

const key = fc.oneof(
  fc.constantFrom('"a"', '"b"', '""', '"1"', '"__proto__"', '"constructor"', '"\\u0061"'),
  string,
);

const { value } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: "small" },
    fc.constantFrom("true", "false", "null"),
    number,
    string,
    tie("list"),
    tie("object"),
  ),
  list: fc
    .tuple(space, fc.array(spaced(tie("value")), { maxLength: 4 }))
    .map(([inside, items]) => `[${items.length === 0 ? inside : items.join(",")}]`),
  object: fc
    .tuple(space, fc.array(fc.tuple(spaced(key), spaced(tie("value"))), { maxLength: 4 }))
    .map(([inside, members]) => {
      const texts = members.map(([name, member]) => `${name}:${member}`);
      return `{${texts.length === 0 ? inside : texts.join(",")}}`;
    }),
}));

/** JSON texts of every kind: with white space, escapes, halves of surrogate pairs and repeated keys. */
export const jsonText: fc.Arbitrary<string> = spaced(value);

function spaced(text: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(space, text, space).map((parts) => parts.join(""));
}

/** A text and its pieces, some of which are empty. */
export function inPieces(
  text: fc.Arbitrary<string>,
): fc.Arbitrary<readonly [text: string, pieces: readonly string[]]> {
  return text.chain((whole) =>
    fc.array(fc.nat(whole.length), { maxLength: 12 }).map((places) => {
      const cuts = [0, ...places.sort((left, right) => left - right), whole.length];
      return [whole, cuts.slice(1).map((end, index) => whole.slice(cuts[index], end))] as const;
    }),
  );
}

/**
 * Returns the known part of a value when this much of its text has arrived: the value of the longest prefix that
 * closing quotes and brackets make valid JSON. A number counts when it is finished, half a surrogate pair at the end of
 * an open string when something follows it. Undefined if there is none. Slow, and independent of the parser.
 */
export function valueOfPrefix(prefix: string): unknown {
  for (let length = prefix.length; length > 0; length -= 1) {
    const beginning = prefix.slice(0, length);
    const { openString, closers } = openIn(beginning);
    if (openString === undefined && isWithinNumber(prefix, length)) continue;
    const completed = tryParse(`${closeString(beginning, openString)}${closers}`);
    if (completed !== undefined) return completed.value;
  }
  return undefined;
}

/** The text with its open string closed, without the half of a surrogate pair at its end. */
function closeString(text: string, openString: number | undefined): string {
  const string = openString === undefined ? undefined : tryParse(`${text.slice(openString)}"`)?.value;
  if (typeof string !== "string") return text;
  return text.slice(0, openString) + JSON.stringify(string.replace(/[\ud800-\udbff]$/, ""));
}

/** Finds the start of the open string in a text, and the brackets that close its lists and objects. */
function openIn(text: string): { readonly openString: number | undefined; readonly closers: string } {
  let openString: number | undefined;
  let closers = "";
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (openString !== undefined) {
      if (character === "\\") at += 1;
      else if (character === '"') openString = undefined;
    } else if (character === '"') openString = at;
    else if (character === "{") closers = `}${closers}`;
    else if (character === "[") closers = `]${closers}`;
    else if (character === "}" || character === "]") closers = closers.slice(1);
  }
  return { openString, closers };
}

/** Whether a cut at this length is inside or at the end of a number that may continue. */
function isWithinNumber(text: string, length: number): boolean {
  return (
    /[0-9]/.test(text.charAt(length - 1)) &&
    (length === text.length || /[-+.eE0-9]/.test(text.charAt(length)))
  );
}

function tryParse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: parseJsonText(text) };
  } catch {
    return undefined;
  }
}

/** Whether one value can grow into another: strings and lists get longer at their end, objects get more members. */
export function growsInto(earlier: unknown, later: unknown): boolean {
  if (earlier === undefined) return true;
  if (typeof earlier === "string") return typeof later === "string" && later.startsWith(earlier);
  if (typeof earlier !== "object" || earlier === null) return Object.is(earlier, later);
  if (typeof later !== "object" || later === null || Array.isArray(earlier) !== Array.isArray(later))
    return false;
  const grown = new Map(Object.entries(later));
  return Object.entries(earlier).every(([name, each]) => grown.has(name) && growsInto(each, grown.get(name)));
}
