/** The response side of a call: messages that become ready together are sent in one write. */
import {
  constants,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  type ServerStreamResponseOptions,
} from "node:http2";
import { create, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { toBatches } from "../../../core/batches.ts";
import type { MessageEncoder } from "../../../core/message-encoder.ts";
import type { CallContext } from "../../calls/call-context.ts";
import {
  FlushedResponse,
  PeerClosedError,
  SLICE_BYTES,
  type UnsentResponses,
} from "../../http/flushed-response.ts";
import { hasSentLastFrame } from "../../internals/node-http.ts";
import { toTrailers } from "../../status/trailers.ts";
import { encodeFrame, encodeFrames } from "./frames.ts";
import { ACCEPTED_ENCODINGS } from "./request-headers.ts";

/** Options for writing the messages of a response. */
export interface ResponseOptions {
  readonly encode: MessageEncoder;
  /** The content type of the request, which the response repeats. */
  readonly contentType: string;
  /** Limits the unsent bytes of all responses together. */
  readonly unsent: UnsentResponses;
}

/** Writes one response. */
export class ResponseWriter extends FlushedResponse {
  readonly #stream: ServerHttp2Stream;
  readonly #context: CallContext;
  readonly #options: ResponseOptions;
  #trailers: OutgoingHttpHeaders = {};

  /** Whether the response is complete, so that nothing more will be sent. */
  ended = false;

  /** Whether messages are to be compressed. */
  gzip = false;

  constructor(stream: ServerHttp2Stream, context: CallContext, options: ResponseOptions) {
    super(options.unsent);
    this.#stream = stream;
    this.#context = context;
    this.#options = options;
  }

  /** Sends a single message and the end in one write. */
  async sendLast(message: Message): Promise<void> {
    let chunk: Uint8Array = this.gzip
      ? await encodeFrame(this.#options.encode, message)
      : encodeFrames(this.#options.encode, [message]);
    if (chunk.byteLength > SLICE_BYTES) chunk = await this.#writeAllButLast(chunk);
    this.#begin();
    this.#end(undefined);
    this.beginWrite(chunk.byteLength);
    this.#stream.end(chunk, this.onFlush);
  }

  /** Sends the messages of a stream, each batch in one write, and the end. @throws PeerClosedError */
  async sendAll<Desc extends DescMessage>(
    messages: AsyncIterable<MessageInitShape<Desc>>,
    desc: Desc,
  ): Promise<void> {
    for await (const batch of toBatches(messages)) {
      const created = batch.map((init) => create(desc, init));
      let chunk: Uint8Array = this.gzip
        ? await this.#encodeCompressed(created)
        : encodeFrames(this.#options.encode, created);
      if (chunk.byteLength > SLICE_BYTES) chunk = await this.#writeAllButLast(chunk);
      if (this.unflushed) await this.flushed();
      this.#begin();
      this.beginWrite(chunk.byteLength);
      this.#stream.write(chunk, this.onFlush);
    }
    this.end();
  }

  /** Writes all slices of a large chunk except the last, which it returns. */
  #writeAllButLast(chunk: Uint8Array): Promise<Uint8Array> {
    this.#begin();
    return this.writeSlices(chunk, (slice, onFlush) => this.#stream.write(slice, onFlush));
  }

  /**
   * Ends the response with status OK, or with the status of an error. Before its first message that is a Trailers-Only
   * response, one HEADERS frame: initial metadata would commit the call, and the client's retry policy would never
   * apply. Headers that the service has set are sent as headers, as in grpc-go.
   */
  end(error?: ConnectError): void {
    if (this.#gone) return;
    this.#end(error);
    // Clients read a Trailers-Only response as trailers, so headers of the service are sent first.
    if (this.#context.serviceHeader !== undefined) this.#begin();
    if (this.#stream.headersSent) {
      this.#stream.end();
      return;
    }
    this.#stream.respond({ ...this.#headers(), ...this.#trailers }, TRAILERS_ONLY);
    this.#resetUnread();
  }

  /** Resets the stream. A peer that does not even read the reset loses its connection. */
  destroy(): void {
    this.disconnected = true;
    const stream = this.#stream;
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    setTimeout(() => stream.closed || stream.session?.destroy(), MAX_RESET_MS).unref();
  }

  /** Whether nothing more can be sent. The state of a stream changes before it emits the event. */
  get #gone(): boolean {
    return this.disconnected || this.#stream.closed || this.#stream.destroyed;
  }

  /** Sends the headers, unless they are sent already. */
  #begin(): void {
    if (this.#gone) throw new PeerClosedError();
    if (!this.#stream.headersSent) this.#stream.respond(this.#headers(), RESPOND_OPTIONS);
  }

  #end(error: ConnectError | undefined): void {
    this.ended = true;
    const { serviceTrailer, recorder } = this.#context;
    this.#trailers = Object.assign(toTrailers(serviceTrailer, error), recorder.getTimingHeader());
    this.#stream.on("wantTrailers", () => {
      if (this.#gone) return;
      this.#stream.sendTrailers(this.#trailers);
      if (!this.#stream.readableEnded) this.#resetUnread();
    });
  }

  /**
   * Tells a client that is still sending to stop (RFC 9113 §8.1): the response is complete without the rest. Waits
   * until the last frame has left, since a reset overtakes queued frames.
   */
  #resetUnread(delayMs: number = FIRST_CHECK_MS): void {
    const stream = this.#stream;
    if (stream.readableEnded || stream.destroyed) return;
    if (hasSentLastFrame(stream)) stream.close(constants.NGHTTP2_NO_ERROR);
    else setTimeout(() => this.#resetUnread(Math.min(2 * delayMs, LONGEST_CHECK_MS)), delayMs);
  }

  #headers(): OutgoingHttpHeaders {
    const headers: OutgoingHttpHeaders = { ":status": 200 };
    this.#context.serviceHeader?.writeTo(headers);
    // Headers of the protocol override headers of the service.
    headers["content-type"] = this.#options.contentType;
    headers["grpc-accept-encoding"] = ACCEPTED_ENCODINGS;
    Object.assign(headers, this.#context.recorder.responseIds);
    if (this.gzip) headers["grpc-encoding"] = "gzip";
    return headers;
  }

  async #encodeCompressed(messages: readonly Message[]): Promise<Uint8Array> {
    const { encode } = this.#options;
    return Buffer.concat(await Promise.all(messages.map((message) => encodeFrame(encode, message))));
  }
}

// Node has no event for the last frame of a stream, so its state is polled: soon at first, and seldom if the reader has
// stopped. In milliseconds.
const FIRST_CHECK_MS = 5;
const LONGEST_CHECK_MS = 1000;

/** Longest time to wait for a reset to leave, in milliseconds. */
const MAX_RESET_MS = 1000;

// The date header is for caches, which gRPC does not use.
const NO_DATE = { sendDate: false };
const RESPOND_OPTIONS: ServerStreamResponseOptions = { ...NO_DATE, waitForTrailers: true };
const TRAILERS_ONLY: ServerStreamResponseOptions = { ...NO_DATE, endStream: true };
