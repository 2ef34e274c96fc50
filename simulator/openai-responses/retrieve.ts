import { openaiHeaders } from "../openai/headers.ts";
import { invalidRequest } from "../openai/problem.ts";
import { checkMethod } from "../openai/receive.ts";
import type { ReceivedRequest, WholeAnswer } from "../wire-format.ts";
import type { SimulatedResponse } from "./response-object.ts";
import type { StoredResponses } from "./stored-responses.ts";

/** Answers `GET` and `DELETE` of a stored response. Throws the problem that OpenAI reports. */
export function answerStored(request: ReceivedRequest, id: string, stored: StoredResponses): WholeAnswer {
  if (request.method !== "DELETE") checkMethod(request, "GET");
  const response = stored.get(id);
  if (response === undefined) {
    throw invalidRequest(`Response with id '${id.slice(0, 64)}' not found.`, null, null, 404);
  }
  if (request.method === "DELETE") {
    stored.delete(id);
    return answer(request, JSON.stringify({ id, object: "response", deleted: true }));
  }
  if (request.query.get("stream") === "true") {
    throw invalidRequest("The simulator does not support 'stream'.", "stream", "unsupported_by_simulator");
  }
  return answer(request, wholeBody(response));
}

/** Renders a response as a whole answer: with the field `billing`, which streams do not have. */
export function wholeBody(response: SimulatedResponse): string {
  return JSON.stringify({ ...response, billing: { payer: "developer" } });
}

function answer(request: ReceivedRequest, body: string): WholeAnswer {
  const headers = openaiHeaders(request, { contentType: "application/json", inputTokens: 0 });
  return { status: 200, headers, body };
}
