import { type Frame, tooLarge } from "../grpc/frames.ts";
import type { FrameSource } from "../grpc/request.ts";

/** A body that is one message. */
export class WholeBody implements FrameSource {
  readonly #maxBytes: number;
  readonly #compressed: boolean;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(maxBytes: number, compressed: boolean) {
    this.#maxBytes = maxBytes;
    this.#compressed = compressed;
  }

  /** @throws ConnectError RESOURCE_EXHAUSTED as soon as the body is over the limit. */
  push(chunk: Buffer): void {
    this.#bytes += chunk.byteLength;
    if (this.#bytes > this.#maxBytes) throw tooLarge("more", this.#maxBytes);
    this.#chunks.push(chunk);
  }

  next(): undefined {}

  end(): Frame {
    return { compressed: this.#compressed, bytes: Buffer.concat(this.#chunks) };
  }
}
