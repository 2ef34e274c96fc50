import type { ChatRequest } from "../../src/wire/openai-chat/request.ts";
import type { Logprobs } from "../../src/wire/openai-chat/response.ts";
import type { AnyCompletion } from "../../src/wire/openai-chat/stream.ts";
import type { ModelOptions } from "../model-options.ts";
import type { Turn } from "../script/turn.ts";
import type { ReceivedRequest } from "../wire-format.ts";

/** A checked request, and the model that answers it. */
export interface ChatCall {
  readonly received: ReceivedRequest;
  readonly request: ChatRequest;
  readonly options: ModelOptions;
  /** Whether the model hides its reasoning, as OpenAI's reasoning models do. */
  readonly hidesReasoning: boolean;
}

/** Returns the fields at the beginning of a whole answer and of each chunk of a stream. */
export function toEnvelope<Kind extends AnyCompletion["object"]>(
  { received, request }: ChatCall,
  object: Kind,
): Pick<AnyCompletion, "id" | "created" | "model"> & { object: Kind } {
  return {
    id: `chatcmpl-${received.number.toString(16).padStart(24, "0")}`,
    object,
    created: Math.floor(received.receivedAt / 1000),
    model: request.model,
  };
}

/** Returns facts about the service. OpenAI's reasoning models have no fingerprint. */
export function getServiceFacts({
  hidesReasoning,
}: ChatCall): Pick<AnyCompletion, "service_tier" | "system_fingerprint"> {
  return { service_tier: "default", system_fingerprint: hidesReasoning ? null : "fp_simulator" };
}

/**
 * Returns the log probabilities of a choice, as a field of the choice: OpenAI's reasoning models do not have the field.
 */
export function logprobsField(
  { hidesReasoning }: ChatCall,
  logprobs: Logprobs | null,
): { logprobs?: Logprobs | null } {
  return hidesReasoning ? {} : { logprobs };
}

/** Returns the number of answers that the request asks for. */
export function getChoiceCount({ request }: ChatCall): number {
  return request.n ?? 1;
}

/**
 * Returns the reason why an answer ends. If the request names the tool to call, the reason is the same as for a text.
 */
export function getFinishReason(turn: Turn, { request, options }: ChatCall): string {
  if (options.finish_reason !== undefined) return options.finish_reason;
  if (turn.stop !== "end") return turn.stop;
  const calls = turn.parts.some((part) => part.kind === "tool_call");
  const { tool_choice: choice } = request;
  const isNamed = typeof choice === "object" && choice.type !== "allowed_tools";
  return calls && !isNamed ? "tool_calls" : "stop";
}
