import type { CallTarget } from "../core/adapter.ts";
import type { SDKError } from "../core/errors.ts";
import type { CircuitState } from "./breaker.ts";

/** The middleware that refuses calls. */
export type RefusedBy = "circuit_breaker" | "rate_limit" | "budget";

/** Why a target is left out for a while. */
export type EjectionReason = "consecutive_failures" | "failure_ratio" | "latency";

/** The end of a hedged request: it answered the call, or another one did, or it failed. */
export type HedgeResult = "won" | "lost" | "failed";

/** A server of counts that sidecars share. */
export type SharedServer = "valkey" | "postgres";

/** Is notified of decisions of middleware, for metrics. No method may throw. */
export interface MiddlewareObserver {
  /** One of several targets of an alias was chosen for a call. */
  chosen?(alias: string, target: CallTarget): void;
  /** A target of an alias is left out for a while. @param seconds How long. */
  ejected?(alias: string, target: CallTarget, reason: EjectionReason, seconds: number): void;
  /** A hedged request has ended. @param target Its destination. */
  hedged?(target: CallTarget, result: HedgeResult): void;
  /** A failed call goes to another target. */
  fallback?(from: CallTarget, to: CallTarget, error: SDKError): void;
  /** A failed call is repeated. @param delay Seconds until then. */
  retry?(target: CallTarget, error: SDKError, delay: number): void;
  /** A circuit breaker has changed its state. */
  circuit?(target: CallTarget, state: CircuitState): void;
  /** This process refused a call before anything was sent. */
  refused?(target: CallTarget, by: RefusedBy): void;
  /** An answer was looked up in a cache. */
  cache?(target: CallTarget, result: "hit" | "miss"): void;
  /** A server of shared counts can be used, or not. Called at the start, and when that changes. */
  sharedServer?(server: SharedServer, isReachable: boolean): void;
  /** A server of shared counts did not answer in time, could not be reached, or refused a command. */
  sharedFailure?(server: SharedServer, reason: "timeout" | "connection" | "refused"): void;
}
