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
