/**
 * Takes the value out of the text of a wrapping object, `{"value": ...}`, while the text arrives. Text without the
 * wrapper, such as a refusal, stays as it is.
 */
export class WrappedText {
  readonly #opening: string;
  readonly #pattern: RegExp;
  #state: "before" | "gap" | "value" | "others" | "after" = "before";
  /** The text so far, until it is known whether it has the wrapper. */
  #held = "";
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** Number of characters that preceded the value, once it has begun. All are ASCII. */
  removedChars = 0;

  /** @param member Name of the member with the value, without characters that JSON escapes. */
  constructor(member: string) {
    this.#opening = `{"${member}":`;
    this.#pattern = new RegExp(`^[ \\t\\r\\n]*\\{[ \\t\\r\\n]*"${member}"[ \\t\\r\\n]*:`);
  }

  /** Takes the next piece of the text. Returns the next piece of the value, or of a text without the wrapper. */
  push(piece: string): string {
    if (this.#state === "before") return this.#begin(this.#held + piece);
    return this.#state === "after" ? piece : this.#readValue(piece);
  }

  /** Returns the rest at the end of the text. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return rest;
  }

  #begin(text: string): string {
    const begun = text.slice(0, MAX_OPENING_CHARS);
    const opening = this.#pattern.exec(begun)?.[0];
    const isOpen = opening === undefined && text.length <= MAX_OPENING_CHARS;
    if (isOpen && this.#opening.startsWith(begun.replace(/[ \t\r\n]+/g, ""))) {
      this.#held = text;
      return "";
    }
    this.#held = "";
    this.#state = opening === undefined ? "after" : "gap";
    if (opening === undefined) return text;
    this.removedChars = opening.length;
    return this.#readValue(text.slice(opening.length));
  }

  #readValue(piece: string): string {
    if (this.#state !== "gap") return this.#scan(piece);
    const value = piece.replace(/^[ \t\r\n]+/, "");
    this.removedChars += piece.length - value.length;
    if (value !== "") this.#state = "value";
    return this.#scan(value);
  }

  /** Finds the end of the value: a comma or the closing brace outside the value. Other members are left out. */
  #scan(piece: string): string {
    let end = this.#state === "value" ? piece.length : 0;
    for (let at = 0; at < piece.length; at += 1) {
      const code = piece.charCodeAt(at);
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === BACKSLASH) this.#isEscaped = true;
        else if (code === QUOTE) this.#inString = false;
      } else if (code === QUOTE) this.#inString = true;
      else if (code === LEFT_BRACE || code === LEFT_BRACKET) this.#depth += 1;
      else if (this.#depth > 0) this.#depth -= code === RIGHT_BRACE || code === RIGHT_BRACKET ? 1 : 0;
      else if (code === COMMA && this.#state === "value") {
        this.#state = "others";
        end = at;
      } else if (code === RIGHT_BRACE) {
        if (this.#state === "value") end = at;
        this.#state = "after";
        return piece.slice(0, end) + piece.slice(at + 1);
      }
    }
    return piece.slice(0, end);
  }
}

/** Maximum length of the text before the value. */
const MAX_OPENING_CHARS = 256;

const QUOTE = 0x22;
const COMMA = 0x2c;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;
