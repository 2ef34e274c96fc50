/** The response side of a call: what a service gives leaves in as few writes as it became ready in. */
import {
  constants,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { REQUEST_ID_HEADER } from "../http/id-headers.ts";
import type { Call } from "../telemetry/call.ts";
import type { GrpcContext } from "./context.ts";
import { encodeFrame, encodeFrames } from "./encode-frames.ts";
import { ACCEPTED_ENCODINGS } from "./gzip.ts";
import type { MessageEncoder } from "./message-encoder.ts";
import { trailersOf } from "./trailers.ts";

/** The peer closed the stream before all was said. */
export class PeerClosedError extends Error {
  constructor() {
    super("the peer closed the stream");
  }
}

/** How the messages of a response are to be written. */
export interface ResponseOptions {
  readonly encode: MessageEncoder;
  /** As the request has it: the caller knows it. */
  readonly contentType: string;
}

/**
 * Writes one response. At most one write is unflushed at any time, so that a reader who stops
 * reading costs what one read of the provider's socket brought, and not a heap.
 */
export class ResponseWriter {
  readonly #stream: ServerHttp2Stream;
  readonly #call: Call;
  readonly #context: GrpcContext;
  readonly #options: ResponseOptions;
  #trailers: OutgoingHttpHeaders = {};
  #ended = false;
  #closed = false;
  #unflushed = false;
  #onFlush: (() => void) | undefined;

  /** Whether messages are to be compressed. */
  gzip = false;

  constructor(stream: ServerHttp2Stream, call: Call, context: GrpcContext, options: ResponseOptions) {
    this.#stream = stream;
    this.#call = call;
    this.#context = context;
    this.#options = options;
  }

  /** Whether everything was said. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Sends messages in one write, once the write before has left. Gives a promise only where
   * there is something to wait for.
   * @throws PeerClosedError, at once or by the promise.
   */
  send(messages: readonly Message[]): Promise<void> | undefined {
    const chunk = this.#encode(messages);
    if (this.#unflushed || chunk instanceof Promise) return this.#sendLater(chunk);
    this.#write(chunk);
    return undefined;
  }

  /** Resolves when what was written has left: it is with the kernel, and flow control let it go. */
  flushed(): Promise<void> {
    if (!this.#unflushed || this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#onFlush = resolve;
    });
  }

  async #sendLater(chunk: Buffer | Promise<Buffer>): Promise<void> {
    const ready = await chunk;
    if (this.#unflushed) await this.flushed();
    this.#write(ready);
  }

  #write(chunk: Buffer): void {
    this.#begin();
    this.#unflushed = true;
    this.#stream.write(chunk, this.#flush);
  }

  /** Sends the last message and the end in one write. */
  async sendLast(message: Message): Promise<void> {
    const chunk = await this.#encode([message]);
    this.#begin();
    this.#end(undefined);
    this.#stream.end(chunk);
  }

  /**
   * Ends the response with the status OK, or with that of an error. A call that fails before its first message gets a
   * Trailers-Only response, one HEADERS frame that also holds the headers of the service: initial metadata would
   * commit the call, and the retry policy of a client would never apply.
   */
  end(error?: ConnectError): void {
    if (this.#gone) return;
    this.#end(error);
    // Clients read a Trailers-Only response as trailers: the headers of a call that succeeded need a frame of their own.
    if (error === undefined && this.#context.ownHeader !== undefined) this.#begin();
    if (this.#stream.headersSent) {
      this.#stream.end();
      return;
    }
    this.#stream.respond({ ...this.#headers(), ...this.#trailers }, TRAILERS_ONLY);
    this.#resetUnread();
  }

  /** The peer is gone: nobody waits for a flush any more. */
  close(): void {
    this.#closed = true;
    this.#flush();
  }

  /** Whether nothing more can be sent. A stream says so before its events do. */
  get #gone(): boolean {
    return this.#closed || this.#stream.closed || this.#stream.destroyed;
  }

  /** Sends the headers, unless they are sent already. */
  #begin(): void {
    if (this.#gone) throw new PeerClosedError();
    if (!this.#stream.headersSent) this.#stream.respond(this.#headers(), RESPOND_OPTIONS);
  }

  #end(error: ConnectError | undefined): void {
    this.#ended = true;
    this.#trailers = trailersOf(this.#context.ownTrailer, error);
    this.#stream.once("wantTrailers", () => {
      if (this.#gone) return;
      this.#stream.sendTrailers(this.#trailers);
      this.#resetUnread();
    });
  }

  /**
   * Tells a caller who is still sending to stop (RFC 9113 §8.1): the answer is whole without it.
   * Not before its last frame has left: a reset overtakes what waits to be sent.
   */
  #resetUnread(delayMs: number = FIRST_LOOK_MS): void {
    const stream = this.#stream;
    if (stream.readableEnded || stream.destroyed) return;
    if (stream.state.localClose === 1) stream.close(constants.NGHTTP2_NO_ERROR);
    else setTimeout(() => this.#resetUnread(Math.min(2 * delayMs, LONGEST_LOOK_MS)), delayMs);
  }

  #headers(): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { ":status": 200 };
    this.#context.ownHeader?.writeTo(headers);
    // What gRPC says of itself is not the service's to say.
    headers["content-type"] = this.#options.contentType;
    headers["grpc-accept-encoding"] = ACCEPTED_ENCODINGS;
    headers[REQUEST_ID_HEADER] = this.#call.requestId;
    if (this.gzip) headers["grpc-encoding"] = "gzip";
    return headers;
  }

  #encode(messages: readonly Message[]): Buffer | Promise<Buffer> {
    const { encode } = this.#options;
    if (!this.gzip) return encodeFrames(encode, messages);
    return Promise.all(messages.map((message) => encodeFrame(encode, message))).then((frames) =>
      Buffer.concat(frames),
    );
  }

  readonly #flush = (): void => {
    this.#unflushed = false;
    const onFlush = this.#onFlush;
    this.#onFlush = undefined;
    onFlush?.();
  };
}

// Node tells nobody when the last frame of a stream has left, so that it must be asked: soon at
// first, and seldom where a reader has stopped. In milliseconds.
const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 1000;

// A clock's reading in each response is for caches, which gRPC has none of.
const NO_DATE = { sendDate: false };
const RESPOND_OPTIONS: ServerStreamResponseOptions = { ...NO_DATE, waitForTrailers: true };
const TRAILERS_ONLY: ServerStreamResponseOptions = { ...NO_DATE, endStream: true };
