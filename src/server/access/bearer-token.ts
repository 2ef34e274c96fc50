import type { IncomingHttpHeaders } from "node:http";

/** Longer tokens cannot be access keys. */
const MAX_TOKEN_CHARS = 512;

/**
 * Reads the token of `authorization: Bearer <token>` (RFC 6750). Returns an empty string if there is no header, and
 * undefined if the value cannot be an access key.
 */
export function getBearerToken({ authorization = "" }: IncomingHttpHeaders): string | undefined {
  if (authorization === "") return "";
  if (authorization.length > SCHEME.length + MAX_TOKEN_CHARS) return undefined;
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return authorization.slice(SCHEME.length).trim();
}

const SCHEME = "bearer ";
