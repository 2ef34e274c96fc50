/** Recognizes by the request which API a client expects, on paths that several APIs share. */
import type { RequestHead } from "../../http/endpoint.ts";

/** Clients of Anthropic's API always send its version. */
export function isAnthropicClient({ headers }: RequestHead): boolean {
  return headers["anthropic-version"] !== undefined;
}

/** Clients of Google's API always send its name or their key. */
export function isGoogleClient({ headers, query }: RequestHead): boolean {
  return (
    ["x-goog-api-client", "x-goog-api-key"].some((name) => headers[name] !== undefined) || query.has("key")
  );
}
