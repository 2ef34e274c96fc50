import type { IncomingHttpHeaders } from "node:http";

/** Longer ones are no access keys. */
const MAX_TOKEN_CHARS = 512;

/**
 * The token of `authorization: Bearer <token>` (RFC 6750). Empty where there is none; undefined where it is no access
 * key for sure.
 */
export function bearerTokenOf({ authorization = "" }: IncomingHttpHeaders): string | undefined {
  if (authorization === "") return "";
  if (authorization.length > SCHEME.length + MAX_TOKEN_CHARS) return undefined;
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return authorization.slice(SCHEME.length).trim();
}

const SCHEME = "bearer ";
