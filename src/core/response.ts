import type { Message } from "../gen/outrigger/v1/message_pb.ts";
import { type FinishReason, FinishReason_Reason, type Response } from "../gen/outrigger/v1/response_pb.ts";
import { ConfigurationError } from "./errors.ts";

/** The Response of every call that succeeds: with a message and a finish reason. */
export type CompleteResponse = Response & {
  readonly message: Message;
  readonly finishReason: FinishReason;
};

/** Why a model stopped, in words. */
export type FinishReasonName = keyof typeof FinishReason_Reason;

const NAMES: ReadonlyMap<FinishReason_Reason, FinishReasonName> = new Map([
  [FinishReason_Reason.UNSPECIFIED, "UNSPECIFIED"],
  [FinishReason_Reason.STOP, "STOP"],
  [FinishReason_Reason.LENGTH, "LENGTH"],
  [FinishReason_Reason.TOOL_CALLS, "TOOL_CALLS"],
  [FinishReason_Reason.CONTENT_FILTER, "CONTENT_FILTER"],
  [FinishReason_Reason.ERROR, "ERROR"],
]);

/** Returns why the model stopped, in words: `STOP`, `LENGTH`, `TOOL_CALLS`. An unknown reason is `OTHER`. */
export function finishReasonOf({ finishReason }: Response): FinishReasonName {
  return NAMES.get(finishReason?.reason ?? FinishReason_Reason.UNSPECIFIED) ?? "OTHER";
}

/**
 * Returns the response as a complete one. Adapters return no others; a middleware can.
 * @throws ConfigurationError naming the missing field.
 */
export function completeResponse(response: Response): CompleteResponse {
  const { message, finishReason } = response;
  if (message !== undefined && finishReason !== undefined) return response as CompleteResponse;
  const missing = message === undefined ? "message" : "finishReason";
  throw new ConfigurationError(`expected a response with a message and a finishReason, found no ${missing}`);
}

/** Reports whether a response came from a cache, so that nothing was used for it. */
export function isCacheHit({ warnings }: Response): boolean {
  return warnings.length > 0 && warnings.some(({ code }) => code === "cache_hit");
}

/** Reports whether a provider interrupted its turn, and continues it when it gets its answer back. */
export function isPaused(response: Response | undefined): boolean {
  return response?.finishReason !== undefined && isPause(response.finishReason);
}

/** Reports whether an answer ended because the provider interrupted its turn (Anthropic's "Stop reasons"). */
export function isPause({ reason, raw }: FinishReason): boolean {
  return reason === FinishReason_Reason.OTHER && raw === "pause_turn";
}
