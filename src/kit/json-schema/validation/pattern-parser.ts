/** The structure of a regular expression (ECMA-262) whose syntax was checked before. */

/** A regular expression, or a part of one. */
export type Expression =
  | { readonly kind: "character"; readonly source: string }
  | { readonly kind: "boundary"; readonly source: "^" | "$" | "\\b" | "\\B" }
  | { readonly kind: "sequence"; readonly parts: readonly Expression[] }
  | { readonly kind: "choice"; readonly options: readonly Expression[] }
  | { readonly kind: "repeat"; readonly part: Expression; readonly least: number; readonly most: number }
  | { readonly kind: "lookahead"; readonly part: Expression; readonly isNegative: boolean };

/** A regular expression that cannot be matched in linear time, or one that is too large. */
export class UnsupportedPatternError extends Error {}

const MAX_GROUPS = 50;

const QUANTIFIER = /(?:[*+?]|\{(\d+)(,(\d*))?\})\??/y;
const GROUP = /\((?:\?(?::|=|!|<[^>=!]+>))?/y;
const CLASS = /\[(?:[^\]\\]|\\.)*\]/suy;
const ESCAPE =
  /\\(?:u\{[0-9a-fA-F]+\}|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|[pP]\{[^}]*\}|.)/suy;
const ESCAPE_OF_UNITS = /\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|.)/sy;

/** Reads one regular expression. */
export class PatternParser {
  readonly #source: string;
  readonly #isUnicode: boolean;
  #at = 0;
  #groups = 0;

  /**
   * @param isUnicode Whether the expression has the flag `u`, so that it matches characters instead of UTF-16 units.
   */
  constructor(source: string, isUnicode: boolean) {
    this.#source = source;
    this.#isUnicode = isUnicode;
  }

  /**
   * Reads the whole expression.
   * @throws UnsupportedPatternError for back-references, lookbehind, flags of groups, and too many groups.
   */
  parse(): Expression {
    const expression = this.#choice();
    if (this.#at < this.#source.length) throw new UnsupportedPatternError();
    return expression;
  }

  #choice(): Expression {
    const options = [this.#sequence()];
    while (this.#take("|")) options.push(this.#sequence());
    const [only] = options;
    return options.length === 1 && only !== undefined ? only : { kind: "choice", options };
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    while (this.#at < this.#source.length && !"|)".includes(this.#source.charAt(this.#at))) {
      parts.push(this.#quantified(this.#atom()));
    }
    return { kind: "sequence", parts };
  }

  #quantified(part: Expression): Expression {
    const quantifier = this.#match(QUANTIFIER);
    if (quantifier === undefined) return part;
    const [text, from, range, to] = quantifier;
    const first = text.charAt(0);
    if (first === "*") return { kind: "repeat", part, least: 0, most: Infinity };
    if (first === "+") return { kind: "repeat", part, least: 1, most: Infinity };
    if (first === "?") return { kind: "repeat", part, least: 0, most: 1 };
    const least = Number(from);
    const highest = to === "" ? Infinity : Number(to);
    return { kind: "repeat", part, least, most: range === undefined ? least : highest };
  }

  #atom(): Expression {
    switch (this.#source.charAt(this.#at)) {
      case "(":
        return this.#group();
      case "[":
        return { kind: "character", source: this.#need(CLASS) };
      case "\\":
        return this.#escape();
      case "^":
      case "$":
        return { kind: "boundary", source: this.#take("^") ? "^" : this.#needText("$") };
      default:
        return this.#literal();
    }
  }

  #literal(): Expression {
    const code = this.#isUnicode ? this.#source.codePointAt(this.#at) : this.#source.charCodeAt(this.#at);
    const character = String.fromCodePoint(code ?? 0);
    this.#at += character.length;
    // Without the flag `u`, a bracket that opens nothing stands for itself.
    return { kind: "character", source: /[{}\]]/.test(character) ? `\\${character}` : character };
  }

  #escape(): Expression {
    const source = this.#need(this.#isUnicode ? ESCAPE : ESCAPE_OF_UNITS);
    if (source === "\\b" || source === "\\B") return { kind: "boundary", source };
    // A digit refers to a group or is octal. Letters without a meaning here have one in other languages: `\A`.
    if (/^\\(?![bBdDfnrsStvwW])[1-9a-zA-Z]$/.test(source)) throw new UnsupportedPatternError();
    if (source === "\\0" && /\d/.test(this.#source.charAt(this.#at))) throw new UnsupportedPatternError();
    return { kind: "character", source };
  }

  #group(): Expression {
    const opening = this.#need(GROUP);
    this.#groups += 1;
    if (this.#groups > MAX_GROUPS || this.#source.charAt(this.#at) === "?")
      throw new UnsupportedPatternError();
    const part = this.#choice();
    this.#needText(")");
    this.#groups -= 1;
    if (opening !== "(?=" && opening !== "(?!") return part;
    return { kind: "lookahead", part, isNegative: opening === "(?!" };
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#source) ?? undefined;
    this.#at += match?.[0].length ?? 0;
    return match;
  }

  #need(pattern: RegExp): string {
    const match = this.#match(pattern);
    if (match === undefined) throw new UnsupportedPatternError();
    return match[0];
  }

  #take(text: string): boolean {
    const isNext = this.#source.startsWith(text, this.#at);
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #needText<Text extends string>(text: Text): Text {
    if (!this.#take(text)) throw new UnsupportedPatternError();
    return text;
  }
}
