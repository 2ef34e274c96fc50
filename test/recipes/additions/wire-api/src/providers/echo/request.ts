/** Our Request -> the body. */
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { LossReport } from "../../kit/call/loss-report.ts";
import type { EchoRequest } from "../../wire/echo/request.ts";
import { toPrompt } from "./input.ts";

/** Translates a request. What the API does not have is reported. */
export function toRequestBody(
  request: Request,
  stream: boolean,
): { readonly body: EchoRequest; readonly warnings: Warning[] } {
  const loss = new LossReport();
  const message = "the API has no such setting; it was left out";
  if (request.temperature !== undefined) loss.lose("temperature", "unsupported_setting", message);
  loss.enforce(request.lossPolicy);
  return { body: { model: request.model, prompt: toPrompt(request), stream }, warnings: loss.warnings };
}
