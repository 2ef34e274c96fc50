import type { IncomingHttpHeaders } from "node:http";
import { FIRST_VERSION_WITHOUT_SAMPLING } from "../../src/wire/anthropic-messages/request.ts";
import { invalidAt, Problem } from "./problem.ts";

/** The only key that is refused, so that tests can provoke the error. */
const refusedKey = "invalid";

/** Versions of the API, by the header `anthropic-version`. */
const versions = ["2023-01-01", "2023-06-01", "2026-10-21"];

/** Checks that a request has a key, as `x-api-key` or as a bearer token. Throws Anthropic's 401. */
export function authenticate(headers: IncomingHttpHeaders): void {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
  const key = headers["x-api-key"] ?? bearer;
  if (key === undefined || key === "") throw unauthenticated("x-api-key header is required");
  if (key === refusedKey) throw unauthenticated("API key is invalid.");
}

/** The features of a version of the API. */
export interface ApiVersion {
  /** Whether requests may set `temperature`, `top_p` and `top_k`. */
  readonly takesSampling: boolean;
}

/** Reads the API version of a request. Throws a 400 if it is missing or unknown. */
export function readVersion(headers: IncomingHttpHeaders): ApiVersion {
  const version = headers["anthropic-version"];
  if (typeof version !== "string") throw invalidAt("anthropic-version", "header is required");
  if (!versions.includes(version)) {
    throw invalidAt("anthropic-version", `"${version.slice(0, 32)}" is not a valid version for this API`);
  }
  return { takesSampling: version < FIRST_VERSION_WITHOUT_SAMPLING };
}

function unauthenticated(message: string): Problem {
  return new Problem(401, { type: "authentication_error", message });
}
