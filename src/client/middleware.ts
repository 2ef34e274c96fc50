/** What can be put around every call of a Client (specification §2.3). */

import type { CallOptions } from "../core/adapter.ts";
import { EventStream } from "../core/event-stream.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { streamAround } from "./stream-around.ts";

/**
 * Sends a request on, to the next middleware and in the end to its provider. To change the
 * request, the model or the provider, pass a changed copy. Without `options` those of the
 * call hold.
 */
export type CompleteNext = (request: Request, options?: CallOptions) => Promise<Response>;

/** Like CompleteNext, for a stream. Nothing is sent before the first event is asked for. */
export type StreamNext = (request: Request, options?: CallOptions) => EventStream;

/** A middleware with a method for each kind of call. A kind without a method passes by. */
export interface MiddlewareMethods {
  /** Wraps a whole answer. */
  complete?(request: Request, next: CompleteNext, options: CallOptions): Promise<Response>;
  /** Wraps the events. May observe, change, add or withhold them; the laws of the stream then are its own task. */
  stream?(request: Request, next: StreamNext, options: CallOptions): AsyncIterable<StreamEvent>;
}

/**
 * A middleware for both kinds of call in one function. Around a stream, the events pass by
 * while `next` waits, and `next` gives the response that the `finish` event carries:
 *
 * - `finish` is held until the function has returned. What it changed in the response goes
 *   along, except the message, which the caller has read by then.
 * - A response that it returns without `next`, from a cache for instance, becomes a stream.
 * - It may call `next` again where the first try failed before any event.
 * - What it throws ends the stream. Where the caller leaves, `next` throws AbortError; waits of
 *   its own should heed `options.signal`.
 */
export type MiddlewareFunction = (
  request: Request,
  next: CompleteNext,
  options: CallOptions,
) => Promise<Response>;

/** What can be put around every call of a Client. */
export type Middleware = MiddlewareFunction | MiddlewareMethods;

type Call<Result> = (request: Request, options: CallOptions) => Result;

/** Puts middleware around a call: the first one is outermost, so it sees the request first and the answer last. */
export function wrapComplete(
  middleware: readonly Middleware[],
  send: Call<Promise<Response>>,
): Call<Promise<Response>> {
  return middleware.reduceRight<Call<Promise<Response>>>((next, entry) => {
    const run = typeof entry === "function" ? entry : entry.complete?.bind(entry);
    return run === undefined ? next : (request, options) => run(request, nextOf(next, options), options);
  }, send);
}

/** Like wrapComplete, for streams. Batches stay whole where a middleware gives back the stream of `next`. */
export function wrapStream(middleware: readonly Middleware[], send: Call<EventStream>): Call<EventStream> {
  return middleware.reduceRight<Call<EventStream>>((next, entry) => {
    if (typeof entry === "function") {
      return (request, options) =>
        new EventStream(streamAround(entry, request, nextOf(next, options), options));
    }
    const run = entry.stream?.bind(entry);
    if (run === undefined) return next;
    return (request, options) => EventStream.from(run(request, nextOf(next, options), options));
  }, send);
}

function nextOf<Result>(
  next: Call<Result>,
  options: CallOptions,
): (request: Request, own?: CallOptions) => Result {
  return (request, own = options) => next(request, own);
}
