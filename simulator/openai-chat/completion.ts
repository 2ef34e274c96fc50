import type { ErrorObject } from "../../src/wire/openai-chat/error.ts";
import type { Choice, Completion, Logprobs } from "../../src/wire/openai-chat/response.ts";
import { describeFailure, toStatus } from "../openai/failure.ts";
import type { Turn } from "../script/turn.ts";
import {
  type ChatCall,
  getChoiceCount,
  getFinishReason,
  getServiceFacts,
  logprobsField,
  toEnvelope,
} from "./chat-call.ts";
import { createLogprobs, listTokens } from "./logprobs.ts";
import { assistantMessage } from "./message.ts";
import { finalCounts, toUsage } from "./usage.ts";
import { chatWordings } from "./wordings.ts";

/** Creates the body of a whole answer. */
export function wholeCompletion(turn: Turn, call: ChatCall): Completion {
  const choices = Array.from({ length: getChoiceCount(call) }, (_, index) => toChoice(turn, call, index));
  return completion(turn, call, { choices });
}

/**
 * Creates the body of a whole answer that failed before its end: `failed` has the error next to the choices, `nested`
 * has it in the choice whose finish reason is `error`.
 */
export function failedCompletion(
  turn: Turn,
  call: ChatCall,
  style: "failed" | "nested",
  code: string | undefined,
): Completion {
  const error = failureFacts(call, code);
  const choice = { ...toChoice(turn, call, 0), finish_reason: "error" };
  return completion(
    turn,
    call,
    style === "failed" ? { choices: [choice], error } : { choices: [{ ...choice, error }] },
  );
}

/**
 * Returns the `error` of a failed choice or answer. Servers other than OpenAI have a status as code.
 * @param requested The code that the model string asks for.
 */
export function failureFacts({ options }: ChatCall, requested: string | undefined): ErrorObject {
  const { code, message } = describeFailure(requested, chatWordings);
  return { code: (options.error_shape ?? "openai") === "openai" ? code : toStatus(code), message };
}

function completion(turn: Turn, call: ChatCall, fields: Pick<Completion, "choices" | "error">): Completion {
  const usage = toUsage(finalCounts(turn, getChoiceCount(call)), call.options.usage_fields);
  return {
    ...toEnvelope(call, "chat.completion"),
    ...fields,
    ...(call.options.usage_style === "none" ? {} : { usage }),
    ...getServiceFacts(call),
  };
}

function toChoice(turn: Turn, call: ChatCall, index: number): Choice {
  const message = assistantMessage(turn, call, index);
  return {
    index,
    message,
    ...logprobsField(call, toLogprobs(turn, call)),
    ...(call.options.no_finish === true ? {} : { finish_reason: getFinishReason(turn, call) }),
  };
}

function toLogprobs(turn: Turn, { request }: ChatCall): Logprobs | null {
  const part = turn.parts.find(({ kind }) => kind === "text" || kind === "refusal");
  if (part?.kind !== "text" && part?.kind !== "refusal") return null;
  const field = part.kind === "refusal" ? "refusal" : "content";
  return createLogprobs(request).of(field, listTokens(part.text));
}
