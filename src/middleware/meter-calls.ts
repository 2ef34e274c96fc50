import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions } from "../core/adapter.ts";
import type { SDKError } from "../core/errors.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import type { Usage } from "../gen/outrigger/v1/usage_pb.ts";
import { isRefusal } from "./refusals.ts";
import { type CallEnd, watchCalls } from "./watch-stream.ts";

/** The usage of a call. */
export interface Spent {
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
  return watchCalls(async (request, options) => {
    // A count costs nothing.
    if (options.operation?.kind === "count_tokens") return undefined;
    const reservation = await reserve(request, options);
    return { end: (end) => reservation.settle(toSpent(end, reservation)) };
  });
}

/**
 * A failure before output costs nothing. A call that was cancelled may have run for long, so it counts as estimated.
 */
function toSpent({ response, error, events = Infinity }: CallEnd, { estimate }: Reservation): Spent {
  if (response !== undefined) return { wasSent: true, usage: response.usage ?? estimate };
  if (error !== undefined && isRefusal(error)) return { wasSent: false, usage: nothing(estimate) };
  if (error?.usage !== undefined) return { wasSent: true, usage: error.usage };
  if (error !== undefined && !mayHaveRun(error)) return { wasSent: true, usage: nothing(estimate) };
  const outputTokens = Math.min(estimate.outputTokens, events * TOKENS_PER_EVENT);
  return { wasSent: true, usage: toUsage(estimate, estimate.inputTokens, outputTokens) };
}

/** Reports whether the model may have been working when a call failed. */
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
