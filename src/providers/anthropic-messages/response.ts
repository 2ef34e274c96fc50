/** Their body -> our Response. The blocks of `content` become content parts, in order. */
import { create } from "@bufbuild/protobuf";
import { type ContentPart, ContentPartSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { Response, Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { unreadableAnswer } from "../../kit/adapter/failure-body.ts";
import { findNegativeCounts } from "../../kit/adapter/usage.ts";
import { checkPartCount } from "../../kit/call/answer-limits.ts";
import { type CallFacts, createResponse, isStopped } from "../../kit/call/call-facts.ts";
import { toChangeWarnings, warning } from "../../kit/call/loss-report.ts";
import { asObject, isEmpty, objectIn, objectsIn, textIn, tryParseJson } from "../../kit/json/json.ts";
import { splitElements, toMembers } from "../../kit/json/json-source.ts";
import { toToolCall } from "../../kit/stream/stream-writer.ts";
import type { FailureBody } from "../../wire/anthropic-messages/error.ts";
import type {
  ContentBlock,
  ContextManagement,
  InputTransformation,
  Message,
  StopDetails,
} from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toCitations } from "./citations.ts";
import { CONTAINER_KIND } from "./container.ts";
import { isFailure, reportedError } from "./error.ts";
import { toFinishReason } from "./finish-reason.ts";
import { StateWriter } from "./state.ts";
import { toMetadata, toUsage } from "./usage.ts";

/**
 * Converts a whole answer to a Response.
 * @throws ServerError if the body is not a Message object, and the failure that it reports.
 */
export function toResponse(body: string, facts: CallFacts): Response {
  const message = asObject<Message | FailureBody>(tryParseJson(body));
  if (message !== undefined && isFailure(message)) throw reportedError(message, facts);
  if (!Array.isArray(message?.content)) {
    throw unreadableAnswer(body, facts);
  }
  checkPartCount(message.content.length, facts.limits);
  facts.warnings.push(...getWarnings(message), ...findNegativeCounts(message.usage));
  const model = textIn(message.model);
  const states = new StateWriter(facts, model);
  const blocks = getBlocks(toMembers(body).get("content") ?? "");
  const { includeRaw } = facts.request;
  const finishReason = toFinishReason(message, blocks.at(-1)?.block.type === "tool_use");
  const isCut = isStopped(finishReason.reason);
  return createResponse(facts, {
    id: textIn(message.id),
    model,
    content: [
      ...blocks.map((block, index) => createPart(block, states, isCut && index === blocks.length - 1)),
      ...containerParts(message.container, states),
    ],
    finishReason,
    usage: toUsage(message.usage, model || facts.request.model, includeRaw, facts.models),
    rawJson: includeRaw ? body : "",
    providerMetadataJson: toMetadata(message, message.usage),
  });
}

/** A block, and its JSON text exactly as received. */
export interface SourceBlock {
  readonly block: Untrusted<ContentBlock>;
  readonly source: string;
}

/** Returns the blocks of a `content` list, from its text. */
export function getBlocks(content: string): SourceBlock[] {
  return splitElements(content).flatMap((source) => {
    const block = asObject<ContentBlock>(tryParseJson(source));
    return block === undefined ? [] : [{ block, source }];
  });
}

/**
 * Creates the part of one block (provider documentation: "Message", `content`).
 * @param isUnfinished Whether the answer was stopped in this block.
 */
function createPart({ block, source }: SourceBlock, states: StateWriter, isUnfinished: boolean): ContentPart {
  switch (block.type) {
    case "text":
      return textPart(block, states);
    case "thinking":
      return thinkingPart(textIn(block.thinking), false, states.ofThinking(block));
    case "redacted_thinking":
      return thinkingPart("", true, states.ofRedactedThinking(block));
    case "tool_use":
      return toolCallPart({ block, source }, states, isUnfinished);
    default:
      return nativePart(states.provider, textIn(block.type), source);
  }
}

function textPart(block: Untrusted<ContentBlock>, states: StateWriter): ContentPart {
  const providerState = states.ofText(block);
  return create(ContentPartSchema, {
    part: { case: "text", value: textIn(block.text).toWellFormed() },
    citations: toCitations(block.citations),
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
  { block, source }: SourceBlock,
  states: StateWriter,
  isUnfinished: boolean,
): ContentPart {
  const call = {
    id: textIn(block.id),
    name: textIn(block.name),
    inputKind: "argumentsJson",
  } as const;
  const providerState = states.ofToolUse(block);
  return create(ContentPartSchema, {
    part: {
      case: "toolCall",
      value: toToolCall(call, isUnfinished ? repairCutInput(source) : toInput(source), isUnfinished),
    },
    ...(providerState === undefined ? {} : { providerState }),
  });
}

/** Returns the JSON text of a tool call's input as received; empty if there is none. @param source The block's text. */
export function toInput(source: string): string {
  const input = toMembers(source).get("input");
  return input === undefined || input === "null" ? "" : input;
}

/**
 * Repairs the input of a call in which the answer was stopped: the API closes the text that the model had written, and
 * gives an empty object if there was none.
 */
export function repairCutInput(source: string): string {
  const input = toInput(source);
  return isEmptyObject(input) ? "" : input;
}

function isEmptyObject(json: string): boolean {
  const value = asObject(tryParseJson(json));
  return json === "" || (value !== undefined && isEmpty(value));
}

/** Creates a part for a block that has no unified form, unchanged. */
export function nativePart(provider: string, kind: string, dataJson: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "native", value: { provider, kind, dataJson } } });
}

/**
 * Returns a part for the container in which the provider ran code. It is not in the content, so its part comes last.
 */
export function containerParts(container: unknown, { provider }: StateWriter): ContentPart[] {
  if (asObject(container) === undefined) return [];
  return [nativePart(provider, CONTAINER_KIND, JSON.stringify(container))];
}

/** Returns the provider's reports alongside its answer: why it refused, and which parts of the input it left out. */
export function getWarnings(message: Untrusted<Message>): Warning[] {
  const { category, explanation } = objectIn<StopDetails>(message.stop_details);
  const details = [textIn(category), textIn(explanation)].filter((text) => text !== "");
  const refusals = details.length === 0 ? [] : [`the provider refused: ${details.join(": ")}`];
  const edits = objectIn<ContextManagement>(message.context_management).applied_edits;
  const changes = [
    ...objectsIn<InputTransformation>(message.input_transformations),
    ...objectsIn<InputTransformation>(edits),
  ].map(({ type, reason }) => [textIn(type), textIn(reason)].filter((text) => text !== "").join(", "));
  return [...refusals.map((text) => warning("", "provider_message", text)), ...toChangeWarnings(changes)];
}
