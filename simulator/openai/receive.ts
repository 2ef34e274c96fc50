import { isJsonObject } from "../json-object.ts";
import type { ReceivedRequest } from "../wire-format.ts";
import { string } from "./check.ts";
import { invalidRequest, type Problem } from "./problem.ts";

/** Checks the method of a request. Throws OpenAI's 405. */
export function checkMethod({ method, path }: ReceivedRequest, expected: "GET" | "POST"): void {
  if (method === expected) return;
  throw invalidRequest(`Not allowed to ${method} on ${path}.`, null, "method_not_supported", 405);
}

/**
 * Reads the model that the body of a request names. Throws OpenAI's problem if the body is not a JSON object, and
 * `missing` if the body names no model.
 */
export function readModel({ body }: ReceivedRequest, missing: () => Problem): string {
  if (!isJsonObject(body)) {
    throw invalidRequest(
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, please contact us through our help center at help.openai.com.)",
      null,
      null,
    );
  }
  const { model } = body;
  if (model === undefined) throw missing();
  string({ minimum: 1 })(model, "model");
  return String(model);
}
