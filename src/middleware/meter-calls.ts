import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions } from "../core/adapter.ts";
import { lazyBatches } from "../core/batches.ts";
import { type SDKError, toSdkError } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import { isRefusal } from "./refusals.ts";
import { type StreamEnd, watchStream } from "./watch-stream.ts";

/** The usage of a call. */
export interface Spent {
  /** Whether the call was sent to the provider. */
  readonly wasSent: boolean;
  /** Tokens of the call: as the provider reports them, else as far as they are known. */
  readonly usage: Usage;
}

/** The amount that is reserved for a call before it begins. */
export interface Reservation {
  /** The usage for which the reservation was made. */
  readonly estimate: Usage;
  /** Replaces the reserved amount by the used one. Called once. Must not throw. */
  settle(spent: Spent): void;
}

/**
 * Creates a middleware that reserves something for each call, and settles it when the call is over, however it ends.
 * @param reserve Throws if the call is refused.
 */
export function meterCalls(
  reserve: (request: Request, options: CallOptions) => Reservation | Promise<Reservation>,
): Required<MiddlewareMethods> {
  return {
    async complete(request, next, options) {
      // A count costs nothing.
      if (options.operation?.kind === "count_tokens") return next(request);
      const reservation = await reserve(request, options);
      try {
        const response = await next(request);
        reservation.settle(spentByAnswer(response, reservation));
        return response;
      } catch (thrown) {
        reservation.settle(spentByFailure(toSdkError(thrown), reservation));
        throw thrown;
      }
    },
    stream(request, next, options) {
      const open = async () => {
        const reservation = await reserve(request, options);
        return watchStream(next(request).batches(), {
          end: (end) => reservation.settle(spentByStream(end, reservation)),
        });
      };
      return new EventStream(lazyBatches(open));
    },
  };
}

function spentByAnswer({ usage }: Response, { estimate }: Reservation): Spent {
  return { wasSent: true, usage: usage ?? estimate };
}

/**
 * A failure before output costs nothing. A call that was cancelled may have run for long, so it counts as estimated.
 */
function spentByFailure(error: SDKError, { estimate }: Reservation): Spent {
  if (isRefusal(error)) return { wasSent: false, usage: nothing(estimate) };
  return { wasSent: true, usage: error.usage ?? (mayHaveRun(error) ? estimate : nothing(estimate)) };
}

function spentByStream({ response, error, events }: StreamEnd, reservation: Reservation): Spent {
  if (response !== undefined) return spentByAnswer(response, reservation);
  const isKnown = error?.usage !== undefined || (error !== undefined && !mayHaveRun(error));
  if (isKnown) return spentByFailure(error, reservation);
  const { estimate } = reservation;
  const outputTokens = Math.min(estimate.outputTokens, events * TOKENS_PER_EVENT);
  return { wasSent: true, usage: toUsage(estimate, estimate.inputTokens, outputTokens) };
}

/** Whether the model may have been working when a call failed. */
function mayHaveRun({ outputStarted, kind }: SDKError): boolean {
  return outputStarted || kind === ErrorKind.ABORT || kind === ErrorKind.REQUEST_TIMEOUT;
}

/**
 * Estimated tokens of an event of a stream that was left early: most providers send one token in an event, some send
 * ten.
 */
const TOKENS_PER_EVENT = 10;

function nothing(like: Usage): Usage {
  return toUsage(like, 0, 0);
}

function toUsage(like: Usage, inputTokens: number, outputTokens: number): Usage {
  return { ...like, inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}
