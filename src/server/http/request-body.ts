import { constants } from "node:http2";
import type { HttpRequest } from "../base/http-types.ts";
import type { Limits } from "../base/limits.ts";
import type { Arrival, ArrivalWatch } from "../requests/arrival-watch.ts";
import { type Compression, decompress } from "../requests/decompress.ts";
import { GrowingBuffer } from "../requests/growing-buffer.ts";
import { tooLarge } from "../requests/refusals.ts";
import type { CallMemory } from "../requests/request-memory.ts";

/** Options for reading a body. */
export interface BodyReader {
  /** Aborted when the call ends or its deadline passes. May be set while the body is read. */
  readonly signal: AbortSignal | undefined;
  readonly arrivals: ArrivalWatch;
  /** Reports whether the client is in the middle of a message: it may pause between the messages of a stream. */
  isIncomplete(): boolean;
}

/**
 * Reads the bytes of a body until it ends, the reader's signal is aborted, or the bytes come too slowly: a stalled
 * client cannot hold a call beyond its deadline and our limits. Leaving the iteration early does not destroy the
 * request, unlike `for await` over the request: on HTTP/1.1 that would close the connection before the error response
 * is sent.
 */
export async function* readBody(request: HttpRequest, reader: BodyReader): AsyncGenerator<Uint8Array> {
  // The HTTP/1.1 parser is still processing the first bytes of the request, which often are the whole request.
  if (!("stream" in request)) await undefined;
  // Created only if the request has not arrived completely.
  let wait: BodyWait | undefined;
  try {
    while (!isRead(request)) {
      const chunk: Uint8Array | null = request.read();
      if (chunk === null) {
        wait ??= new BodyWait(request, reader);
        await wait.forMore();
      } else yield chunk;
    }
  } finally {
    wait?.end();
  }
}

/** Reports whether the whole body was read. A request of HTTP/2 is also complete if it was aborted. */
function isRead(request: HttpRequest): boolean {
  if (request.readableEnded) return true;
  // An empty body may end before its stream is served, and then the request gets no event.
  if ("stream" in request) return request.stream.readableEnded && request.readableLength === 0;
  return request.complete && request.readableLength === 0;
}

/** Discards the rest of a body that a peer is still sending after it has its response. */
export function discardBody(request: HttpRequest): void {
  if (request.complete) return;
  // Tells the peer to stop; it would otherwise wait for a window that never opens (RFC 9113 §8.1).
  if ("stream" in request) request.stream.close(constants.NGHTTP2_NO_ERROR);
  // The connection is free again once the rest has been read.
  else request.resume();
}

/** Waits for the bytes of one body. Time in which the reader is busy does not count. */
class BodyWait implements Arrival {
  readonly #request: HttpRequest;
  readonly #reader: BodyReader;
  #onFail: ((reason: unknown) => void) | undefined;
  #isWatched = false;

  constructor(request: HttpRequest, reader: BodyReader) {
    this.#request = request;
    this.#reader = reader;
  }

  /** Resolves when more bytes can be read, or at the end. Rejects when the request breaks or its wait is ended. */
  async forMore(): Promise<void> {
    const { arrivals, signal } = this.#reader;
    if (this.#reader.isIncomplete()) this.#watch();
    else this.end();
    await this.#nextRead(signal);
    arrivals.touch(this);
  }

  fail(reason: unknown): void {
    this.#onFail?.(reason);
  }

  end(): void {
    if (this.#isWatched) this.#reader.arrivals.end(this);
    this.#isWatched = false;
  }

  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.#reader.arrivals.begin(this);
  }

  #nextRead(signal: AbortSignal | undefined): Promise<void> {
    const request = this.#request;
    return new Promise((resolve, reject) => {
      const stop = () => {
        this.#onFail = undefined;
        request.off("readable", onRead).off("end", onRead).off("error", onFail);
        signal?.removeEventListener("abort", onAbort);
      };
      const onRead = () => {
        stop();
        resolve();
      };
      const onFail = (error: unknown) => {
        stop();
        reject(error);
      };
      const onAbort = () => onFail(signal?.reason);
      this.#onFail = onFail;
      request.on("readable", onRead).on("end", onRead).on("error", onFail);
      signal?.addEventListener("abort", onAbort);
      if (signal?.aborted) onAbort();
    });
  }
}

/** A body that holds a single message, and the share that accounts for its memory. */
export interface WholeBody {
  /** The bytes of the body as they arrive. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** The header `content-length`. */
  readonly announced: string | undefined;
  readonly compression: Compression | undefined;
  readonly share: CallMemory;
  readonly limits: Limits;
}

const NOTHING = new Uint8Array();

/**
 * Reads a body to its end and decompresses it.
 * @throws ConnectError RESOURCE_EXHAUSTED if it exceeds a limit, or if there is no memory for it.
 */
export async function readWholeBody({
  chunks,
  announced = "0",
  compression,
  share,
  limits,
}: WholeBody): Promise<Uint8Array> {
  const { maxMessageBytes } = limits;
  const announcedBytes = Number(announced);
  if (announcedBytes > maxMessageBytes) throw tooLarge(`${announcedBytes} bytes`, maxMessageBytes);
  if (announcedBytes > 0) share.expect(announcedBytes);
  let bytes: Uint8Array | undefined;
  /** Created only if the body does not arrive in one read. */
  let body: GrowingBuffer | undefined;
  for await (const chunk of chunks) {
    share.take(chunk.byteLength);
    const isWhole = body === undefined && announcedBytes > 0 && chunk.byteLength === announcedBytes;
    if (isWhole) bytes = chunk;
    else {
      body ??= new GrowingBuffer();
      body.append(chunk, announcedBytes > 0 ? announcedBytes : undefined);
      if (body.length > maxMessageBytes) throw tooLarge("more", maxMessageBytes);
    }
  }
  bytes ??= body?.take() ?? NOTHING;
  if (compression === undefined) return bytes;
  const plain = await decompress(bytes, compression, share, limits);
  share.give(bytes.byteLength);
  return plain;
}
