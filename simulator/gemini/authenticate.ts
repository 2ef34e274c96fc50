import type { ReceivedRequest } from "../wire-format.ts";
import { describeFailure } from "./failure.ts";
import { Problem } from "./problem.ts";

/** The only key that is refused, for tests of wrong keys. Every other key is accepted. */
const refusedKey = "invalid";

/** Checks that a request has a key: in `x-goog-api-key`, the query, or as a bearer token. Throws Google's error. */
export function authenticate({ headers, query }: ReceivedRequest): void {
  const bearer = /^Bearer\s+(\S+)\s*$/i.exec(headers.authorization ?? "")?.[1];
  const key = headers["x-goog-api-key"] ?? query.get("key") ?? bearer ?? "";
  if (key === "") {
    throw new Problem({
      code: 403,
      message:
        "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
      status: "PERMISSION_DENIED",
    });
  }
  if (key === refusedKey) throw new Problem(describeFailure("API_KEY_INVALID"));
}
