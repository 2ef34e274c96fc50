import { tooManyElements } from "./refusals.ts";

/**
 * Counts the values of a JSON text, and the values of the JSON texts that the contract's fields in it hold, without
 * parsing: each costs an object or a value, however few bytes it has. The count of a text that is not JSON means
 * nothing; the parser rejects it.
 * @param json In UTF-8.
 * @param max Stops counting above this number.
 * @param isJsonText Whether the field of a key, given by the position of its name in the JSON, holds JSON text.
 *   Default: the rule of the contract.
 * @throws ConnectError RESOURCE_EXHAUSTED over `max`.
 */
export function countJsonElements(json: Uint8Array, max: number, isJsonText: IsJsonText = isJsonKey): number {
  return new JsonElementCounter(json, max, isJsonText).count();
}

/** Whether the field of a key holds JSON text. */
export type IsJsonText = (json: Uint8Array, start: number, end: number) => boolean;

const ARGUMENTS = Buffer.from("arguments");

/** Reports whether a key names a field of OpenAI's APIs that holds JSON text: the arguments of calls. */
export function isArgumentsKey(json: Uint8Array, start: number, end: number): boolean {
  if (hasEscape(json, start, Math.min(end, start + MAX_KEY_BYTES))) return true;
  return end - start === ARGUMENTS.length && ARGUMENTS.equals(json.subarray(start, end));
}

class JsonElementCounter {
  readonly #json: Uint8Array;
  readonly #max: number;
  readonly #holdsJsonText: IsJsonText;
  #elements = 0;
  #depth = 0;
  /** Whether a text at the current position is JSON text. */
  #isJsonText = false;
  /** Depth inside the list or map whose texts are all JSON texts. */
  #jsonDepth = Number.POSITIVE_INFINITY;

  constructor(json: Uint8Array, max: number, holdsJsonText: IsJsonText) {
    this.#json = json;
    this.#max = max;
    this.#holdsJsonText = holdsJsonText;
  }

  count(): number {
    const json = this.#json;
    for (let position = 0; position < json.length; position++) {
      switch (json[position]) {
        case QUOTE:
          position = this.#passText(position + 1);
          break;
        case COMMA:
          this.#add(1);
          break;
        case OPENING_BRACE:
        case OPENING_BRACKET:
          this.#open();
          break;
        case CLOSING_BRACE:
        case CLOSING_BRACKET:
          this.#close();
          break;
      }
    }
    return this.#elements;
  }

  #open(): void {
    this.#add(1);
    this.#depth += 1;
    if (this.#isJsonText) this.#jsonDepth = Math.min(this.#jsonDepth, this.#depth);
  }

  #close(): void {
    this.#depth -= 1;
    if (this.#depth >= this.#jsonDepth) return;
    this.#jsonDepth = Number.POSITIVE_INFINITY;
    this.#isJsonText = false;
  }

  /** Skips a key or a text. Returns the position of its end. */
  #passText(start: number): number {
    const json = this.#json;
    const end = findTextEnd(json, start);
    if (!isFollowedByColon(json, end)) {
      if (this.#isJsonText) this.#add(countInText(json, start, end));
    } else if (this.#depth < this.#jsonDepth) {
      this.#isJsonText = this.#holdsJsonText(json, start, end);
    }
    return end;
  }

  #add(elements: number): void {
    this.#elements += elements;
    if (this.#elements > this.#max) throw tooManyElements(this.#max);
  }
}

function isFollowedByColon(json: Uint8Array, end: number): boolean {
  for (let position = end + 1; ; position += 1) {
    const byte = json[position];
    const isSpace = byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    if (!isSpace) return byte === COLON;
  }
}

/** Longest name of a field, in bytes, including the growth by escapes. */
const MAX_KEY_BYTES = 6 * 64;

/**
 * Reports whether a key names a field that holds JSON text: its name ends in `_json`, or `Json` in the spelling of
 * JSON. A name with escapes counts as such a name, because no ordinary client escapes the characters of a field name.
 */
function isJsonKey(json: Uint8Array, start: number, end: number): boolean {
  if (end - start > MAX_KEY_BYTES) return false;
  const isJson =
    json[end - 1] === SMALL_N &&
    json[end - 2] === SMALL_O &&
    json[end - 3] === SMALL_S &&
    (json[end - 4] === LARGE_J || (json[end - 4] === SMALL_J && json[end - 5] === UNDERSCORE));
  return isJson || hasEscape(json, start, end);
}

function hasEscape(json: Uint8Array, start: number, end: number): boolean {
  for (let position = start; position < end; position++) {
    if (json[position] !== BACKSLASH) continue;
    if (json[position + 1] === SMALL_U) return true;
    // Skip the escaped character: in `\\u` it is a backslash, which begins no escape.
    position += 1;
  }
  return false;
}

/**
 * Counts the values of a JSON text that is a string in another JSON text, so its quotes and some of its characters are
 * escaped.
 */
function countInText(json: Uint8Array, start: number, end: number): number {
  let elements = 0;
  for (let position = start; position < end; position++) {
    switch (json[position]) {
      case COMMA:
      case OPENING_BRACE:
      case OPENING_BRACKET:
        elements += 1;
        break;
      case BACKSLASH:
        if (isEscapedOpening(json, position)) elements += 1;
        position += 1;
        break;
    }
  }
  return elements;
}

/**
 * Reports whether an escape stands for a comma, brace or bracket: `\u002c`, `\u007b`, `\u005b`; true also for a few
 * others.
 */
function isEscapedOpening(json: Uint8Array, backslash: number): boolean {
  if (json[backslash + 1] !== SMALL_U || json[backslash + 2] !== ZERO || json[backslash + 3] !== ZERO)
    return false;
  const high = json[backslash + 4];
  const low = (json[backslash + 5] ?? 0) | LOWER_CASE;
  return (high === 0x32 || high === 0x35 || high === 0x37) && (low === 0x62 || low === 0x63);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACE = 0x7d;
const CLOSING_BRACKET = 0x5d;
const COLON = 0x3a;
const ZERO = 0x30;
const SMALL_J = 0x6a;
const SMALL_N = 0x6e;
const SMALL_O = 0x6f;
const SMALL_S = 0x73;
const SMALL_U = 0x75;
const LARGE_J = 0x4a;
const UNDERSCORE = 0x5f;
const LOWER_CASE = 0x20;
const BACKSLASH = 0x5c;

/** Bytes up to which a loop is faster than a call into Node. */
const LOOPED_BYTES = 32;

/** Returns the position of the quote that ends a text, or the end of the JSON. */
function findTextEnd(json: Uint8Array, start: number): number {
  const loopEnd = Math.min(start + LOOPED_BYTES, json.length);
  for (let position = start; position < loopEnd; position++) {
    if (json[position] === BACKSLASH) position += 1;
    else if (json[position] === QUOTE) return position;
    if (position >= loopEnd - 1) return searchEnd(json, position + 1);
  }
  return json.length;
}

/**
 * Does the same for a long text, by searching from quote to quote. `start` does not follow a backslash that escapes it.
 */
function searchEnd(json: Uint8Array, start: number): number {
  for (let from = start; ; ) {
    const quote = json.indexOf(QUOTE, from);
    if (quote < 0) return json.length;
    let backslashes = 0;
    while (quote - backslashes > from && json[quote - backslashes - 1] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}
