import type { ParseResult } from "../../core/parse-json.ts";
import { type JsonValue, MAX_JSON_LEVELS } from "./json.ts";
import { JsonSyntaxError, unexpectedCharacter } from "./json-syntax-error.ts";
import { JsonTree } from "./json-tree.ts";
import { NumberReader, WordReader } from "./scalar-reader.ts";
import { StringReader } from "./string-reader.ts";

/** Options of a parser. */
export interface PartialJsonOptions {
  /**
   * Finds the value in other text, since models write such text if no provider enforces JSON: a Markdown fence, a
   * sentence before the value, remarks after it. Everything before the first `{` is skipped (with `value`, before the
   * first `{` or `[`), and so is everything after the closed value. By default the text is JSON and nothing else.
   */
  readonly embedded?: "object" | "value" | undefined;
}

/** The next thing to read, or the one that is being read. */
type State =
  | "prose"
  | "value"
  | "firstItem"
  | "firstKey"
  | "key"
  | "colon"
  | "separator"
  | "end"
  | "string"
  | "keyText"
  | "number"
  | "word";

const EXPECTED: Record<State, string> = {
  prose: "the opening bracket of a JSON value",
  value: "a JSON value",
  firstItem: 'a JSON value or "]"',
  firstKey: 'a key or "}"',
  key: "a key",
  colon: 'a ":"',
  separator: 'a "," or a closing bracket',
  end: "nothing after the JSON value",
  string: "the end of a string",
  keyText: "the end of a key",
  number: "the end of a number",
  word: "the end of true, false or null",
};

/**
 * Parses JSON text as it arrives, in time linear in its length: each character is read once.
 *
 * The value so far is always valid JSON data, and it only grows: strings as they arrive; lists and objects from their
 * opening bracket; numbers, `true`, `false` and `null` when they are finished; a key when its value begins. If a key
 * comes twice, the later value replaces the earlier one, as in JSON.parse. Text that is not JSON stops the growth, and
 * `end` names the position. Values nest at most 256 levels deep; the caller has to limit the length of the text.
 */
export class PartialJsonParser {
  readonly #tree = new JsonTree();
  readonly #string = new StringReader();
  readonly #number = new NumberReader();
  readonly #word = new WordReader();
  readonly #embedded: PartialJsonOptions["embedded"];
  #state: State;
  /** Number of characters of the open string that the tree has. */
  #shown = 0;
  /** Length of the text before this piece. */
  #length = 0;
  #failure: JsonSyntaxError | undefined;

  constructor({ embedded }: PartialJsonOptions = {}) {
    this.#embedded = embedded;
    this.#state = embedded === undefined ? "value" : "prose";
  }

  /** The value so far; undefined before there is one. It grows in place: do not change it. */
  get value(): JsonValue | undefined {
    return this.#tree.root;
  }

  /**
   * Returns the value so far in a form that later pieces do not change. The cost is proportional to the members of the
   * open lists and objects; closed ones are shared by all snapshots, so do not change them.
   */
  snapshot(): JsonValue | undefined {
    return this.#tree.snapshot();
  }

