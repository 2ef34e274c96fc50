import type { IncomingHttpHeaders } from "node:http";
import { invalidRequest } from "./problem.ts";

/** The only key that is refused, for tests of refused keys. Every other key is accepted. */
const refusedKey = "invalid";

/** Checks that a request has a key as `Authorization: Bearer KEY`. Throws OpenAI's 401. */
export function authenticate(headers: IncomingHttpHeaders): void {
  const key = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
  if (key === undefined) {
    throw invalidRequest(
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from https://platform.openai.com/account/api-keys.",
      null,
      "invalid_api_key",
      401,
    );
  }
  if (key === refusedKey) {
    throw invalidRequest(
      `Incorrect API key provided: ${key.slice(0, 3)}****. You can find your API key at https://platform.openai.com/account/api-keys.`,
      null,
      "invalid_api_key",
      401,
    );
  }
}
