/** Their body -> our Response. The items of `output` become content parts, in order. */
import { create } from "@bufbuild/protobuf";
import {
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
} from "../../gen/outrigger/v1/message_pb.ts";
import type { Response, Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { isFailureReport, unreadableAnswer } from "../../kit/adapter/failure-body.ts";
import { findNegativeCounts } from "../../kit/adapter/usage.ts";
import { checkPartCount } from "../../kit/call/answer-limits.ts";
import { answerMissing, type CallFacts, createResponse } from "../../kit/call/call-facts.ts";
import { toChangeWarnings } from "../../kit/call/loss-report.ts";
import { asObject, asString, objectsIn, textIn, toText, tryParseJson } from "../../kit/json/json.ts";
import { decodeExactBase64 } from "../../kit/media/exact-base64.ts";
import { type ToolInputKind, toToolCall } from "../../kit/stream/stream-writer.ts";
import type {
  InputTransformation,
  OutputContent,
  OutputItem,
  ResponseObject,
} from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toCitations } from "./citations.ts";
import { reportedError } from "./error.ts";
import { isRunByProvider, toFinishReason } from "./finish-reason.ts";
import { isRedacted, reasoningText } from "./reasoning.ts";
import { StateWriter } from "./state.ts";
import { toMetadata, toUsage } from "./usage.ts";

/**
 * Converts a whole answer to a Response.
 * @throws ServerError if the body is not a Response object, and the failure that it reports.
 */
export function toResponse(body: string, facts: CallFacts): Response {
  const object = asObject<ResponseObject>(tryParseJson(body));
  if (object === undefined) throw unreadableAnswer(body, facts);
  if (isFailure(object)) throw reportedError(object, facts);
  if (!Array.isArray(object.output))
    throw isFailureReport(object) ? reportedError(object, facts) : answerMissing(facts);
  checkPartCount(object.output.length, facts.limits);
  facts.warnings.push(...getTransformationWarnings(object), ...findNegativeCounts(object.usage));
  const items = objectsIn<OutputItem>(object.output);
  const model = textIn(object.model);
  const states = new StateWriter(facts, model);
  const content = reasoningBeside(object, items).map(toReasoningPart);
  for (const item of items) addParts(content, item, states);
  return createResponse(facts, {
    id: textIn(object.id),
    model,
    content,
    finishReason: toFinishReason(object, items),
    usage: toUsage(object.usage, facts.request.includeRaw),
    rawJson: facts.request.includeRaw ? body : "",
    providerMetadataJson: toMetadata(object),
  });
}

/**
 * Reports whether a Response object, or a body sent instead of one, describes a failure: `status: failed`, or `error`.
 */
export function isFailure({ status, error }: Untrusted<ResponseObject>): boolean {
  return status === "failed" || (error !== undefined && error !== null);
}

/** Adds the parts of one output item (provider documentation: "The response object", `output`). */
function addParts(content: ContentPart[], item: Untrusted<OutputItem>, states: StateWriter): void {
  const isCall = item.type === "function_call" || item.type === "custom_tool_call";
  if (item.type === "reasoning") content.push(reasoningPart(item, states));
  else if (isCall && !isRunByProvider(item)) content.push(toolCallPart(item, states));
  else if (item.type !== "message") content.push(singlePart(item, states));
  else {
    const parts = getContentParts(item);
    for (const part of parts) content.push(messagePart(item, part, states));
    if (parts.length === 0) content.push(emptyPart(item, states));
  }
}

function emptyPart(item: Untrusted<OutputItem>, states: StateWriter): ContentPart {
  const part = { case: "text", value: "" } as const;
  return create(ContentPartSchema, { part, providerState: states.ofEmptyMessage(item) });
}

/** Returns the content parts of a message. Some servers send its text alone. */
export function getContentParts({ content }: Untrusted<OutputItem>): readonly Untrusted<OutputContent>[] {
  const text = textIn(content);
  return text === "" ? objectsIn<OutputContent>(content) : [{ type: "output_text", text }];
}

