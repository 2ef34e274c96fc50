import { tooManyElements } from "./refusals.ts";

/**
 * Counts the values of a JSON text without parsing it: each costs an object or a value, however few bytes it has. Texts
 * that are no JSON are counted somehow; the parser rejects them.
 * @param json In UTF-8.
 * @param max At most so many are counted.
 * @throws ConnectError RESOURCE_EXHAUSTED over `max`.
 */
export function countJsonElements(json: Uint8Array, max: number): number {
  let elements = 0;
  for (let position = 0; position < json.length; position++) {
    switch (json[position]) {
      case QUOTE:
        position = endOfText(json, position + 1);
        break;
      case COMMA:
      case OPENING_BRACE:
      case OPENING_BRACKET:
        elements += 1;
        if (elements > max) throw tooManyElements(max);
        break;
    }
  }
  return elements;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACE = 0x7b;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;

/** Bytes up to which a loop is faster than a call into Node. */
const LOOPED_BYTES = 32;

/** Position of the quote that ends a text, or the end of the JSON. */
function endOfText(json: Uint8Array, start: number): number {
  const loopEnd = Math.min(start + LOOPED_BYTES, json.length);
  for (let position = start; position < loopEnd; position++) {
    if (json[position] === BACKSLASH) position += 1;
    else if (json[position] === QUOTE) return position;
    if (position >= loopEnd - 1) return searchEnd(json, position + 1);
  }
  return json.length;
}

/** The same for a long text: from quote to quote. `start` does not follow a backslash that escapes it. */
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
