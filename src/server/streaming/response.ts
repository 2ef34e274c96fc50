/** The response side of a stream: messages that became ready together leave in one write. */
import type { OutgoingHttpHeaders } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { CallContext } from "../grpc/context.ts";
import { Metadata } from "../grpc/metadata.ts";
import { endPaced } from "../http/paced-writer.ts";
import { PeerClosedError } from "../http/peer-closed-error.ts";
import type { UnsentResponse, UnsentResponses } from "../http/unsent-responses.ts";
import type { HttpResponse } from "../listen/http-types.ts";
import type { CallRecorder } from "../telemetry/call-recorder.ts";
import type { StreamProtocol } from "./protocol.ts";

/** What a response belongs to. */
export interface StreamResponseOptions {
  readonly protocol: StreamProtocol;
  readonly recorder: CallRecorder;
  readonly context: CallContext;
  /** Limits what waits for all readers together. */
  readonly unsent: UnsentResponses;
}

/**
 * Writes one response. At most one write is unflushed at any time, so that a reader that stops reading costs the bytes
 * of one read of the provider's socket.
 */
export class StreamResponse implements UnsentResponse {
  readonly #response: HttpResponse;
  readonly #protocol: StreamProtocol;
  readonly #recorder: CallRecorder;
  readonly #context: CallContext;
  readonly #unsent: UnsentResponses;
  #ended = false;
  #unflushed = false;
  #onFlush: (() => void) | undefined;

  /** Whether the peer closed the stream before the response was complete. */
  disconnected = false;

  constructor(response: HttpResponse, { protocol, recorder, context, unsent }: StreamResponseOptions) {
    this.#response = response;
    this.#protocol = protocol;
    this.#recorder = recorder;
    this.#context = context;
    this.#unsent = unsent;
  }

  /** Whether the response is complete: nothing more will be sent. */
  get ended(): boolean {
    return this.#ended;
  }

  /**
   * Sends messages in one write, once the previous write is flushed. Returns a promise only where it has to wait.
   * @throws PeerClosedError, at once or by the promise.
   */
  send(messages: readonly Message[]): Promise<void> | undefined {
    const chunk = this.#protocol.encode(messages);
    if (this.#unflushed) return this.#flushed().then(() => this.#write(chunk));
    this.#write(chunk);
    return undefined;
  }

  /** Ends the response with the status OK, or with that of an error. Resolves when it is flushed or the peer is gone. */
  end(error?: ConnectError): Promise<void> {
    const { encodeEnd, fail } = this.#protocol;
    if (error !== undefined && fail !== undefined && !this.#response.headersSent) {
      const { status, headers, body } = fail(error);
      this.#begin(status, headers);
      return this.#end(body);
    }
    const last = encodeEnd(this.#context.ownTrailer ?? new Metadata(), error);
    if (!this.#response.headersSent) this.#begin(OK, this.#protocol.headers);
    return this.#end(last);
  }

  /** The peer has closed the stream before the response was complete. Ends the wait for a flush. */
  disconnect(): void {
    this.disconnected = true;
    this.#flush();
  }

  /** Closes the stream, or the connection of HTTP/1.1. */
  cutOff(): void {
    this.disconnected = true;
    this.#response.destroy();
  }

  #write(chunk: Uint8Array): void {
    if (this.disconnected) throw new PeerClosedError();
    if (!this.#response.headersSent) this.#begin(OK, this.#protocol.headers);
    this.#unflushed = true;
    this.#unsent.add(this, chunk.byteLength);
    this.#response.write(chunk, this.#flush);
  }

  /** Sends the headers. Those of the protocol override those of the service. */
  #begin(status: number, ofProtocol: OutgoingHttpHeaders): void {
    const headers: OutgoingHttpHeaders = {};
    this.#context.ownHeader?.writeTo(headers);
    this.#response.writeHead(status, Object.assign(headers, ofProtocol, this.#recorder.responseIds));
  }

  #end(last: Uint8Array): Promise<void> {
    this.#ended = true;
    return endPaced(this.#response, last);
  }

  #flushed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onFlush = resolve;
    });
  }

  readonly #flush = (): void => {
    this.#unflushed = false;
    this.#unsent.remove(this);
    const onFlush = this.#onFlush;
    this.#onFlush = undefined;
    onFlush?.();
  };
}

const OK = 200;
