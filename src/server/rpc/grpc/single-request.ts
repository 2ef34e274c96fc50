import type { Readable } from "node:stream";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Arrival } from "../../requests/arrival-watch.ts";
import type { Frame } from "./frames.ts";
import { decodeFrame, type RequestOptions } from "./request.ts";

/**
 * The request of a method that takes one message. It is read to its end before the message is decoded: the client has
 * no reason to delay the end.
 */
export class SingleRequest implements Arrival {
  readonly #options: RequestOptions;
  readonly #arrival = Promise.withResolvers<Frame>();
  #frame: Frame | undefined;
  /** Memory taken for bytes that are not decoded yet. */
  #bufferedBytes = 0;
  /** Whether the request has ended or failed. */
  #isOver = false;

  constructor(stream: Readable, options: RequestOptions) {
    this.#options = options;
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    stream.on("end", () => this.#end());
    options.intake.arrivals.begin(this);
  }

  /**
   * Returns the message. Must be called once, before anything arrives.
   * @throws ConnectError UNIMPLEMENTED if there is no message or more than one, since the client then has another
   *   signature of the method; other codes for a message that is too large, truncated, not decompressible or does not
   *   parse. Also throws the reason of `fail`.
   */
  async read(): Promise<Message> {
    const frame = await this.#arrival.promise;
    const decoded = decodeFrame(frame, this.#options);
    return decoded instanceof Promise ? (await decoded).message : decoded.message;
  }

  /** Ends the reading with an error, unless the request has arrived. What the client still sends is discarded. */
  fail(reason: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { intake, frames, share } = this.#options;
    intake.arrivals.end(this);
    frames.discard();
    share.give(this.#bufferedBytes);
    this.#frame = undefined;
    this.#arrival.reject(reason);
  }

  #take(chunk: Buffer): void {
    if (this.#isOver) return;
    const { frames, share, intake } = this.#options;
    try {
      share.take(chunk.byteLength);
      this.#bufferedBytes += chunk.byteLength;
      frames.push(chunk);
      for (let frame = frames.next(); frame; frame = frames.next()) {
        if (this.#frame !== undefined) throw createWrongCount("more");
        this.#frame = frame;
      }
    } catch (error) {
      return this.fail(error);
    }
    intake.arrivals.touch(this);
  }

  #end(): void {
    if (this.#isOver) return;
    const { frames, intake } = this.#options;
    try {
      const last = frames.end();
      const frame = this.#frame ?? last;
      if (frame === undefined) throw createWrongCount("none");
      if (frame !== last && last !== undefined) throw createWrongCount("more");
      this.#arrival.resolve(frame);
    } catch (error) {
      return this.fail(error);
    }
    this.#isOver = true;
    intake.arrivals.end(this);
  }
}

function createWrongCount(found: "none" | "more"): ConnectError {
  return new ConnectError(`the method takes one message, found ${found}`, Code.Unimplemented);
}