/** One content part of an output message. */
export function messagePart(
  item: Untrusted<OutputItem>,
  part: Untrusted<OutputContent>,
  states: StateWriter,
): ContentPart {
  const text = messageText(part);
  if (text === undefined) return nativePart(states.provider, part, states.ofNativePart(item));
  return {
    // A literal: `create` gives the same object and takes ten times as long.
    $typeName: "outrigger.v1.ContentPart",
    providerState: states.ofMessagePart(item, part),
    citations: toCitations(part, text),
    refusal: part.type === "refusal",
    part: { case: "text", value: text.toWellFormed() },
  };
}

/** Returns the text of a content part of a message; undefined if it is of another kind. */
export function messageText(part: Untrusted<OutputContent>): string | undefined {
  if (part.type === "output_text" || part.type === "text") return textIn(part.text);
  if (part.type === "refusal") return textIn(part.refusal);
  return undefined;
}

/**
 * Returns reasoning that a server sends alongside its items instead of among them. At most one; it cannot be sent back.
 */
export function reasoningBeside(
  { reasoning }: Untrusted<ResponseObject>,
  items: readonly Untrusted<OutputItem>[],
): string[] {
  const text = textIn(reasoning);
  return text === "" || items.some(({ type }) => type === "reasoning") ? [] : [text];
}

function toReasoningPart(text: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "reasoning", value: { text: text.toWellFormed() } } });
}

function reasoningPart(item: Untrusted<OutputItem>, states: StateWriter): ContentPart {
  const value = { text: reasoningText(item).toWellFormed(), redacted: isRedacted(item) };
  return create(ContentPartSchema, {
    part: { case: "reasoning", value },
    providerState: states.ofReasoning(item),
  });
}

function toolCallPart(item: Untrusted<OutputItem>, states: StateWriter): ContentPart {
  const call = { ...callHead(item), id: textIn(item.call_id) };
  return create(ContentPartSchema, {
    part: { case: "toolCall", value: toToolCall(call, callInput(item, ""), isUnfinished(item)) },
    providerState: states.ofCall(item),
  });
}

/** Name and kind of a call item. */
export function callHead(item: Untrusted<OutputItem>): { name: string; inputKind: ToolInputKind } {
  return { name: textIn(item.name), inputKind: item.type === "custom_tool_call" ? "text" : "argumentsJson" };
}

/**
 * Returns the input of a call item: JSON text, or free text for a custom tool.
 * @param streamed The input from the call's events, used if the item has none.
 */
export function callInput(item: Untrusted<OutputItem>, streamed: string): string {
  // Some servers send the object itself.
  return toText(item.type === "custom_tool_call" ? item.input : item.arguments) || streamed;
}

/** Reports whether the response was stopped in an item. */
export function isUnfinished({ status }: Untrusted<OutputItem>): boolean {
  return status === INCOMPLETE;
}

/** Status of a response that was stopped before its end, and of the item that was cut by that. */
export const INCOMPLETE = "incomplete";

/** Status of a cancelled response. OpenAI does so on request; other servers also send it as an event. */
export const CANCELLED = "cancelled";

/**
 * Returns the only part of an item that is written without deltas: a generated image, or a hosted tool's block
 * verbatim.
 */
export function singlePart(item: Untrusted<OutputItem>, states: StateWriter): ContentPart {
  const data = item.type === "image_generation_call" ? decodeExactBase64(asString(item.result)) : undefined;
  if (data === undefined) return nativePart(states.provider, item, undefined);
  const mediaType = `image/${asString(item.output_format) ?? "png"}`;
  const value = { mediaType, source: { case: "data", value: data } } as const;
  return create(ContentPartSchema, { part: { case: "image", value }, providerState: states.ofImage(item) });
}

function nativePart(
  provider: string,
  block: Untrusted<OutputItem | OutputContent>,
  providerState: ProviderState | undefined,
): ContentPart {
  const value = { provider, kind: textIn(block.type), dataJson: JSON.stringify(block) };
  const state = providerState === undefined ? {} : { providerState };
  return create(ContentPartSchema, { part: { case: "native", value }, ...state });
}

/** Returns the API's reports about omitted earlier reasoning (`input_transformations`) as warnings. */
export function getTransformationWarnings(object: Untrusted<ResponseObject>): Warning[] {
  const transformations = objectsIn<InputTransformation>(object.input_transformations);
  return toChangeWarnings(transformations.map(({ type, reason }) => textIn(reason) || textIn(type)));
}
