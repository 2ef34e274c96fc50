/** The request side of a call: reads the bytes of a body as messages. */
import type { Readable } from "node:stream";
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Arrival } from "../../requests/arrival-watch.ts";
import type { Codec } from "../../requests/codec.ts";
import { type Compression, decompress } from "../../requests/decompress.ts";
import type { Intake } from "../../requests/intake.ts";
import type { CallMemory } from "../../requests/request-memory.ts";
import { COMPRESSED, FRAME_HEADER_BYTES, type Frame } from "./frames.ts";

/** Calls back at the end of a body, which may have come already if it is empty and its call had to wait. */
function onEnd(body: Readable, callback: () => void): void {
  if (body.readableEnded) queueMicrotask(callback);
  else body.on("end", callback);
}

/** Finds the messages in the bytes of a body. Its methods throw a ConnectError if the body is malformed. */
export interface FrameSource {
  /** Whether no incomplete frame is buffered. */
  readonly isEmpty: boolean;
  /** Adds the next bytes. Call `next` afterwards until it returns undefined. */
  push(chunk: Buffer): void;
  /** Returns the next whole frame; undefined while it is not complete. */
  next(): Frame | undefined;
  /** Handles the end of the body. Returns the frame that the end completes; undefined if there is none. */
  end(): Frame | undefined;
  /** Discards the buffered bytes. */
  discard(): void;
}

/** How the messages of a request are read. */
export interface RequestOptions {
  readonly frames: FrameSource;
  /** Undefined if the headers name no compression. */
  readonly compression: Compression | undefined;
  readonly codec: Codec;
  readonly intake: Intake;
  /** Accounts for the memory of buffered and decoded data. Not released here. */
  readonly share: CallMemory;
}

/** A decoded message. */
interface Decoded {
  readonly message: Message;
  /** Memory taken for its bytes and its elements. */
  readonly heldBytes: number;
}

/** @throws ConnectError if the message exceeds a limit or is malformed. */
async function decompressFrame({ bytes }: Frame, options: RequestOptions): Promise<Decoded> {
  const { compression, intake, share } = options;
  if (compression === undefined) throw createUnannounced();
  const plain = await decompress(bytes, compression, share, intake.limits);
  share.give(bytes.byteLength);
  return decodeMessage(plain, options);
}

/** @throws ConnectError if the message exceeds a limit or is malformed. */
function decodeMessage(plain: Uint8Array, { codec, intake, share }: RequestOptions): Decoded {
  const elementBytes = share.takeElements(codec.countElements(plain, intake.limits.maxMessageElements));
  return {
    message: codec.decode(plain),
    heldBytes: FRAME_HEADER_BYTES + plain.byteLength + elementBytes,
  };
}

/**
 * The request of a method that takes one message. It is read to its end before the message is decoded: the client has
 * no reason to delay the end.
 */
export class SingleRequest implements Arrival {
  /**
   * The message, which must be awaited before anything arrives. Rejects with ConnectError UNIMPLEMENTED if there is
   * none or more than one, since the client then has another signature of the method; with other codes for a message
   * that is too large, truncated, not decompressible or does not parse; and with the reason of `fail`.
   */
  readonly message: Promise<Message>;
  readonly #options: RequestOptions;
  readonly #arrival = Promise.withResolvers<Message>();
  #frame: Frame | undefined;
  /** Memory taken for bytes that are not decoded yet. */
  #bufferedBytes = 0;
  /** Whether the request has ended or failed. */
  #isOver = false;

