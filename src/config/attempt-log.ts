import type { MiddlewareMethods } from "../client/middleware.ts";
import type { Log } from "../core/log.ts";
import { type AttemptEntry, createLogging } from "../middleware/logging.ts";
import type { CallRules } from "./middleware-schema.ts";

/** Logs attempts according to a rule, with the same field names as other lines of the log. */
export function createAttemptLog(
  { redact = [], ...rule }: NonNullable<CallRules["logging"]>,
  log: Log,
): MiddlewareMethods {
  return createLogging({
    ...rule,
    redact: (text) => redact.reduce((rest, pattern) => rest.replace(pattern, "[redacted]"), text),
    log: (entry) => log.info(toFields(entry), "attempt"),
  });
}

/** Fields that are undefined are not written. */
function toFields(entry: AttemptEntry): object {
  return {
    kind: entry.kind,
    provider: entry.provider,
    model: entry.model,
    inference_id: entry.inferenceId,
    duration_ms: entry.durationMs,
    first_event_ms: entry.firstEventMs,
    finish_reason: entry.finishReason,
    input_tokens: entry.inputTokens,
    output_tokens: entry.outputTokens,
    cost_usd: entry.costUsd,
    error_kind: entry.errorKind,
    http_status: entry.httpStatus,
    provider_request_id: entry.providerRequestId,
    left: entry.left,
    messages: entry.messages,
    answer: entry.answer,
  };
}
