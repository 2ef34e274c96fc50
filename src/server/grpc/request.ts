/**
 * The request side of a call: the bytes of a body as messages, read no faster than the service takes them.
 */
import type { Readable } from "node:stream";
import { type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { parseFault } from "../internals/error-texts.ts";
import type { Frame } from "./frames.ts";

/** Finds the messages in the bytes of a body. Its methods throw the ConnectError of a body that is malformed. */
export interface FrameSource {
  /** Adds the next bytes. Call `next` afterwards until it returns undefined. */
  push(chunk: Buffer): void;
  /** The next whole frame; undefined while it is not complete. */
  next(): Frame | undefined;
  /** The body has ended. Returns the frame that its end completes; undefined where there is none. */
  end(): Frame | undefined;
}

/** How the messages of a request are read. */
export interface RequestOptions {
  readonly frames: FrameSource;
  /** Decompresses a message to at most that many bytes. Undefined where the headers name no compression. */
  readonly decompress: ((bytes: Uint8Array, maxBytes: number) => Promise<Uint8Array>) | undefined;
  /** Decodes a message. Throws the ConnectError of one that is malformed. */
  readonly parse: (bytes: Uint8Array) => Message;
  readonly maxMessageBytes: number;
}

// For a service that reads on after it has answered. One instance: capturing a stack is expensive.
const NOT_READ = new DOMException("the request is not read to its end", "AbortError");

interface Waiter {
  resolve(frame: Frame | undefined): void;
  reject(reason: unknown): void;
}

/**
 * The messages of a client. While the service does not read, the stream is paused and HTTP/2's flow control stops the
 * client: held are one read of the network and one unfinished message.
 */
export class RequestMessages implements AsyncIterableIterator<Message> {
  readonly #stream: Readable;
  readonly #options: RequestOptions;
  readonly #frames: Frame[] = [];
  #ended = false;
  #failed = false;
  #failure: unknown;
  #waiter: Waiter | undefined;

  constructor(stream: Readable, options: RequestOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
    stream.on("end", () => this.#end());
  }

  /**
   * The one message of a method that takes one.
   * @throws ConnectError UNIMPLEMENTED where there is none or more than one, since the client then has another
   *   signature of the method; and what `next` throws.
   */
  async single(): Promise<Message> {
    const frame = await this.#nextFrame();
    if (frame === undefined) throw wrongCount("none");
    if ((await this.#nextFrame()) !== undefined) throw wrongCount("more");
    return this.#decode(frame);
  }

  /**
   * The next message.
   * @throws ConnectError for one that is too large, cut off, not decompressible or does not parse;
   *   the reason of `fail`.
   */
  async next(): Promise<IteratorResult<Message>> {
    const frame = await this.#nextFrame();
    if (frame === undefined) return { done: true, value: undefined };
    return { done: false, value: await this.#decode(frame) };
  }

  /** The service reads no further: later messages are dropped. */
  async return(): Promise<IteratorResult<Message>> {
    this.drop();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Ends the reading: a read under way and all later ones reject with the reason. */
  fail(reason: unknown): void {
    if (this.#ended || this.#failed) return;
    this.#failed = true;
    this.#failure = reason;
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
    });
  }

  async #decode({ compressed, bytes }: Frame): Promise<Message> {
    const { parse, decompress, maxMessageBytes } = this.#options;
    if (!compressed) return parse(bytes);
    if (decompress === undefined) {
      throw new ConnectError("a message is compressed, but the headers name no compression", Code.Internal);
    }
    return parse(await decompress(bytes, maxMessageBytes));
  }

  #take(chunk: Buffer): void {
    if (this.#failed) return;
    try {
      const { frames } = this.#options;
      frames.push(chunk);
      for (let frame = frames.next(); frame; frame = frames.next()) this.#frames.push(frame);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#wake();
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
    if (waiter === undefined) return;
    const frame = this.#frames.shift();
    if (frame === undefined && !this.#ended && !this.#failed) return;
    this.#waiter = undefined;
    if (frame !== undefined || this.#ended) waiter.resolve(frame);
    else waiter.reject(this.#failure);
  }
}

/**
 * Decodes a message in protobuf's binary format.
 * @throws ConnectError, which `describeProtocolError` recognizes.
 */
export function parseBinary(desc: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromBinary(desc, bytes);
  } catch (error) {
    throw parseFault(error);
  }
}

function wrongCount(found: string): ConnectError {
  return new ConnectError(`the method takes one message, found ${found}`, Code.Unimplemented);
}
