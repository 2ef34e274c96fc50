import { Readable, type Transform } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { AbortError, InternalError, SDKError, StreamError } from "../../core/errors.ts";
import { closeAtOnce } from "../../core/item-iterator.ts";

/** Number of unread bytes at which the provider's socket is paused. */
const HIGH_WATER_BYTES = 16 * 1024;

const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

const SETTLED = Promise.resolve();

/** The exchange that fills a body, as the body needs it. */
export interface BodySource {
  /** The reader has caught up. Called only after `push` returned true. */
  resume(): void;
  /** The reader has stopped reading. */
  leave(): void;
}

/**
 * Passes the bytes of one answer from the socket, which pushes them, to the reader, which pulls them.
 *
 * Everything that has arrived since the last read is one chunk: a provider that sends each event as a separate chunk
 * costs one step of the reader per read of the socket, not per event. At most `HIGH_WATER_BYTES` and one read of the
 * socket are held.
 */
export class HttpBody implements AsyncIterableIterator<Uint8Array> {
  readonly #source: BodySource;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #paused = false;
  #ended = false;
  #error: SDKError | undefined;
  #waiter: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;
  #waking = false;

  constructor(source: BodySource) {
    this.#source = source;
  }

  /** Whether a reader that waits will get the chunks of this read of the socket. */
  get isWaking(): boolean {
    return this.#waking;
  }

  /** Takes bytes from the socket. Returns whether the socket must pause until `resume`. */
  push(chunk: Uint8Array): boolean {
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    // A reader that waits takes all chunks of this read at once.
    this.#paused = this.#bytes > HIGH_WATER_BYTES && this.#waiter === undefined;
    this.#wake();
    return this.#paused;
  }

  /** Ends the body: the last byte has been pushed. */
  end(): void {
    this.#ended = true;
    this.#paused = false;
    this.#wake();
  }

  /** Ends the body with an error. The reader first gets the bytes that have arrived. */
  fail(error: SDKError): void {
    this.#error = error;
    this.end();
  }

  /** Drops the bytes that have arrived and were not read. */
  drop(): void {
    this.#chunks = [];
    this.#bytes = 0;
  }

  /** Returns the bytes of a body that has arrived as a whole and was not read. Undefined for any other. */
  takeWhole(): Uint8Array | undefined {
    if (!this.#ended || this.#error !== undefined) return undefined;
    const [first] = this.#chunks;
    const whole = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.drop();
    return whole;
  }

  /** Returns the next bytes. One reader at a time. */
  next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#waiter !== undefined)
      return Promise.reject(new InternalError("a body was read twice at the same time"));
    const waiter = Promise.withResolvers<IteratorResult<Uint8Array>>();
    this.#waiter = waiter;
    if (!this.#waking) this.#deliver();
    return waiter.promise;
  }

  /** Stops reading: the exchange ends and its socket closes. */
  return(): Promise<IteratorResult<Uint8Array>> {
    this.#source.leave();
    return Promise.resolve(DONE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /**
   * Wakes the reader after all chunks of one socket read have been pushed: they arrive in one synchronous run, and a
   * microtask sees them all.
   */
  #wake(): void {
    if (this.#waiter === undefined || this.#waking) return;
    this.#waking = true;
    // `queueMicrotask` would create an async resource and a closure each time.
    void SETTLED.then(this.#deliver);
  }

  readonly #deliver = (): void => {
    this.#waking = false;
    const waiter = this.#waiter;
    const chunks = this.#chunks;
    const [first] = chunks;
    if (waiter === undefined || (first === undefined && !this.#ended)) return;
    this.#waiter = undefined;
    if (first === undefined) return this.#error ? waiter.reject(this.#error) : waiter.resolve(DONE);
    this.#chunks = [];
    this.#bytes = 0;
    waiter.resolve({ done: false, value: chunks.length === 1 ? first : Buffer.concat(chunks) });
    if (!this.#paused) return;
    this.#paused = false;
    this.#source.resume();
  };
}

/** Content encodings that are decoded although no request asks for them: some servers and proxies ignore that. */
const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/**
 * Returns a body without its encoding; undefined if the encoding is unknown. The reader pulls the decompression, so that
 * a small body that expands to a large one takes no more memory than the reader allows. Reading the decoded body throws
 * StreamError if the bytes do not match the encoding.
 * @param encoding Header `content-encoding` of the answer.
 */
export function decodeBody(
  body: AsyncIterable<Uint8Array>,
  encoding: string,
): AsyncIterable<Uint8Array> | undefined {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return body;
  const createDecoder = DECODERS.get(name);
  return createDecoder === undefined ? undefined : decompressed(body, createDecoder());
}

function decompressed(body: AsyncIterable<Uint8Array>, decoder: Transform): AsyncIterable<Uint8Array> {
  const source = Readable.from(body, { objectMode: false });
  // The error ends a pending read, and closes the body.
  const abort = () => source.destroy(new AbortError("the reader stopped before the end of the answer"));
  return closeAtOnce(pipedThrough(source, decoder), () => void abort());
}

async function* pipedThrough(source: Readable, decoder: Transform): AsyncGenerator<Uint8Array> {
  source.on("error", (error) => decoder.emit("error", error));
  try {
    for await (const chunk of source.pipe(decoder)) yield chunk as Uint8Array;
  } catch (error) {
    throw error instanceof SDKError
      ? error
      : new StreamError("the answer's content encoding is invalid", { cause: error });
  } finally {
    source.destroy();
  }
}