  constructor(stream: Readable, options: RequestOptions) {
    this.message = this.#arrival.promise;
    this.#options = options;
    stream.on("data", this.#take);
    onEnd(stream, this.#end);
    options.intake.arrivals.begin(this);
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

  readonly #take = (chunk: Buffer): void => {
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
  };

  readonly #end = (): void => {
    if (this.#isOver) return;
    const { frames, intake } = this.#options;
    try {
      // Only a body without frames is one at its end.
      const frame = frames.end() ?? this.#frame;
      if (frame === undefined) throw createWrongCount("none");
      const message =
        frame.flags === COMPRESSED
          ? decompressFrame(frame, this.#options).then((decoded) => decoded.message)
          : decodeMessage(frame.bytes, this.#options).message;
      this.#arrival.resolve(message);
    } catch (error) {
      return this.fail(error);
    }
    this.#isOver = true;
    intake.arrivals.end(this);
  };
}

// For a service that continues to read after its response. One instance, since capturing a stack is expensive.
const NOT_READ = new DOMException("the request is not read to its end", "AbortError");

interface Waiter {
  resolve(frame: Frame | undefined): void;
  reject(reason: unknown): void;
}

/**
 * The messages of a client that sends several. While the service does not read, the stream is paused and HTTP/2's flow
 * control stops the client: at most one network read and one unfinished message are buffered.
 */
export class RequestMessages implements AsyncIterableIterator<Message>, Arrival {
  readonly #stream: Readable;
  readonly #options: RequestOptions;
  readonly #frames: Frame[] = [];
  /** Whether the service has received a message. */
  #hasBegun = false;
  #ended = false;
  #failed = false;
  #failure: unknown;
  #waiter: Waiter | undefined;
  /** Whether the wait for the client's bytes is limited at present. */
  #isAwaited = false;
  /** Memory taken for frames that the service has not asked for yet. */
  #bufferedBytes = 0;
  /** Memory taken for the message that the service received last. */
  #deliveredBytes = 0;

  constructor(stream: Readable, options: RequestOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    onEnd(stream, () => this.#end());
    this.#updateWait();
  }

  /**
   * Returns the next message, and releases the memory of the previous one.
   * @throws ConnectError for a message that is too large, truncated, not decompressible or does not parse; the reason
   *   of `fail`.
   */
  async next(): Promise<IteratorResult<Message>> {
    this.#options.share.give(this.#deliveredBytes);
    this.#deliveredBytes = 0;
    const frame = await this.#nextFrame();
    if (frame === undefined) return { done: true, value: undefined };
    this.#hasBegun = true;
    this.#bufferedBytes -= FRAME_HEADER_BYTES + frame.bytes.byteLength;
    const isCompressed = frame.flags === COMPRESSED;
    const { message, heldBytes } = isCompressed
      ? await decompressFrame(frame, this.#options)
      : decodeMessage(frame.bytes, this.#options);
    if (this.#failed) throw this.#failure;
    this.#deliveredBytes = heldBytes;
    return { done: false, value: message };
  }

  /** Stops reading for the service: later messages are dropped. */
  async return(): Promise<IteratorResult<Message>> {
    this.drop();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the reading: the current read and all later ones reject with the reason. */
  fail(reason: unknown): void {
    if (this.#ended || this.#failed) return;
    this.#failed = true;
    this.#failure = reason;
    this.#discard();
    this.#wake();
  }

  /** Discards the rest, so that it does not block the other streams of the connection. */
  drop(): void {
    this.#frames.length = 0;
    if (this.#ended) return;
    this.fail(NOT_READ);
    this.#stream.resume();
  }

  #nextFrame(): Promise<Frame | undefined> | Frame | undefined {
    const frame = this.#frames.shift();
    if (frame !== undefined || this.#ended) return frame;
    if (this.#failed) return Promise.reject(this.#failure);
    if (this.#waiter !== undefined) return Promise.reject(new Error("a request has two readers"));
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
      if (this.#stream.isPaused()) this.#stream.resume();
      this.#updateWait();
    });
  }

  #take(chunk: Buffer): void {
    if (this.#failed) return;
    const { frames, share, intake } = this.#options;
    try {
      share.take(chunk.byteLength);
      this.#bufferedBytes += chunk.byteLength;
      frames.push(chunk);
      for (let frame = frames.next(); frame; frame = frames.next()) this.#frames.push(frame);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#wake();
    if (this.#isAwaited) intake.arrivals.touch(this);
    if (this.#frames.length > 0) this.#stream.pause();
  }

  #end(): void {
    if (this.#failed) return;
    try {
      const frame = this.#options.frames.end();
      if (frame !== undefined) this.#frames.push(frame);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#ended = true;
    this.#wake();
  }

  #wake(): void {
    const waiter = this.#waiter;
    const frame = waiter === undefined ? undefined : this.#frames.shift();
    if (waiter !== undefined && (frame !== undefined || this.#ended || this.#failed)) {
      this.#waiter = undefined;
      if (frame !== undefined || this.#ended) waiter.resolve(frame);
      else waiter.reject(this.#failure);
    }
    this.#updateWait();
  }

  /**
   * Limits the time until the next bytes if a request is incomplete and its service waits for it. A client that opens a
   * stream of requests has the first one ready; it may take its time for the others.
   */
  #updateWait(): void {
    const { frames, intake } = this.#options;
    const isPartial = !frames.isEmpty || !this.#hasBegun;
    const isAwaited = this.#waiter !== undefined && isPartial && !this.#ended && !this.#failed;
    if (isAwaited === this.#isAwaited) return;
    this.#isAwaited = isAwaited;
    if (isAwaited) intake.arrivals.begin(this);
    else intake.arrivals.end(this);
  }

  #discard(): void {
    this.#frames.length = 0;
    this.#options.frames.discard();
    // A body without frames has no frame headers.
    this.#options.share.give(Math.max(0, this.#bufferedBytes));
    this.#bufferedBytes = 0;
  }
}

function createUnannounced(): ConnectError {
  return new ConnectError(
    "a message is compressed, but the headers do not name a compression",
    Code.Internal,
  );
}

function createWrongCount(found: "none" | "more"): ConnectError {
  return new ConnectError(`the method accepts one message, found ${found}`, Code.Unimplemented);
}
