/**
 * The content of an answer, in a form that is the same for our contract and for the items of OpenAI's Responses API.
 */

import type OpenAI from "openai";
import type { ContentPart, Response } from "outrigger";
import { type FinishReason, FinishReason_Reason } from "outrigger/proto";

/** The facts that may not be lost between a provider and a caller. */
export interface AnswerFacts {
  /** All text, refusals included. */
  readonly text: string;
  readonly reasoning: string;
  /** Calls of the caller's tools: name and input. */
  readonly calls: readonly (readonly [string, string])[];
  readonly status: string;
  /** Input, output and total. */
  readonly usage: readonly number[];
}

/** The facts of an answer that an adapter has read. */
export function factsOfAnswer({ message, finishReason, usage }: Response): AnswerFacts {
  const parts = message?.content ?? [];
  return {
    text: parts.map(textOf).join(""),
    reasoning: parts.map(reasoningOf).join(""),
    calls: parts.flatMap(createCall),
    status: finishReason !== undefined && isUnfinished(finishReason, parts) ? "incomplete" : "completed",
    usage: [usage?.inputTokens ?? 0, usage?.outputTokens ?? 0, usage?.totalTokens ?? 0],
  };
}

/**
 * Whether an answer ended early: at its token limit, or at a filter. A refusal in the model's
 * words is an answer.
 */
function isUnfinished({ reason, raw }: FinishReason, parts: readonly ContentPart[]): boolean {
  if (reason === FinishReason_Reason.OTHER && UNFINISHED.includes(raw)) return true;
  if (reason === FinishReason_Reason.CONTENT_FILTER) return !parts.some(({ refusal }) => refusal);
  return reason === FinishReason_Reason.LENGTH;
}

/** Words of Gemini and Anthropic that have no unified form. */
const UNFINISHED = [
  "OTHER",
  "LANGUAGE",
  "NO_IMAGE",
  "FINISH_REASON_UNSPECIFIED",
  "pause_turn",
  "compaction",
  "queued",
  "in_progress",
  "incomplete",
  "steered",
];

function textOf({ part }: ContentPart): string {
  return part.case === "text" ? part.value : "";
}

function reasoningOf({ part }: ContentPart): string {
  return part.case === "reasoning" && !part.value.redacted ? part.value.text : "";
}

function createCall({ part }: ContentPart): (readonly [string, string])[] {
  return part.case === "toolCall" ? [[part.value.name, part.value.input.value ?? ""]] : [];
}

/** The facts of a response object. */
export function factsOfResponse({ output, status, usage }: OpenAI.Responses.Response): AnswerFacts {
  return {
    text: output.map(textOfItem).join(""),
    reasoning: output.map(reasoningOfItem).join(""),
    calls: output.flatMap(callOfItem),
    status: status ?? "",
    usage: [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0, usage?.total_tokens ?? 0],
  };
}

type Item = OpenAI.Responses.ResponseOutputItem;

function textOfItem(item: Item): string {
  if (item.type !== "message") return "";
  return item.content.map((part) => (part.type === "refusal" ? part.refusal : part.text)).join("");
}

function reasoningOfItem(item: Item): string {
  if (item.type !== "reasoning") return "";
  return [...item.summary, ...(item.content ?? [])].map((part) => part.text).join("");
}

function callOfItem(item: Item): (readonly [string, string])[] {
  if (item.type === "function_call") return [[item.name, item.arguments]];
  return item.type === "custom_tool_call" ? [[item.name, item.input]] : [];
}
