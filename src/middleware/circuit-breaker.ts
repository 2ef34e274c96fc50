import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import { ProviderError, type SDKError, ServerError } from "../core/errors.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { type BreakerRule, type BreakerStore, type CallResult, LocalBreakerStore } from "./breaker.ts";
import { checkOption } from "./check-option.ts";
import { describeTarget } from "./describe.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { isRefusal, refusal, refuseUncounted } from "./refusals.ts";
import { watchCalls } from "./watch-stream.ts";

/** Options of `createCircuitBreaker`. */
export interface CircuitBreakerOptions {
  /** Share of the calls of the window that must fail, above 0 and at most 1. Default 0.5. */
  readonly failureRatio?: number | undefined;
  /**
   * Minimum number of calls in the window for a breaker to open. Default 10: of two calls, one may fail by accident.
   */
  readonly minCalls?: number | undefined;
  /** Length of the window in seconds. Default 30. */
  readonly window?: number | undefined;
  /** Seconds for which no call passes. Then one call passes as a probe. Default 30. */
  readonly openFor?: number | undefined;
  /** Keeps the breakers. Default: the memory of this process. */
  readonly store?: BreakerStore | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/**
 * Refuses calls to a provider's model that has failed too often lately, with a ServerError that says when to retry.
 * Failures are answers that blame the provider, broken connections and time limits. Errors of the request and rate
 * limits do not count, and neither do calls that the caller cancelled or that exceeded a time limit of the caller.
 * @throws ConfigurationError if an option is out of range.
 */
export function createCircuitBreaker(options: CircuitBreakerOptions = {}): Required<MiddlewareMethods> {
  const { observer } = options;
  const rule = toBreakerRule(options);
  const store =
    options.store ?? new LocalBreakerStore(rule, (target, state) => observer?.circuit?.(target, state));
  return watchCalls(async (request, callOptions) => {
    const target = { provider: request.provider, model: request.model };
    const call = await store.enter(target);
    if (!("end" in call)) {
      observer?.refused?.(target, "circuit_breaker");
      throw "away" in call
        ? refuseUncounted("circuit breaker", call.away)
        : openError(target, call.waitMs / 1000);
    }
    return {
      begin: () => call.begin(),
      end({ response, error }) {
        if (response !== undefined) call.end("success");
        else call.end(error === undefined ? "unknown" : toCallResult(error, request, callOptions));
      },
    };
  });
}

/**
 * Returns the rule for opening and closing breakers.
 * @throws ConfigurationError if an option is out of range.
 */
export function toBreakerRule({
  failureRatio = 0.5,
  minCalls = 10,
  window = 30,
  openFor = 30,
}: CircuitBreakerOptions): BreakerRule {
  checkAboveZero("failureRatio", failureRatio, 1, " and at most 1");
  checkAboveZero("minCalls", minCalls);
  checkAboveZero("window", window);
  checkAboveZero("openFor", openFor);
  return { failureRatio, minCalls, windowMs: window * 1000, openMs: openFor * 1000 };
}

function openError(target: CallTarget, retryAfter: number): SDKError {
  const place = describeTarget(target);
  const seconds = Math.ceil(retryAfter);
  return refusal(
    new ServerError(`the circuit breaker of ${place} is open: too many calls failed; retry in ${seconds} s`, {
      retryAfter,
    }),
  );
}

const FAILURES: ReadonlySet<ErrorKind> = new Set([
  ErrorKind.SERVER,
  ErrorKind.NETWORK,
  ErrorKind.STREAM,
  ErrorKind.REQUEST_TIMEOUT,
]);

/** Kinds that do not show whether the provider works. */
const UNKNOWN: ReadonlySet<ErrorKind> = new Set([ErrorKind.RATE_LIMIT, ErrorKind.QUOTA_EXCEEDED]);

/** Classifies the failure of a call for the breaker. */
export function toCallResult(error: SDKError, request: Request, { signal }: CallOptions): CallResult {
  if (signal?.aborted || isRefusal(error) || UNKNOWN.has(error.kind)) return "unknown";
  if (FAILURES.has(error.kind)) return isLocalLimit(error, request) ? "unknown" : "failure";
  // Any other answer of the provider shows that it works.
  return error instanceof ProviderError && error.provider !== "" ? "success" : "unknown";
}

/** Reports whether a time limit of the caller may have expired, or the answer exceeded a limit of this process. */
function isLocalLimit({ kind, retryable }: SDKError, { timeouts }: Request): boolean {
  if (kind === ErrorKind.STREAM) return !retryable;
  if (kind === ErrorKind.NETWORK) return timeouts?.connect !== undefined;
  if (kind !== ErrorKind.REQUEST_TIMEOUT) return false;
  return timeouts?.request !== undefined || timeouts?.betweenBytes !== undefined;
}

function checkAboveZero(name: string, value: number, max = Infinity, atMost = ""): void {
  checkOption(`the circuit breaker's ${name}`, value, value > 0 && value <= max, `a number above 0${atMost}`);
}
