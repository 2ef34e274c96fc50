import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions } from "../core/adapter.ts";
import { type Batches, lazyBatches } from "../core/batches.ts";
import { SDKError, withCause } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import { RepeatLimit } from "../core/repeat-limit.ts";
import type { Attempt } from "../gen/outrigger/v1/attempt_pb.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";
import { attemptsUntil, noteAttempts, startAttempt, withAttempts } from "./attempts.ts";
import { openStream } from "./open-stream.ts";
import { waitFor } from "./retry-policy.ts";

/** The attempt to make after one that failed. */
export interface NextAttempt {
  readonly request: Request;
  /** Time to wait before the attempt, in milliseconds. */
  readonly delayMs: number;
}

/** Decides after each failure of a call whether to repeat it. Undefined: the call has failed. */
export type Decide = (error: SDKError) => NextAttempt | undefined;

/**
 * Creates a middleware that may repeat a call; a stream only until its caller has got an event. Failures before an
 * answer are listed in `Response.attempts`; if the call fails, the error before the last one is its cause. The calls of
 * all such middleware together have one limit, see `CallOptions.repeats`.
 * @param decideFor Called once for each call.
 */
export function repeatCalls(
  decideFor: (request: Request, options: CallOptions) => Decide,
): Required<MiddlewareMethods> {
  return {
    async complete(request, next, callOptions) {
      const options = withRepeatLimit(callOptions);
      const decide = decideFor(request, options);
      const { result, failed } = await repeat(request, options, decide, (changed) => next(changed, options));
      return withAttempts(result, failed);
    },
    stream(request, next, callOptions) {
      const options = withRepeatLimit(callOptions);
      const open = async () => {
        const decide = decideFor(request, options);
        const { result, failed } = await repeat(request, options, decide, (changed) =>
          openStream(next(changed, options)),
        );
        return failed.length === 0 ? result : streamWithAttempts(result, failed);
      };
      return new EventStream(lazyBatches(open));
    },
  };
}

/** Returns the options of a call with the limit that all its attempts share. */
export function withRepeatLimit(options: CallOptions): LimitedOptions {
  return isLimited(options) ? options : { ...options, repeats: new RepeatLimit() };
}

type LimitedOptions = CallOptions & { readonly repeats: RepeatLimit };

function isLimited(options: CallOptions): options is LimitedOptions {
  return options.repeats !== undefined;
}

interface Outcome<Result> {
  readonly result: Result;
  readonly failed: readonly Attempt[];
}

async function repeat<Result>(
  first: Request,
  options: LimitedOptions,
  decide: Decide,
  send: (request: Request) => Promise<Result>,
): Promise<Outcome<Result>> {
  const failed: Attempt[] = [];
  let request = first;
  let earlier: SDKError | undefined;
  for (;;) {
    const start = startAttempt();
    try {
      return { result: await send(request), failed };
    } catch (thrown) {
      if (!(thrown instanceof SDKError)) throw thrown;
      failed.push(...attemptsUntil(thrown, request, options, start));
      const error = withPreviousError(thrown, earlier);
      const isOver = options.signal?.aborted || options.repeats.isReached;
      const next = isOver ? undefined : decide(thrown);
      if (next === undefined) {
        noteAttempts(error, failed);
        throw error;
      }
      options.repeats.add();
      await pause(next.delayMs, options, failed);
      request = next.request;
      earlier = error;
    }
  }
}

/** Returns an error with the previous one as its cause. */
export function withPreviousError(error: SDKError, earlier: SDKError | undefined): SDKError {
  // The cause of an internal error is the bug, which the log needs.
  if (earlier === undefined || error.kind === ErrorKind.INTERNAL) return error;
  return withCause(error, earlier);
}

async function pause(
  delayMs: number,
  { signal, timing }: CallOptions,
  failed: readonly Attempt[],
): Promise<void> {
  if (delayMs <= 0) return;
  const last = failed.at(-1);
  if (last !== undefined) last.retryDelay = durationFromMs(Math.round(delayMs));
  timing?.beginWait("queue");
  try {
    await waitFor(delayMs, signal);
  } finally {
    timing?.endWait("queue");
  }
}

type Batch = readonly StreamEvent[];

/** Adds the attempts that failed before a stream to its final response. Inspects only the last event of a batch. */
export function streamWithAttempts(
  stream: Batches<StreamEvent>,
  failed: readonly Attempt[],
): Batches<StreamEvent> {
  const source = stream[Symbol.asyncIterator]();
  const change = (result: IteratorResult<Batch>): IteratorResult<Batch> =>
    result.done === true ? result : { done: false, value: finishedWith(result.value, failed) };
  const changed: AsyncIterator<Batch> = {
    next: () => source.next().then(change),
    return: async () => (await source.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => changed };
}

function finishedWith(batch: Batch, failed: readonly Attempt[]): Batch {
  const last = batch.at(-1);
  if (last?.event.case !== "finish" || last.event.value.response === undefined) return batch;
  const value = { ...last.event.value, response: withAttempts(last.event.value.response, failed) };
  return [...batch.slice(0, -1), { ...last, event: { case: "finish", value } }];
}
