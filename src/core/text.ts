/** Texts that grow by pieces, and texts that are shortened. */

/**
 * Memory of a piece of a concatenated text without its characters, in bytes: V8 keeps a tree of the pieces. Measured.
 */
const PIECE_BYTES = 32;

/** Memory of pieces that is not worth a copy of the text, in bytes. */
const FREE_BYTES = 4096;

/**
 * A text that grows by small pieces. V8 joins texts without copying them, so that an answer that arrives character by
 * character would take 32 times its size until it is read. Here the pieces take at most twice as much as the text.
 */
export class GrowingText {
  #value: string;
  #pieceBytes = 0;

  constructor(value = "") {
    this.#value = value;
  }

  get value(): string {
    return this.#value;
  }

  append(piece: string): void {
    this.#value += piece;
    this.#pieceBytes += PIECE_BYTES;
    if (this.#pieceBytes <= 2 * this.#value.length + FREE_BYTES) return;
    // Reading a character makes V8 join the pieces. It is used, since compiled code leaves out what nothing uses.
    this.#pieceBytes = Math.min(this.#value.charCodeAt(0), 1);
  }
}

/**
 * Shortens a text to at most `maxBytes` bytes of UTF-8, at a character boundary, with `…` at the end. Lone surrogates
 * become U+FFFD, so that the result can be encoded.
 * @param maxBytes At least 3, the size of the ellipsis.
 */
export function boundedText(text: string, maxBytes: number): string {
  // A code unit takes at least one byte, so a longer text is shortened in any case.
  const whole = text.slice(0, maxBytes + 1).toWellFormed();
  if (text.length <= maxBytes && Buffer.byteLength(whole) <= maxBytes) return whole;
  return `${takePrefix(whole, maxBytes - Buffer.byteLength(ELLIPSIS))}${ELLIPSIS}`;
}

const ELLIPSIS = "…";

function takePrefix(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}
