import type { CallOptions } from "../core/adapter.ts";
import { EventStream } from "../core/event-stream.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import { streamThroughFunction } from "./function-middleware.ts";
import type { Middleware } from "./middleware.ts";

type Call<Result> = (request: Request, options: CallOptions) => Result;

/** Puts middleware around a call: the first one is outermost, so it sees the request first and the answer last. */
export function wrapComplete(
  middleware: readonly Middleware[],
  send: Call<Promise<Response>>,
): Call<Promise<Response>> {
  return middleware.reduceRight<Call<Promise<Response>>>((next, entry) => {
    const run = typeof entry === "function" ? entry : entry.complete?.bind(entry);
    return run === undefined
      ? next
      : (request, options) => run(request, withDefaultOptions(next, options), options);
  }, send);
}

/** Like wrapComplete, for streams. Batches stay whole if a middleware returns the stream of `next`. */
export function wrapStream(middleware: readonly Middleware[], send: Call<EventStream>): Call<EventStream> {
  return middleware.reduceRight<Call<EventStream>>((next, entry) => {
    if (typeof entry === "function") {
      return (request, options) =>
        new EventStream(streamThroughFunction(entry, request, withDefaultOptions(next, options), options));
    }
    const run = entry.stream?.bind(entry);
    if (run === undefined) return next;
    return (request, options) => EventStream.from(run(request, withDefaultOptions(next, options), options));
  }, send);
}

function withDefaultOptions<Result>(
  next: Call<Result>,
  options: CallOptions,
): (request: Request, changedOptions?: CallOptions) => Result {
  return (request, changedOptions = options) => next(request, changedOptions);
}
