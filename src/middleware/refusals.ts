/** Errors of middleware that refused a call before anything was sent to the provider. */
import type { SDKError } from "../core/errors.ts";

const refusals = new WeakSet<SDKError>();

/** Notes that an error is a refusal of this process, and returns it. */
export function refusal<Refused extends SDKError>(error: Refused): Refused {
  refusals.add(error);
  return error;
}

/**
 * Whether a limit or a circuit breaker of this process refused a call. A retry would be refused as well; another
 * provider may answer.
 */
export function isRefusal(error: SDKError): boolean {
  return refusals.has(error);
}