  /**
   * Takes the next piece of the text.
   * @returns Whether the value changed.
   */
  push(piece: string): boolean {
    if (this.#failure !== undefined) return false;
    const { version } = this.#tree;
    try {
      for (let at = 0; at < piece.length; ) at = this.#read(piece, at);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      this.#failure = new JsonSyntaxError(error.expected, error.found, this.#length + error.position);
    }
    if (this.#state === "string") this.#showString();
    this.#length += piece.length;
    return this.#tree.version !== version;
  }

  /** Ends the text. Returns the whole value, as JSON.parse does, or the syntax error of the text. */
  end(): ParseResult<JsonValue, JsonSyntaxError> {
    if (this.#state === "number" && this.#tree.depth === 0) this.#addNumber();
    const { root } = this.#tree;
    if (this.#failure === undefined && this.#state === "end" && root !== undefined)
      return { ok: true, value: root };
    const end = "the end of the text";
    const incomplete = new JsonSyntaxError(EXPECTED[this.#state], end, this.#length, true);
    return { ok: false, error: this.#failure ?? incomplete };
  }

  /** Reads one token, or the part that has arrived. Returns the index after it. */
  #read(piece: string, at: number): number {
    switch (this.#state) {
      case "prose":
        return this.#skipProse(piece);
      case "string":
      case "keyText":
        return this.#readString(piece, at);
      case "number":
        return this.#readNumber(piece, at);
      case "word":
        return this.#readWord(piece, at);
      default:
        return isSpace(piece.charCodeAt(at)) ? at + 1 : this.#readMark(piece, at);
    }
  }

  #readMark(piece: string, at: number): number {
    const mark = piece[at];
    const isInList = this.#tree.isInList;
    switch (this.#state) {
      case "value":
        return this.#startValue(piece, at);
      case "firstItem":
        return mark === "]" ? this.#close(at) : this.#startValue(piece, at);
      case "key":
        return this.#startKey(piece, at);
      case "firstKey":
        return mark === "}" ? this.#close(at) : this.#startKey(piece, at);
      case "colon":
        if (mark === ":") return this.#next("value", at);
        break;
      case "separator":
        if (mark === (isInList ? "]" : "}")) return this.#close(at);
        if (mark === ",") return this.#next(isInList ? "value" : "key", at);
        break;
      case "end":
        if (this.#embedded !== undefined) return piece.length;
    }
    throw unexpectedCharacter(piece, at, EXPECTED[this.#state]);
  }

  #startKey(piece: string, at: number): number {
    if (piece[at] !== '"') throw unexpectedCharacter(piece, at, EXPECTED[this.#state]);
    this.#string.start();
    return this.#next("keyText", at);
  }

  #startValue(piece: string, at: number): number {
    const first = piece.charAt(at);
    if (first === "{") return this.#open({}, "firstKey", piece, at);
    if (first === "[") return this.#open([], "firstItem", piece, at);
    if (first === '"') return this.#startString(at);
    if (this.#word.start(first)) {
      this.#state = "word";
    } else if (first === "-" || (first >= "0" && first <= "9")) {
      this.#number.start();
      this.#state = "number";
    } else {
      throw unexpectedCharacter(piece, at, EXPECTED[this.#state]);
    }
    return at;
  }

  #startString(at: number): number {
    this.#tree.add("");
    this.#string.start();
    this.#shown = 0;
    return this.#next("string", at);
  }

  #open(container: JsonValue[] | Record<string, JsonValue>, state: State, piece: string, at: number): number {
    if (this.#tree.depth === MAX_JSON_LEVELS)
      throw unexpectedCharacter(piece, at, `at most ${MAX_JSON_LEVELS} levels of JSON`);
    this.#tree.open(container);
    return this.#next(state, at);
  }

  #close(at: number): number {
    this.#tree.close();
    this.#finishValue();
    return at + 1;
  }

  #readString(piece: string, start: number): number {
    const at = this.#string.read(piece, start);
    if (!this.#string.isClosed) return at;
    if (this.#state === "keyText") {
      this.#tree.setKey(this.#string.text);
      this.#state = "colon";
    } else {
      this.#showString();
      this.#finishValue();
    }
    return at;
  }

  #showString(): void {
    const { text } = this.#string;
    if (text.length > this.#shown) this.#tree.replace(text);
    this.#shown = text.length;
  }

  #readNumber(piece: string, start: number): number {
    const at = this.#number.read(piece, start);
    if (at < piece.length) this.#addNumber();
    return at;
  }

  #addNumber(): void {
    const { value } = this.#number;
    if (value === undefined) return;
    this.#tree.add(value);
    this.#finishValue();
  }

  #readWord(piece: string, start: number): number {
    const at = this.#word.read(piece, start);
    if (this.#word.isClosed) {
      this.#tree.add(this.#word.value);
      this.#finishValue();
    }
    return at;
  }

  /** Skips prose from the beginning of a piece: nothing comes before it. */
  #skipProse(piece: string): number {
    const at = piece.search(this.#embedded === "object" ? /\{/ : /[{[]/);
    if (at < 0) return piece.length;
    this.#state = "value";
    return at;
  }

  #finishValue(): void {
    this.#state = this.#tree.depth === 0 ? "end" : "separator";
  }

  #next(state: State, at: number): number {
    this.#state = state;
    return at + 1;
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
