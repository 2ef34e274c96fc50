/** Their body -> our Response. The blocks of `content` become content parts, in order. */
import { create } from "@bufbuild/protobuf";
import { ServerError } from "../../core/errors.ts";
import {
  type Citation,
  CitationSchema,
  type ContentPart,
  ContentPartSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import {
  type FinishReason,
  FinishReasonSchema,
  FinishReason_Reason as Reason,
  type Response,
  type Warning,
} from "../../gen/outrigger/v1/response_pb.ts";
import { type CallFacts, responseOf } from "../../kit/adapter/call-facts.ts";
import { warning } from "../../kit/adapter/loss-report.ts";
import type { ToolCallIdAllocator } from "../../kit/adapter/tool-call-id-allocator.ts";
import {
  asObject,
  asString,
  type JsonObject,
  objectIn,
  objectsIn,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";
import { elementsOf, membersOf } from "../../kit/json/json-source.ts";
import { toolCallOf } from "../../kit/stream/stream-writer.ts";
import { CONTAINER_KIND } from "./assistant.ts";
import { isFailure, reportedError } from "./error.ts";
import { StateWriter } from "./state.ts";
import { usageOf } from "./usage.ts";
import type { Block, MessageObject } from "./wire.ts";

/**
 * A whole answer as our Response.
 * @throws ServerError where the body is no Message object, and the failure that it reports.
 */
export function toResponse(body: string, facts: CallFacts, toolCallIds: ToolCallIdAllocator): Response {
  const message = asObject(tryParseJson(body));
  if (isFailure(message)) throw reportedError(objectIn(message), facts);
  if (!Array.isArray(message?.content)) {
    throw new ServerError("the provider answered with success and a body that is no message", {
      provider: facts.provider,
      requestId: facts.providerRequestId,
    });
  }
  facts.warnings.push(...reportsIn(message));
  const model = textIn(message.model);
  const states = new StateWriter(facts, model);
  const blocks = blocksIn(membersOf(body).get("content") ?? "");
  const { includeRaw } = facts.request;
  return responseOf(facts, {
    id: textIn(message.id),
    model,
    content: [
      ...blocks.map((block) => partOf(block, states, toolCallIds)),
      ...containerParts(
        message.container,
        blocks.map(({ block }) => block),
        states,
      ),
    ],
    finishReason: finishReasonOf(message.stop_reason),
    usage: usageOf(message.usage, model || facts.request.model, includeRaw),
    rawJson: includeRaw ? body : "",
  });
}

/** A block, and how the provider spelled it. */
export interface SpelledBlock {
  readonly block: Block;
  readonly source: string;
}

/** The blocks of a `content` list, from its text. */
export function blocksIn(content: string): SpelledBlock[] {
  return elementsOf(content).flatMap((source) => {
    const block = asObject(tryParseJson(source));
    return block === undefined ? [] : [{ block, source }];
  });
}

/** The part of one block (provider documentation: "Message", `content`). */
function partOf(
  { block, source }: SpelledBlock,
  states: StateWriter,
  toolCallIds: ToolCallIdAllocator,
): ContentPart {
  switch (block.type) {
    case "text":
      return textPart(block, states);
    case "thinking":
      return thinkingPart(textIn(block.thinking), false, states.ofThinking(block));
    case "redacted_thinking":
      return thinkingPart("", true, states.ofRedactedThinking(block));
    case "tool_use":
      return toolCallPart({ block, source }, states, toolCallIds);
    default:
      return nativePart(states.provider, textIn(block.type), source);
  }
}

function textPart(block: Block, states: StateWriter): ContentPart {
  const providerState = states.ofText(block);
  return create(ContentPartSchema, {
    part: { case: "text", value: textIn(block.text).toWellFormed() },
    citations: objectsIn(block.citations).map(citationOf),
    ...(providerState === undefined ? {} : { providerState }),
  });
}

function thinkingPart(
  text: string,
  redacted: boolean,
  providerState: ReturnType<StateWriter["ofThinking"]>,
): ContentPart {
  const value = { text: text.toWellFormed(), redacted };
  return create(ContentPartSchema, { part: { case: "reasoning", value }, providerState });
}

function toolCallPart(
  { block, source }: SpelledBlock,
  states: StateWriter,
  toolCallIds: ToolCallIdAllocator,
): ContentPart {
  const call = {
    id: toolCallIds.take(textIn(block.id)),
    name: textIn(block.name),
    inputKind: "argumentsJson",
  } as const;
  const providerState = states.ofToolUse(block);
  return create(ContentPartSchema, {
    part: { case: "toolCall", value: toolCallOf(call, inputOf(source)) },
    ...(providerState === undefined ? {} : { providerState }),
  });
}

/** The input of a tool call as it is spelled; empty where there is none. @param source The block's text. */
export function inputOf(source: string): string {
  const input = membersOf(source).get("input");
  return input === undefined || input === "null" ? "" : input;
}

/** A block that has no unified form, as it is spelled. */
export function nativePart(provider: string, kind: string, dataJson: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "native", value: { provider, kind, dataJson } } });
}

/**
 * The container in which the provider's code waits for the results of the tool calls that it
 * made itself; the next request must name it. It is not in the content, so it goes last.
 */
export function containerParts(
  container: unknown,
  blocks: readonly Block[],
  { provider }: StateWriter,
): ContentPart[] {
  const waiting = blocks.some(({ type, caller }) => type === "tool_use" && isCode(caller));
  if (asObject(container) === undefined || !waiting) return [];
  return [nativePart(provider, CONTAINER_KIND, JSON.stringify(container))];
}

function isCode(caller: unknown): boolean {
  const type = asObject(caller)?.type;
  return type !== undefined && type !== "direct";
}

/** A citation (provider documentation: "Citations"). What it says of places is about the source, so no place in the text is set. */
export function citationOf(citation: JsonObject): Citation {
  return create(CitationSchema, {
    type: textIn(citation.type),
    title: asString(citation.document_title) ?? textIn(citation.title),
    url: textIn(citation.url),
    citedText: textIn(citation.cited_text).toWellFormed(),
    sourceId: asString(citation.file_id) ?? textIn(citation.source),
    rawJson: JSON.stringify(citation),
  });
}

/** Why the model stopped (provider documentation: "Stop reasons"). */
export function finishReasonOf(stopReason: unknown): FinishReason {
  const raw = textIn(stopReason);
  return create(FinishReasonSchema, { reason: REASONS.get(raw) ?? Reason.OTHER, raw });
}

const REASONS: ReadonlyMap<string, Reason> = new Map([
  ["end_turn", Reason.STOP],
  ["stop_sequence", Reason.STOP],
  ["max_tokens", Reason.LENGTH],
  ["model_context_window_exceeded", Reason.LENGTH],
  ["tool_use", Reason.TOOL_CALLS],
  ["refusal", Reason.CONTENT_FILTER],
]);

/** What the provider tells beside its answer: why it refused, and what it left out of the input. */
export function reportsIn(message: MessageObject): Warning[] {
  const { category, explanation } = objectIn(message.stop_details);
  const details = [textIn(category), textIn(explanation)].filter((text) => text !== "");
  const refusals = details.length === 0 ? [] : [`the provider refused: ${details.join(": ")}`];
  const changes = [
    ...objectsIn(message.input_transformations),
    ...objectsIn(objectIn(message.context_management).applied_edits),
  ].map(({ type, reason }) => `the provider changed the input: ${textIn(reason) || textIn(type)}`);
  return [
    ...refusals.map((text) => warning("", "provider_message", text)),
    ...changes.map((text) => warning("messages", "input_transformed", text)),
  ];
}
