import type { IncomingHttpHeaders } from "node:http";

/** Finds the end of a request's body in the bytes of its connection. */
export interface BodyLength {
  /** Returns how many of the next bytes belong to the body, at most their number. */
  take(bytes: Uint8Array): number;
}

/** Finds the end of the body that the headers of an HTTP/1.1 request announce. Node's parser checks the framing. */
export function createBodyLength(headers: IncomingHttpHeaders): BodyLength {
  if (headers["transfer-encoding"] !== undefined) return new ChunkedBody();
  return new CountedBody(Number(headers["content-length"] ?? 0));
}

class CountedBody implements BodyLength {
  #left: number;

  constructor(length: number) {
    this.#left = length;
  }

  take({ length }: Uint8Array): number {
    const taken = Math.min(length, this.#left);
    this.#left -= taken;
    return taken;
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** RFC 9112 §7.1: chunks with their sizes, a chunk of size 0, and trailer lines up to an empty one. */
class ChunkedBody implements BodyLength {
  /** Bytes of the current chunk that are still to come, its line break included. */
  #left = 0;
  #size = 0;
  #isSize = true;
  #lineLength = 0;
  #isTrailer = false;
  #isOver = false;

  take(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && !this.#isOver) {
      const skipped = Math.min(this.#left, bytes.length - at);
      this.#left -= skipped;
      at += skipped;
      if (at < bytes.length) this.#readLine(bytes[at++] ?? LF);
    }
    return at;
  }

  #readLine(byte: number): void {
    if (byte === LF) return this.#endLine();
    if (byte === CR) return;
    const digit = Number.parseInt(String.fromCharCode(byte), 16);
    // A chunk extension follows the digits.
    if (Number.isNaN(digit)) this.#isSize = false;
    else if (this.#isSize) this.#size = this.#size * 16 + digit;
    this.#lineLength += 1;
  }

  #endLine(): void {
    if (this.#isTrailer) this.#isOver = this.#lineLength === 0;
    else if (this.#size === 0) this.#isTrailer = true;
    else this.#left = this.#size + 2;
    this.#size = 0;
    this.#isSize = true;
    this.#lineLength = 0;
  }
}
