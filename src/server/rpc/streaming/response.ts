/** The response side of a stream: messages that become ready together are sent in one write. */
import type { OutgoingHttpHeaders } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { HttpResponse } from "../../base/http-types.ts";
import { FlushedResponse, SLICE_BYTES } from "../../http/flushed-response.ts";
import { endPaced } from "../../http/paced-writer.ts";
import { PeerClosedError } from "../../http/peer-closed-error.ts";
import type { UnsentResponses } from "../../http/unsent-responses.ts";
import { Metadata } from "../../status/metadata.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import type { CallContext } from "../grpc/context.ts";
import type { StreamProtocol } from "./protocol.ts";

/** The call of a response. */
export interface StreamResponseOptions {
  readonly protocol: StreamProtocol;
  readonly recorder: CallRecorder;
  readonly context: CallContext;
  /** Limits the unsent bytes of all responses together. */
  readonly unsent: UnsentResponses;
}

/** Writes one response. */
export class StreamResponse extends FlushedResponse {
  readonly #response: HttpResponse;
  readonly #protocol: StreamProtocol;
  readonly #recorder: CallRecorder;
  readonly #context: CallContext;
  #ended = false;

  constructor(response: HttpResponse, { protocol, recorder, context, unsent }: StreamResponseOptions) {
    super(unsent);
    this.#response = response;
    this.#protocol = protocol;
    this.#recorder = recorder;
    this.#context = context;
  }

  /** Whether the response is complete, so that nothing more will be sent. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Sends messages in one write, once the previous write is flushed. Returns a promise only if it has to wait.
   * @throws PeerClosedError, at once or by the promise.
   */
  send(messages: readonly Message[]): Promise<void> | undefined {
    const chunk = this.#protocol.encode(messages);
    if (chunk.byteLength > SLICE_BYTES) return this.#writeLarge(chunk);
    if (this.unflushed) return this.flushed().then(() => this.#write(chunk));
    this.#write(chunk);
    return undefined;
  }

  /**
   * Ends the response with status OK, or with the status of an error. Resolves when it is flushed or the peer is gone.
   */
  end(error?: ConnectError): Promise<void> {
    const { encodeEnd, fail } = this.#protocol;
    if (error !== undefined && fail !== undefined && !this.#response.headersSent) {
      const { status, headers, body } = fail(error);
      this.#begin(status, headers);
      return this.#end(body);
    }
    const last = encodeEnd(this.#context.serviceTrailer ?? new Metadata(), error);
    if (!this.#response.headersSent) this.#begin(OK, this.#protocol.headers);
    return this.#end(last);
  }

  /** Closes the stream, or the connection of HTTP/1.1. */
  cutOff(): void {
    this.disconnected = true;
    this.#response.destroy();
  }

  async #writeLarge(chunk: Uint8Array): Promise<void> {
    await this.flushed();
    this.#beginBody();
    this.#write(await this.writeSlices(chunk, (slice, onFlush) => this.#response.write(slice, onFlush)));
  }

  #beginBody(): void {
    if (this.disconnected) throw new PeerClosedError();
    if (!this.#response.headersSent) this.#begin(OK, this.#protocol.headers);
  }

  #write(chunk: Uint8Array): void {
    this.#beginBody();
    this.beginWrite(chunk.byteLength);
    this.#response.write(chunk, this.onFlush);
  }

  /** Sends the headers. Headers of the protocol override headers of the service. */
  #begin(status: number, ofProtocol: OutgoingHttpHeaders): void {
    const headers: OutgoingHttpHeaders = {};
    this.#context.serviceHeader?.writeTo(headers);
    this.#response.writeHead(status, Object.assign(headers, ofProtocol, this.#recorder.responseIds));
  }

  #end(last: Uint8Array): Promise<void> {
    this.#ended = true;
    return endPaced(this.#response, last);
  }
}

const OK = 200;
