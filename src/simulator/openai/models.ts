import { scripts } from "../script/scripts.ts";
import type { ReceivedRequest, WholeAnswer } from "../wire-format.ts";
import { openaiHeaders } from "./headers.ts";

/** Answers `GET /v1/models`: one model for each script. */
export function listModels(request: ReceivedRequest): WholeAnswer {
  const data = Object.keys(scripts).map((name) => ({
    id: `sim-${name}`,
    object: "model",
    created: 1_767_225_600,
    owned_by: "simulator",
  }));
  const headers = openaiHeaders(request, { contentType: "application/json", inputTokens: 0 });
  return { status: 200, headers, body: JSON.stringify({ object: "list", data }) };
}
