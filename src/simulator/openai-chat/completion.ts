import { describeFailure, statusOfCode } from "../openai/failure.ts";
import type { Turn } from "../script/turn.ts";
import {
  type ChatCall,
  choiceCountOf,
  envelopeOf,
  finishReasonOf,
  logprobsField,
  serviceFactsOf,
} from "./chat-call.ts";
import { createLogprobs, tokensOfText } from "./logprobs.ts";
import { assistantMessage } from "./message.ts";
import { finalCounts, usageOf } from "./usage.ts";
import type { Fields } from "./wire.ts";
import { chatWordings } from "./wordings.ts";

/** The body of a whole answer. */
export function wholeCompletion(turn: Turn, call: ChatCall): Fields {
  const choices = Array.from({ length: choiceCountOf(call) }, (_, index) => choiceOf(turn, call, index));
  return completion(turn, call, { choices });
}

/**
 * The body of a whole answer that failed on the way: `failed` has the facts beside the choices, `nested` in the choice
 * whose finish reason is `error`.
 */
export function failedCompletion(
  turn: Turn,
  call: ChatCall,
  style: "failed" | "nested",
  asked: string | undefined,
): Fields {
  const error = failureFacts(call, asked);
  const choice = { ...choiceOf(turn, call, 0), finish_reason: "error" };
  return completion(
    turn,
    call,
    style === "failed" ? { choices: [choice], error } : { choices: [{ ...choice, error }] },
  );
}

/** What a choice or an answer that failed says of it. Servers other than OpenAI have a status as code. */
export function failureFacts({ options }: ChatCall, asked: string | undefined): Fields {
  const { code, message } = describeFailure(asked, chatWordings);
  return { code: (options.error_shape ?? "openai") === "openai" ? code : statusOfCode(code), message };
}

function completion(turn: Turn, call: ChatCall, fields: Fields): Fields {
  const usage = usageOf(finalCounts(turn, choiceCountOf(call)), call.options.usage_fields);
  return {
    ...envelopeOf(call, "chat.completion"),
    ...fields,
    ...(call.options.usage_style === "none" ? {} : { usage }),
    ...serviceFactsOf(call),
  };
}

function choiceOf(turn: Turn, call: ChatCall, index: number): Fields {
  const message = assistantMessage(turn, call, index);
  return {
    index,
    message,
    ...logprobsField(call, logprobsOf(turn, call)),
    ...(call.options.no_finish === true ? {} : { finish_reason: finishReasonOf(turn, call) }),
  };
}

function logprobsOf(turn: Turn, { request }: ChatCall): Fields | null {
  const said = turn.parts.find((part) => part.kind === "text" || part.kind === "refusal");
  if (said === undefined) return null;
  const field = said.kind === "refusal" ? "refusal" : "content";
  return createLogprobs(request).of(field, tokensOfText(said.text));
}
