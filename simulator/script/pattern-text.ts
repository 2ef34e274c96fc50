import type { SeededRandom } from "./seeded-random.ts";

const lowercase = "abcdefghijklmnopqrstuvwxyz";
const digits = "0123456789";
const alphabet = `${lowercase}${lowercase.toUpperCase()}${digits} -_.,:;/@#`;

/** Repetitions beyond the minimum, if a pattern allows any number. */
const spareRepetitions = 2;

/** Maximum number of repetitions of one element, so that a pattern cannot ask for megabytes. */
const maximumRepetitions = 1000;

/**
 * Writes a text that a regular expression matches: the `pattern` of a JSON Schema.
 *
 * Supports literals, classes, escapes, groups, alternatives and quantifiers. Returns undefined for an expression that
 * is not supported (look-around, back references) or not valid.
 */
export function textForPattern(pattern: string, random: SeededRandom): string | undefined {
  try {
    const reader: Reader = { pattern, at: 0, random };
    const text = readAlternatives(reader);
    return reader.at === pattern.length && new RegExp(pattern, "u").test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

interface Reader {
  readonly pattern: string;
  at: number;
  readonly random: SeededRandom;
}

function readAlternatives(reader: Reader): string {
  const alternatives: [string, ...string[]] = [readSequence(reader)];
  while (reader.pattern[reader.at] === "|") {
    reader.at += 1;
    alternatives.push(readSequence(reader));
  }
  return reader.random.pick(alternatives);
}

function readSequence(reader: Reader): string {
  let text = "";
  while (reader.at < reader.pattern.length && !"|)".includes(reader.pattern[reader.at] ?? "")) {
    const start = reader.at;
    const once = readAtom(reader);
    const times = readQuantifier(reader);
    const next = reader.at;
    text += times > 0 ? once : "";
    for (let done = 1; done < times; done += 1) {
      // The element is read again, so that each repetition gets other characters.
      reader.at = start;
      text += readAtom(reader);
    }
    reader.at = next;
  }
  return text;
}

function readAtom(reader: Reader): string {
  const character = take(reader);
  switch (character) {
    case "^":
    case "$":
      return "";
    case ".":
      return reader.random.pick(letters(lowercase));
    case "(":
      return readGroup(reader);
    case "[":
      return readClass(reader);
    case "\\":
      return reader.random.pick(letters(readEscape(reader)));
    default:
      return character;
  }
}

function readGroup(reader: Reader): string {
  const prefix = /^\?(:|<[A-Za-z_]\w*>)/.exec(reader.pattern.slice(reader.at));
  if (prefix !== null) reader.at += prefix[0].length;
  else if (reader.pattern[reader.at] === "?") throw new SyntaxError("look-around is not supported");
  const text = readAlternatives(reader);
  expect(reader, ")");
  return text;
}

function readClass(reader: Reader): string {
  const negated = reader.pattern[reader.at] === "^";
  if (negated) reader.at += 1;
  let members = "";
  while (reader.pattern[reader.at] !== "]") members += readClassMember(reader);
  expect(reader, "]");
  const choices = negated ? [...alphabet].filter((letter) => !members.includes(letter)).join("") : members;
  return reader.random.pick(letters(choices));
}

function readClassMember(reader: Reader): string {
  const first = readClassCharacter(reader);
  const isRange = reader.pattern[reader.at] === "-" && reader.pattern[reader.at + 1] !== "]";
  if (!isRange || first.length !== 1) return first;
  reader.at += 1;
  const last = readClassCharacter(reader);
  const [from, to] = [first.charCodeAt(0), last.charCodeAt(0)];
  return String.fromCharCode(...Array.from({ length: Math.max(0, to - from) + 1 }, (_, step) => from + step));
}

function readClassCharacter(reader: Reader): string {
  const character = take(reader);
  return character === "\\" ? readEscape(reader) : character;
}

/** Reads the escape after a backslash and returns the characters that it may stand for. */
function readEscape(reader: Reader): string {
  const character = take(reader);
  switch (character) {
    case "d":
      return digits;
    case "w":
      return `${lowercase}${digits}_`;
    case "s":
      return " ";
    case "D":
    case "S":
      return lowercase;
    case "W":
      return " -.";
    case "t":
      return "\t";
    case "n":
      return "\n";
    case "r":
      return "\r";
    case "b":
      return "";
    default:
      if (/[A-Za-z0-9]/.test(character)) throw new SyntaxError(`\\${character} is not supported`);
      return character;
  }
}

/** Reads a quantifier, if there is one, and returns how often the element before it should stand. */
function readQuantifier(reader: Reader): number {
  const found = /^(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/.exec(reader.pattern.slice(reader.at));
  if (found === null) return 1;
  reader.at += found[0].length;
  const [, sign, least = "", comma, most] = found;
  if (sign === "?") return reader.random.below(2);
  const minimum = sign === undefined ? Number(least) : sign === "+" ? 1 : 0;
  const open = sign !== undefined || (comma !== undefined && most === "");
  const maximum = open ? minimum + spareRepetitions : Number(comma === undefined ? least : most);
  return Math.min(minimum + reader.random.below(Math.max(0, maximum - minimum) + 1), maximumRepetitions);
}

function letters(text: string): readonly [string, ...string[]] {
  const [first, ...others] = text;
  return [first ?? "", ...others];
}

function take(reader: Reader): string {
  const character = reader.pattern[reader.at];
  if (character === undefined) throw new SyntaxError("unexpected end of the pattern");
  reader.at += 1;
  return character;
}

function expect(reader: Reader, character: string): void {
  if (take(reader) !== character) throw new SyntaxError(`${character} is missing`);
}
