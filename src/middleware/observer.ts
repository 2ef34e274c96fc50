import type { CallTarget } from "../core/adapter.ts";
import type { SDKError } from "../core/errors.ts";

/** Is notified of what middleware decides, for metrics. No method may throw. */
export interface MiddlewareObserver {
  /** A call that failed goes to another target. */
  fallback?(from: CallTarget, to: CallTarget, error: SDKError): void;
  /** A call that failed is made again. @param delay Seconds until then. */
  retry?(target: CallTarget, error: SDKError, delay: number): void;
}
