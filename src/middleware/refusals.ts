/** Errors of middleware that refused a call before anything was sent to the provider. */
import { type SDKError, ServerError } from "../core/errors.ts";

const refusals = new WeakSet<SDKError>();

/** Notes that an error is a refusal of this process, and returns it. */
export function refusal<Refused extends SDKError>(error: Refused): Refused {
  refusals.add(error);
  return error;
}

/**
 * Reports whether a limit or a circuit breaker of this process refused a call. A retry would be refused as well;
 * another provider may answer.
 */
export function isRefusal(error: SDKError): boolean {
  return refusals.has(error);
}

/**
 * Returns the refusal of a call that cannot be counted, because the server where sidecars share their counts is
 * unavailable.
 * @param what The rule that refuses.
 * @param problem The server and its problem.
 */
export function refuseUncounted(what: string, problem: string): SDKError {
  const message = `the ${what} cannot be checked, because the server of its shared counts cannot be reached (${problem})`;
  return refusal(new ServerError(message, { retryAfter: 1 }));
}
