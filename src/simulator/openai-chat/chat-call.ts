import type { ModelOptions } from "../model-options.ts";
import type { Turn } from "../script/turn.ts";
import type { ReceivedRequest } from "../wire-format.ts";
import type { ChatRequest, Fields } from "./wire.ts";

/** A checked request, and who answers it. */
export interface ChatCall {
  readonly received: ReceivedRequest;
  readonly request: ChatRequest;
  readonly options: ModelOptions;
  /** Whether the model is one of OpenAI's that reason and do not show it. */
  readonly reasonsInSecret: boolean;
}

/** What a whole answer and each chunk of a stream begin with. */
export function envelopeOf({ received, request }: ChatCall, object: string): Fields {
  return {
    id: `chatcmpl-${received.number.toString(16).padStart(24, "0")}`,
    object,
    created: Math.floor(received.receivedAt / 1000),
    model: request.model,
  };
}

/** Facts about the service. OpenAI's reasoning models have no fingerprint. */
export function serviceFactsOf({ reasonsInSecret }: ChatCall): Fields {
  return { service_tier: "default", system_fingerprint: reasonsInSecret ? null : "fp_simulator" };
}

/** The probabilities of a choice, as a field of it: OpenAI's reasoning models do not have the field. */
export function logprobsField({ reasonsInSecret }: ChatCall, logprobs: Fields | null): Fields {
  return reasonsInSecret ? {} : { logprobs };
}

/** How many answers the request wants. */
export function choiceCountOf({ request }: ChatCall): number {
  return request.n ?? 1;
}

/** Why an answer ends, in OpenAI's words. A call of the one tool that the request names ends like a text. */
export function finishReasonOf(turn: Turn, { request, options }: ChatCall): string {
  if (options.finish_reason !== undefined) return options.finish_reason;
  if (turn.stop !== "end") return turn.stop;
  const calls = turn.parts.some((part) => part.kind === "tool_call");
  const isNamed = typeof request.tool_choice === "object" && request.tool_choice.allowed_tools === undefined;
  return calls && !isNamed ? "tool_calls" : "stop";
}
