import type { MiddlewareMethods } from "../client/middleware.ts";
import type { CallOptions, CallTarget } from "../core/adapter.ts";
import { lazyBatches } from "../core/batches.ts";
import { ConfigurationError, ProviderError, type SDKError, ServerError, toSdkError } from "../core/errors.ts";
import { EventStream } from "../core/event-stream.ts";
import { ErrorKind } from "../gen/outrigger/v1/error_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { BoundedMap } from "./bounded-map.ts";
import {
  type AdmittedCall,
  Breaker,
  type BreakerRule,
  type CallResult,
  type CircuitState,
} from "./breaker.ts";
import { describeTarget } from "./describe.ts";
import type { MiddlewareObserver } from "./observer.ts";
import { isRefusal, refusal } from "./refusals.ts";
import { watchStream } from "./watch-stream.ts";

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
  /** Seconds for which no call passes. Then one call passes and decides. Default 30. */
  readonly openFor?: number | undefined;
  readonly observer?: MiddlewareObserver | undefined;
}

/**
 * Maximum number of breakers that are kept. A breaker is created by a failure, so invented model names do not fill the
 * map at once.
 */
const MAX_BREAKERS = 1000;

/**
 * Refuses calls to a provider's model that has failed too often lately, with a ServerError that says when to retry.
 * Failures are answers that blame the provider, broken connections and time limits. Errors of the request and rate
 * limits do not count, nor do calls that their caller left or gave a time limit.
 * @throws ConfigurationError if an option is out of range.
 */
export function createCircuitBreaker(options: CircuitBreakerOptions = {}): Required<MiddlewareMethods> {
  const breakers = new Breakers(options);
  return {
    async complete(request, next, callOptions) {
      const call = breakers.enter(request);
      try {
        const response = await next(request);
        call.end("success");
        return response;
      } catch (thrown) {
        call.end(toCallResult(toSdkError(thrown), request, callOptions));
        throw thrown;
      }
    },
    stream(request, next, callOptions) {
      const open = () => {
        const call = breakers.enter(request);
        return watchStream(next(request).batches(), {
          begin: () => call.begin(),
          end({ response, error }) {
            if (response !== undefined) call.end("success");
            else call.end(error === undefined ? "unknown" : toCallResult(error, request, callOptions));
          },
        });
      };
      return new EventStream(lazyBatches(open));
    },
  };
}

/** The breakers of all providers and models. */
class Breakers {
  readonly #rule: BreakerRule;
  readonly #observer: MiddlewareObserver | undefined;
  readonly #breakers = new BoundedMap<Breaker>(MAX_BREAKERS);

  constructor({
    failureRatio = 0.5,
    minCalls = 10,
    window = 30,
    openFor = 30,
    observer,
  }: CircuitBreakerOptions) {
    checkRange("failureRatio", failureRatio, 1);
    checkRange("minCalls", minCalls, Infinity);
    checkRange("window", window, Infinity);
    checkRange("openFor", openFor, Infinity);
    this.#rule = { failureRatio, minCalls, windowMs: window * 1000, openMs: openFor * 1000 };
    this.#observer = observer;
  }

  /** Lets a call through. Throws if its breaker is open. */
  enter({ provider, model }: Request): AdmittedCall {
    const target = { provider, model };
    const key = JSON.stringify([provider, model]);
    const breaker = this.#breakers.get(key);
    if (breaker === undefined) return this.#firstCall(key, target);
    const { waitMs } = breaker;
    if (waitMs === 0) return breaker.admit();
    this.#observer?.refused?.(target, "circuit_breaker");
    throw openError(target, waitMs / 1000);
  }

  /** Starts a call without a breaker, which is created if the call fails. */
  #firstCall(key: string, target: CallTarget): AdmittedCall {
    return {
      begin() {},
      end: (result) => {
        if (result !== "failure") return;
        const onChange = (state: CircuitState) => this.#observer?.circuit?.(target, state);
        const create = () => new Breaker(this.#rule, onChange, () => performance.now());
        this.#breakers.getOrCreate(key, create).count(result);
      },
    };
  }
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

/** Kinds that say nothing about whether the provider works. */
const UNKNOWN: ReadonlySet<ErrorKind> = new Set([ErrorKind.RATE_LIMIT, ErrorKind.QUOTA_EXCEEDED]);

/** Returns what the failure of a call says about its provider and model. */
export function toCallResult(error: SDKError, request: Request, { signal }: CallOptions): CallResult {
  if (signal?.aborted || isRefusal(error) || UNKNOWN.has(error.kind)) return "unknown";
  if (FAILURES.has(error.kind)) return isLocalLimit(error, request) ? "unknown" : "failure";
  // Any other answer of the provider shows that it works.
  return error instanceof ProviderError && error.provider !== "" ? "success" : "unknown";
}

/** Whether a time limit of the caller may have run out, or the answer exceeded a limit of this process. */
function isLocalLimit({ kind, retryable }: SDKError, { timeouts }: Request): boolean {
  if (kind === ErrorKind.STREAM) return !retryable;
  if (kind === ErrorKind.NETWORK) return timeouts?.connect !== undefined;
  if (kind !== ErrorKind.REQUEST_TIMEOUT) return false;
  return timeouts?.request !== undefined || timeouts?.betweenBytes !== undefined;
}

function checkRange(name: string, value: number, max: number): void {
  if (value > 0 && value <= max) return;
  const expected = max === Infinity ? "above 0" : `above 0 and at most ${max}`;
  throw new ConfigurationError(`the circuit breaker's ${name} is ${value}; expected a number ${expected}`);
}
