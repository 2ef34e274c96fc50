import { RequestTimeoutError, SDKError } from "../../core/errors.ts";
import { toAbortError } from "../http/abort.ts";
import { LONGEST_TIMER_MS } from "../http/timeouts.ts";

/** A time limit of a signal. */
export interface SignalLimit {
  /** In milliseconds. 0: no limit. */
  readonly ms: number;
  /** Subject of the limit, for the error: `the generation`. */
  readonly what: string;
}

/** A signal that follows another one, has a time limit, and can be aborted directly. */
export class LinkedSignal {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #parent: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #isReleased = false;

  constructor(parent: AbortSignal | undefined, limit?: SignalLimit) {
    if (parent?.aborted) this.abort(parent.reason);
    else {
      this.#parent = parent;
      parent?.addEventListener("abort", this.#follow, { once: true });
      if (limit !== undefined && limit.ms > 0) this.#timer = this.#expireAfter(limit);
    }
  }

  /** Aborts the signal. Has no effect after `release`. */
  abort(reason: unknown): void {
    if (this.#isReleased) return;
    this.release();
    this.#controller.abort(reason);
  }

  /** Removes the timer and the listener. Call it when the work that the signal ends is over. */
  release(): void {
    this.#isReleased = true;
    clearTimeout(this.#timer);
    this.#parent?.removeEventListener("abort", this.#follow);
  }

  readonly #follow = (): void => this.abort(this.#parent?.reason);

  #expireAfter({ ms, what }: SignalLimit): NodeJS.Timeout {
    const expire = () => this.abort(new RequestTimeoutError(`${what} exceeded its time limit of ${ms} ms`));
    return setTimeout(expire, Math.min(ms, LONGEST_TIMER_MS));
  }
}

/**
 * Waits for a promise, at most until the signal is aborted.
 * @throws SDKError of the signal's reason. The outcome of the promise is ignored then.
 */
export function untilAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(toAbortError(signal));
    const end = () => signal.removeEventListener("abort", abort);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject);
    promise.then(end, end);
  });
}

/**
 * Returns the error of work that observed a signal. If the signal was aborted, other errors are consequences: the
 * signal's reason is the error, unless the thrown one has the same kind and more detail.
 */
export function failureUnder(signal: AbortSignal, thrown: unknown): unknown {
  if (!signal.aborted) return thrown;
  const reason = toAbortError(signal);
  return thrown instanceof SDKError && thrown.kind === reason.kind ? thrown : reason;
}
