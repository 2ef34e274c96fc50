import { unexpectedCharacter } from "./json-syntax-error.ts";

/** The part of a number that was read last. */
type Part =
  | "nothing"
  | "sign"
  | "zero"
  | "integer"
  | "point"
  | "fraction"
  | "exponent"
  | "exponentSign"
  | "power";

const KINDS = ["0", "-", "+", ".", "e"] as const;

/** The kinds of characters in numbers; `digit` covers 1 to 9. */
type Kind = (typeof KINDS)[number] | "digit";

/** The grammar of numbers (RFC 8259, section 6): the kinds that may follow each part. */
const FOLLOWING: Record<Part, Partial<Record<Kind, Part>>> = {
  nothing: { "-": "sign", "0": "zero", digit: "integer" },
  sign: { "0": "zero", digit: "integer" },
  zero: { ".": "point", e: "exponent" },
  integer: { "0": "integer", digit: "integer", ".": "point", e: "exponent" },
  point: { "0": "fraction", digit: "fraction" },
  fraction: { "0": "fraction", digit: "fraction", e: "exponent" },
  exponent: { "0": "power", digit: "power", "-": "exponentSign", "+": "exponentSign" },
  exponentSign: { "0": "power", digit: "power" },
  power: { "0": "power", digit: "power" },
};

/** Parts that may end a number. */
const LAST: ReadonlySet<Part> = new Set(["zero", "integer", "fraction", "power"]);

/**
 * Reads JSON numbers that arrive in pieces, one after another. Only the next character shows that a number is finished.
 */
export class NumberReader {
  #text = "";
  #part: Part = "nothing";

  /** The number; undefined if it cannot end here. */
  get value(): number | undefined {
    return LAST.has(this.#part) ? Number(this.#text) : undefined;
  }

  /** Begins a number, before its first character. */
  start(): void {
    this.#text = "";
    this.#part = "nothing";
  }

  /**
   * Reads from an index to the end of the number or of the piece.
   * @returns The index after the characters that were read.
   * @throws JsonSyntaxError with its position in the piece.
   */
  read(piece: string, start: number): number {
    let at = start;
    for (; at < piece.length; at += 1) {
      const kind = getKind(piece.charAt(at));
      const next = kind && FOLLOWING[this.#part][kind];
      if (next === undefined) break;
      this.#part = next;
    }
    this.#text += piece.slice(start, at);
    if (at < piece.length && !LAST.has(this.#part)) throw unexpectedCharacter(piece, at, "a digit");
    return at;
  }
}

function getKind(character: string): Kind | undefined {
  if (character >= "1" && character <= "9") return "digit";
  return KINDS.find((kind) => kind === character.toLowerCase());
}

/** The words of JSON and their values, by first letter. */
const WORDS = {
  t: { word: "true", value: true },
  f: { word: "false", value: false },
  n: { word: "null", value: null },
} as const;

/** Reads `true`, `false` and `null` that arrive in pieces, one after another. */
export class WordReader {
  #expected: (typeof WORDS)[keyof typeof WORDS] = WORDS.n;
  #length = 0;

  /** The value of the word. */
  get value(): boolean | null {
    return this.#expected.value;
  }

  /** Whether the whole word was read. */
  get isClosed(): boolean {
    return this.#length === this.#expected.word.length;
  }

  /** Begins a word, before its first letter. Returns whether a word begins with this letter. */
  start(letter: string): boolean {
    if (letter !== "t" && letter !== "f" && letter !== "n") return false;
    this.#expected = WORDS[letter];
    this.#length = 0;
    return true;
  }

  /**
   * Reads from an index to the end of the word or of the piece.
   * @returns The index after the characters that were read.
   * @throws JsonSyntaxError with its position in the piece.
   */
  read(piece: string, start: number): number {
    const { word } = this.#expected;
    let at = start;
    for (; at < piece.length && !this.isClosed; at += 1) {
      if (piece[at] !== word[this.#length]) throw unexpectedCharacter(piece, at, word);
      this.#length += 1;
    }
    return at;
  }
}
