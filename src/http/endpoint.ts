/**
 * The interface between an HTTP API and the server that carries it: routes that take a request and return a response.
 */
import type { Caller } from "../core/caller.ts";
import type { SDKError } from "../core/errors.ts";
import type { TraceContext } from "../core/trace-context.ts";
import type { ModelClient } from "../generation/loop/model-calls.ts";

/** An HTTP API. */
export interface HttpApi {
  /**
   * Returns the route for a path, or undefined if the API does not serve it. For a wrong method, returns a route that
   * answers 405.
   * @param path Without the query.
   */
  find(path: string, method: string): EndpointRoute | undefined;
}

/** One route of an API. */
export interface EndpointRoute {
  /** Name in logs and metrics, without ids: `POST /v1/responses`. */
  readonly name: string;
  /** Parameter of the query in which callers may send their access key. Absent: they may not. */
  readonly keyParameter?: string | undefined;
  /** The API's header for the id of the request. Every answer has it in addition to `x-request-id`. Absent: none. */
  readonly requestIdHeader?: string | undefined;
  /** Rejects only if the caller has disconnected: failures are responses. */
  serve(request: EndpointRequest): Promise<EndpointResponse>;
  /** Returns the response to a request that is refused before the route is called, in the format of the API. */
  fail(error: SDKError, request: RequestHead): FailedResponse;
  /** Serves a WebSocket. Absent if the path does not support them. Resolves when the socket is closed. */
  connect?(socket: EndpointSocket, request: EndpointRequest): Promise<void>;
}

/** The part of a request from which an API recognizes its clients. */
export interface RequestHead {
  readonly query: URLSearchParams;
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** A request. */
export interface EndpointRequest extends RequestHead {
  readonly method: string;
  readonly path: string;
  readonly caller: Caller;
  /** The trace context for the calls that the request causes. Undefined if the request is not traced. */
  readonly trace: TraceContext | undefined;
  /** Aborted when the caller disconnects, or the server stops. The reason is an SDKError. */
  readonly signal: AbortSignal;
  /** Calls the models, and reports the calls to the log and the metrics of this request. */
  readonly client: ModelClient;
  /** Reads the whole body, within the limits of the server. Throws SDKError. */
  readBody(): Promise<Uint8Array>;
  /** Reads stored data, within the memory for concurrent reads. Waits for its turn. Throws SDKError. */
  readStored<Value>(read: () => Promise<Value>): Promise<Value>;
  /** Records the reason why the request failed, for the log and the metrics. */
  noteFailure(error: SDKError): void;
}

/** A response. */
export interface EndpointResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * Text, bytes, or an iteration of chunks: each chunk is one write, and the next is requested when it is flushed. The
   * iteration is ended early if the caller disconnects.
   */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
}

/** A response with the reason why a request was refused. */
export interface FailedResponse extends EndpointResponse {
  readonly body: Uint8Array;
}

/** A WebSocket that a server has accepted. */
export interface EndpointSocket {
  /** Messages of the caller, within the limits of the server, until the socket closes. */
  readonly messages: AsyncIterable<SocketMessage>;
  /** Whether waiting messages are no longer answered, since the socket is about to be closed. */
  readonly isEnding: boolean;
  /** Sends messages one after the other. Resolves when the text is flushed. */
  send(text: string): Promise<void>;
  /** @param code Status of RFC 6455. */
  close(code: number, reason: string): void;
}

/** A message of a WebSocket: a separate request. It uses memory until it is released. */
export interface SocketMessage {
  /** Text as UTF-8. */
  readonly content: Uint8Array;
  /** Calls the models, within the memory of this message. */
  readonly client: ModelClient;
  /** As in `EndpointRequest`. */
  readStored<Value>(read: () => Promise<Value>): Promise<Value>;
  /**
   * Counts the message against the limits on the caller's requests and on memory. Must be called once, before the
   * content is parsed. Throws SDKError if a limit is exceeded. If limits are shared between sidecars, returns a
   * promise, which rejects if one of these is exceeded.
   */
  admit(): Promise<void> | undefined;
  /** Takes memory for the growth of the message. Throws SDKError if there is not enough. */
  reserve(bytes: number): void;
  /** Releases the message after it has been answered. */
  release(): void;
}
