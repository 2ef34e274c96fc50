import { ProviderError, type SDKError } from "../../core/errors.ts";
import { boundedId } from "../call/call-facts.ts";
import type { HttpHeaders } from "../http/transport.ts";

/**
 * Returns the error of an answer that redirects the request; undefined for other answers. A redirect is not followed,
 * since the other address would get the key. The same request gets the same answer, so a retry does not help.
 */
export function redirectError(
  provider: string,
  status: number,
  headers: HttpHeaders,
  requestId: string,
): SDKError | undefined {
  if (status < 300 || status >= 400) return undefined;
  const target = toTarget(headers.get("location") ?? "");
  const found = target === undefined ? "a redirect that names no target" : `a redirect to ${target}`;
  const advice = "redirects are not followed, so set the provider's base URL to the final address";
  return new ProviderError(`${provider} answered ${status}, ${found}; ${advice}`, {
    provider,
    httpStatusCode: status,
    requestId: boundedId(requestId),
    retryable: false,
  });
}

const MAX_TARGET_CHARS = 256;

/** Returns the target of a redirect, without a user name, a password and the query, which may hold secrets. */
function toTarget(location: string): string | undefined {
  const url = URL.parse(location, RELATIVE);
  if (location === "" || url === null) return undefined;
  const target = url.origin === RELATIVE ? url.pathname : `${url.protocol}//${url.host}${url.pathname}`;
  return target.slice(0, MAX_TARGET_CHARS);
}

// Stands in for the origin of the request, which the error does not repeat.
const RELATIVE = "http://relative.invalid";
