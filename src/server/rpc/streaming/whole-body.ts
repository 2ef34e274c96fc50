import { GrowingBuffer } from "../../requests/growing-buffer.ts";
import { tooLarge } from "../../requests/refusals.ts";
import { COMPRESSED, type Frame } from "../grpc/frames.ts";
import type { FrameSource } from "../grpc/request.ts";

/** A body with a single message. */
export class WholeBody implements FrameSource {
  readonly #maxBytes: number;
  readonly #compressed: boolean;
  readonly #body = new GrowingBuffer();

  constructor(maxBytes: number, compressed: boolean) {
    this.#maxBytes = maxBytes;
    this.#compressed = compressed;
  }

  get isEmpty(): boolean {
    return this.#body.length === 0;
  }

  /** @throws ConnectError RESOURCE_EXHAUSTED as soon as the body is over the limit. */
  push(chunk: Buffer): void {
    if (this.#body.length + chunk.byteLength > this.#maxBytes) throw tooLarge("more", this.#maxBytes);
    this.#body.append(chunk);
  }

  next(): undefined {}

  end(): Frame {
    return { flags: this.#compressed ? COMPRESSED : 0, bytes: this.#body.take() };
  }

  discard(): void {
    this.#body.take();
  }
}
