import { unexpectedCharacter } from "./json-syntax-error.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const HEX_DIGITS = 4;

/** The meaning of a backslash and a character. */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
]);

/** The state of a reader: between characters, after a backslash, or in the digits of a Unicode escape. */
type State = "plain" | "escape" | "hex";

/** Reads JSON strings that arrive in pieces, one after another. */
export class StringReader {
  #text = "";
  /** A surrogate that may be the first half of a pair. It becomes part of the text together with the next character. */
  #half = "";
  #state: State = "plain";
  #hex = "";
  #isClosed = false;

  /** The string so far, without half an escape and half a surrogate pair. */
  get text(): string {
    return this.#text;
  }

  /** Whether the closing quote was read. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Begins a string, after its opening quote. */
  start(): void {
    this.#text = "";
    this.#state = "plain";
    this.#isClosed = false;
  }

  /**
   * Reads from an index to the closing quote or the end of the piece.
   * @returns The index after the characters that were read.
   * @throws JsonSyntaxError with its position in the piece. The text then has everything before that position.
   */
  read(piece: string, start: number): number {
    let at = start;
    while (at < piece.length && !this.#isClosed) {
      if (this.#state === "plain") at = this.#readPlain(piece, at);
      else if (this.#state === "escape") at = this.#readEscape(piece, at);
      else at = this.#readHex(piece, at);
    }
    return at;
  }

  #readPlain(piece: string, start: number): number {
    let at = start;
    let code = piece.charCodeAt(at);
    while (at < piece.length && code !== QUOTE && code !== BACKSLASH && code >= SPACE) {
      at += 1;
      code = piece.charCodeAt(at);
    }
    if (at > start) this.#append(piece.slice(start, at));
    if (at === piece.length) return at;
    if (code < SPACE) throw unexpectedCharacter(piece, at, "no control character in a string");
    if (code === QUOTE) this.#close();
    else this.#state = "escape";
    return at + 1;
  }

  #readEscape(piece: string, at: number): number {
    const letter = piece.charAt(at);
    const character = ESCAPES.get(letter);
    if (letter === "u") {
      this.#state = "hex";
      this.#hex = "";
    } else if (character === undefined) {
      throw unexpectedCharacter(piece, at, "an escape sequence of JSON");
    } else {
      this.#state = "plain";
      this.#append(character);
    }
    return at + 1;
  }

  #readHex(piece: string, at: number): number {
    const digit = piece.charAt(at);
    if (!/[0-9a-fA-F]/.test(digit)) throw unexpectedCharacter(piece, at, "a hexadecimal digit");
    this.#hex += digit;
    if (this.#hex.length === HEX_DIGITS) {
      this.#state = "plain";
      this.#append(String.fromCharCode(Number.parseInt(this.#hex, 16)));
    }
    return at + 1;
  }

  #append(text: string): void {
    const whole = this.#half + text;
    const endsInHalf = isHighSurrogate(whole.charCodeAt(whole.length - 1));
    this.#half = endsInHalf ? whole.slice(-1) : "";
    this.#text += endsInHalf ? whole.slice(0, -1) : whole;
  }

  #close(): void {
    this.#text += this.#half;
    this.#half = "";
    this.#isClosed = true;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
