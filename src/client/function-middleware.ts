import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "../core/adapter.ts";
import { AbortError, ConfigurationError, StreamError, toSdkError } from "../core/errors.ts";
import type { EventStream } from "../core/event-stream.ts";
import { closeAtOnce } from "../core/item-iterator.ts";
import { withTerminalEvent } from "../core/streamed-call.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import { type Finish, type StreamEvent, StreamEventSchema } from "../gen/outrigger/v1/stream_event_pb.ts";
import type { MiddlewareFunction, StreamNext } from "./middleware.ts";
import { replayedEvents } from "./replayed-events.ts";

type Batch = readonly StreamEvent[];

/** Runs a function middleware around a stream, by the rules at `MiddlewareFunction`. */
export function streamThroughFunction(
  run: MiddlewareFunction,
  request: Request,
  next: StreamNext,
  options: CallOptions,
): AsyncGenerator<Batch> {
  let middleware: RunningMiddleware | undefined;
  const start = () => {
    middleware = new RunningMiddleware(run, request, next, options);
    return middleware;
  };
  return closeAtOnce(passAttempts(start, request, options), () => middleware?.leave());
}

async function* passAttempts(
  start: () => RunningMiddleware,
  request: Request,
  options: CallOptions,
): AsyncGenerator<Batch> {
  const middleware = start();
  try {
    for (let attempt = await middleware.attempt(); attempt; attempt = await middleware.attempt()) {
      if (yield* pass(attempt, middleware)) return;
    }
    yield replayedEvents(await middleware.result, request, options);
  } finally {
    middleware.end();
  }
}

/** Forwards the events of an attempt. Returns false if it failed before any event; a later failure throws. */
async function* pass(attempt: Attempt, middleware: RunningMiddleware): AsyncGenerator<Batch, boolean> {
  let started = false;
  try {
    for await (const batch of withTerminalEvent(attempt.stream.batches())) {
      started ||= batch.length > 0;
      const finish = getFinish(batch);
      if (finish === undefined) yield batch;
      else {
        const { events, error } = await middleware.conclude(attempt, batch, finish);
        yield events;
        if (error !== undefined) throw error.thrown;
        return true;
      }
    }
    // A stream that ends without `finish` throws, see `withTerminalEvent`.
    return false;
  } catch (error) {
    middleware.fail(attempt, error);
    if (started) throw error;
    return false;
  }
}

/** One call of `next`: the stream that it opened, and the response that the middleware waits for. */
interface Attempt {
  readonly stream: EventStream;
  readonly answer: PromiseWithResolvers<Response>;
}

/** A running function middleware, and the link between it and the stream. */
class RunningMiddleware {
  /** The final result of the function. */
  readonly result: Promise<Response>;
  readonly #settled: Promise<undefined>;
  #opened = Promise.withResolvers<Attempt>();
  /** The attempt in progress. */
  #running: Attempt | undefined;
  #over = false;

  constructor(run: MiddlewareFunction, request: Request, next: StreamNext, options: CallOptions) {
    const open = (changed: Request, changedOptions = options) => {
      const answer = this.#open(next(changed, changedOptions));
      // A function that does not await the answer must not end the process by an unhandled rejection.
      answer.catch(() => {});
      return answer;
    };
    this.result = (async () => run(request, open, options))();
    this.#settled = this.result.then(
      () => undefined,
      () => undefined,
    );
  }

  /** Waits for the next call of `next`. Undefined if the function returned or threw without another one. */
  attempt(): Promise<Attempt | undefined> {
    return Promise.race([this.#opened.promise, this.#settled]);
  }

  /** Rejects the function's pending `next`, so that it can make another attempt. */
  fail({ answer }: Attempt, error: unknown): void {
    this.#opened = Promise.withResolvers();
    this.#running = undefined;
    answer.reject(error);
  }

  /** Ends a read of the running attempt: the caller has closed the stream. */
  leave(): void {
    const running = this.#running;
    this.end();
    running?.stream.cancel();
  }

  /** Rejects a `next` that is still pending: the stream is no longer read. */
  end(): void {
    this.#over = true;
    this.#running?.answer.reject(streamOver());
  }

  /** Resolves the pending `next`, waits for the function, and returns the last events with its result. */
  async conclude(
    { answer }: Attempt,
    batch: Batch,
    finish: Finish,
  ): Promise<{ events: Batch; error?: { readonly thrown: unknown } }> {
    const { response } = finish;
    if (response === undefined) throw new StreamError("the finish event has no response");
    answer.resolve(response);
    try {
      const returned = await this.result;
      return { events: returned === response ? batch : withResponse(batch, finish, returned) };
    } catch (thrown) {
      const error = toSdkError(thrown);
      return { events: replaceLast(batch, { case: "error", value: error.toProto() }), error: { thrown } };
    }
  }

  async #open(stream: EventStream): Promise<Response> {
    if (this.#over) throw streamOver();
    if (this.#running)
      throw new ConfigurationError("a middleware called next while its previous call was running");
    this.#running = { stream, answer: Promise.withResolvers() };
    this.#opened.resolve(this.#running);
    return this.#running.answer.promise;
  }
}

function streamOver(): AbortError {
  return new AbortError("the stream around which the middleware runs has ended");
}

function getFinish(batch: Batch): Finish | undefined {
  const event = batch.at(-1)?.event;
  return event?.case === "finish" ? event.value : undefined;
}

/** Keeps the message as it was streamed: the caller has already read it. */
function withResponse(batch: Batch, finish: Finish, returned: Response): Batch {
  const { finishReason, usage } = returned;
  const message = finish.response?.message;
  const value: Finish = { ...finish, response: message === undefined ? returned : { ...returned, message } };
  if (finishReason !== undefined) value.finishReason = finishReason;
  if (usage !== undefined) value.usage = usage;
  return replaceLast(batch, { case: "finish", value });
}

function replaceLast(
  batch: Batch,
  event: NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>,
): Batch {
  const { sequence = 0, elapsedMs = 0 } = batch.at(-1) ?? {};
  return [...batch.slice(0, -1), create(StreamEventSchema, { sequence, elapsedMs, event })];
}
