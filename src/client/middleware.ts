/** Middleware: code around every call of a Client. */

import type { CallOptions } from "../core/adapter.ts";
import type { EventStream } from "../core/event-stream.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";

/**
 * Passes a request on: to the next middleware, and finally to its provider. To change the request, the model or the
 * provider, pass a changed copy. Without `options`, the options of the call apply.
 */
export type CompleteNext = (request: Request, options?: CallOptions) => Promise<Response>;

/** Like CompleteNext, for a stream. Nothing is sent before the first event is requested. */
export type StreamNext = (request: Request, options?: CallOptions) => EventStream;

/** A middleware with a method for each kind of call. A kind without a method is passed on unchanged. */
export interface MiddlewareMethods {
  /** Wraps a whole answer; also a call for embeddings or a count of tokens, see `CallOptions.operation`. */
  complete?(request: Request, next: CompleteNext, options: CallOptions): Promise<Response>;
  /**
   * Wraps the events. May observe, change, add or withhold them, and is then responsible for the laws of the stream.
   */
  stream?(request: Request, next: StreamNext, options: CallOptions): AsyncIterable<StreamEvent>;
}

/**
 * A middleware for both kinds of call in one function. Around a stream, events are passed on while `next` is pending,
 * and `next` resolves with the response that the `finish` event carries:
 *
 * - `finish` is held back until the function has returned. Its changes to the response are sent, except changes to the
 *   message, which the caller has already read.
 * - A response that it returns without calling `next`, from a cache for instance, becomes a stream.
 * - It may call `next` again if the first attempt failed before any event.
 * - An error that it throws ends the stream. If the caller stops reading, `next` rejects with AbortError; other waits
 *   of the function should observe `options.signal`.
 */
export type MiddlewareFunction = (
  request: Request,
  next: CompleteNext,
  options: CallOptions,
) => Promise<Response>;

/** Code around every call of a Client. */
export type Middleware = MiddlewareFunction | MiddlewareMethods;
