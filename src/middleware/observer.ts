import type { CallTarget } from "../core/adapter.ts";
import type { SDKError } from "../core/errors.ts";
import type { CircuitState } from "./breaker.ts";

/** What refuses calls. */
export type RefusedBy = "circuit_breaker" | "rate_limit" | "budget";

/** Is notified of what middleware decides, for metrics. No method may throw. */
export interface MiddlewareObserver {
  /** A call that failed goes to another target. */
  fallback?(from: CallTarget, to: CallTarget, error: SDKError): void;
  /** A call that failed is made again. @param delay Seconds until then. */
  retry?(target: CallTarget, error: SDKError, delay: number): void;
  /** A circuit breaker has changed its state. */
  circuit?(target: CallTarget, state: CircuitState): void;
  /** A call was refused by this process, before anything was sent. */
  refused?(target: CallTarget, by: RefusedBy): void;
  /** An answer was looked for in a cache. */
  cache?(target: CallTarget, result: "hit" | "miss"): void;
}
