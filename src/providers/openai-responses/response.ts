/** Their body -> our Response. The items of `output` become content parts, in order. */
import { create } from "@bufbuild/protobuf";
import { ServerError } from "../../core/errors.ts";
import {
  type Citation,
  CitationSchema,
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
} from "../../gen/outrigger/v1/message_pb.ts";
import type { Response, Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { type CallFacts, responseOf } from "../../kit/adapter/call-facts.ts";
import { warning } from "../../kit/adapter/loss-report.ts";
import type { ToolCallIdAllocator } from "../../kit/adapter/tool-call-id-allocator.ts";
import {
  asInt32,
  asString,
  isObject,
  type JsonObject,
  objectsIn,
  textIn,
  tryParseJson,
} from "../../kit/json/json.ts";
import { type ToolInputKind, toolCallOf } from "../../kit/stream/stream-writer.ts";
import { isFailure, reportedError } from "./error.ts";
import { finishReasonOf } from "./finish-reason.ts";
import { StateWriter } from "./state.ts";
import { usageOf } from "./usage.ts";
import type { Item, ResponseObject } from "./wire.ts";

/**
 * A whole answer as our Response.
 * @throws ServerError where the body is no Response object, and the failure that it reports.
 */
export function toResponse(body: string, facts: CallFacts, toolCallIds: ToolCallIdAllocator): Response {
  const object = tryParseJson(body);
  if (!isObject(object)) throw noResponse("a body that is no JSON object", facts);
  if (isFailure(object)) throw reportedError(object, facts);
  if (!Array.isArray(object.output) && object.status === undefined)
    throw noResponse("a body that is no Response object", facts);
  facts.warnings.push(...transformationsIn(object));
  const items = objectsIn(object.output);
  const model = textIn(object.model);
  const states = new StateWriter(facts, model);
  return responseOf(facts, {
    id: textIn(object.id),
    model,
    content: items.flatMap((item) => partsOf(item, states, toolCallIds)),
    finishReason: finishReasonOf(object, items),
    usage: usageOf(object.usage, facts.request.includeRaw),
    rawJson: facts.request.includeRaw ? body : "",
  });
}

function noResponse(what: string, { provider, providerRequestId: requestId }: CallFacts): ServerError {
  return new ServerError(`the provider answered with success and ${what}`, { provider, requestId });
}

/** The parts of one output item (provider documentation: "The response object", `output`). */
function partsOf(item: Item, states: StateWriter, toolCallIds: ToolCallIdAllocator): ContentPart[] {
  switch (item.type) {
    case "message":
      return messageParts(item, states);
    case "reasoning":
      return [thinkingPart(item, states)];
    case "function_call":
    case "custom_tool_call":
      return [toolCallPart(item, states, toolCallIds)];
    default:
      return [wholePart(item, states)];
  }
}

function messageParts(item: Item, states: StateWriter): ContentPart[] {
  const parts = objectsIn(item.content);
  if (parts.length === 0)
    return [
      create(ContentPartSchema, {
        part: { case: "text", value: "" },
        providerState: states.ofEmptyMessage(item),
      }),
    ];
  return parts.map((part) => messagePart(item, part, states));
}

/** One content part of an output message. */
export function messagePart(item: Item, part: JsonObject, states: StateWriter): ContentPart {
  const text = messageText(part);
  if (text === undefined) return nativePart(states.provider, part, states.ofNativePart(item));
  const citations = citationsOf(part);
  const providerState = states.ofMessagePart(item, part);
  return create(ContentPartSchema, {
    part: { case: "text", value: text.toWellFormed() },
    citations,
    providerState,
  });
}

/** The text of a content part of a message; undefined where it is of another kind. */
export function messageText(part: JsonObject): string | undefined {
  if (part.type === "output_text" || part.type === "text") return textIn(part.text);
  if (part.type === "refusal") return textIn(part.refusal);
  return undefined;
}

/** The annotations of an `output_text` part. */
export function citationsOf(part: JsonObject): Citation[] {
  return objectsIn(part.annotations).map(citationOf);
}

function citationOf(annotation: JsonObject): Citation {
  const citation = create(CitationSchema, {
    type: textIn(annotation.type),
    title: (asString(annotation.title) ?? textIn(annotation.filename)).toWellFormed(),
    url: textIn(annotation.url),
    sourceId: textIn(annotation.file_id),
    rawJson: JSON.stringify(annotation),
  });
  const start = asInt32(annotation.start_index);
  const end = asInt32(annotation.end_index);
  if (start !== undefined) citation.startIndex = start;
  if (end !== undefined) citation.endIndex = end;
  return citation;
}

function thinkingPart(item: Item, states: StateWriter): ContentPart {
  const value = { text: reasoningText(item).toWellFormed(), redacted: isRedacted(item) };
  return create(ContentPartSchema, {
    part: { case: "reasoning", value },
    providerState: states.ofReasoning(item),
  });
}

/** The text of a reasoning item: its summary parts, then its raw reasoning, parted by blank lines. */
export function reasoningText(item: Item): string {
  const parts = [...objectsIn(item.summary), ...objectsIn(item.content)];
  return parts
    .map((part) => textIn(part.text))
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Whether a reasoning item hides its text: all there is of it is encrypted. */
export function isRedacted(item: Item): boolean {
  return reasoningText(item) === "" && textIn(item.encrypted_content) !== "";
}

function toolCallPart(item: Item, states: StateWriter, toolCallIds: ToolCallIdAllocator): ContentPart {
  const call = {
    ...callHead(item),
    id: toolCallIds.take(textIn(item.call_id)),
  };
  return create(ContentPartSchema, {
    part: { case: "toolCall", value: toolCallOf(call, callInput(item)) },
    providerState: states.ofCall(item),
  });
}

/** Name and kind of a call item. */
export function callHead(item: Item): { name: string; inputKind: ToolInputKind } {
  return { name: textIn(item.name), inputKind: item.type === "custom_tool_call" ? "text" : "argumentsJson" };
}

/** What a call item is called with: JSON text, or free text for a custom tool. */
export function callInput(item: Item): string {
  return textIn(item.type === "custom_tool_call" ? item.input : item.arguments);
}

/** An item that has no start, deltas and end: a generated image, or a hosted tool's block verbatim. */
export function wholePart(item: Item, states: StateWriter): ContentPart {
  const data = item.type === "image_generation_call" ? exactBytes(asString(item.result)) : undefined;
  if (data === undefined) return nativePart(states.provider, item, undefined);
  const mediaType = `image/${asString(item.output_format) ?? "png"}`;
  const value = { mediaType, source: { case: "data", value: data } } as const;
  return create(ContentPartSchema, { part: { case: "image", value }, providerState: states.ofImage(item) });
}

/** The bytes of base64 text; undefined where the text could not be made from them again. */
function exactBytes(base64: string | undefined): Uint8Array | undefined {
  if (base64 === undefined || base64 === "") return undefined;
  const bytes = Buffer.from(base64, "base64");
  return bytes.toString("base64") === base64 ? bytes : undefined;
}

function nativePart(
  provider: string,
  block: JsonObject,
  providerState: ProviderState | undefined,
): ContentPart {
  const value = { provider, kind: textIn(block.type), dataJson: JSON.stringify(block) };
  const state = providerState === undefined ? {} : { providerState };
  return create(ContentPartSchema, { part: { case: "native", value }, ...state });
}

/** What the API tells of earlier reasoning that it left out (`input_transformations`), as warnings. */
export function transformationsIn(object: ResponseObject): Warning[] {
  return objectsIn(object.input_transformations).map((transformation) => {
    const { type, reason } = transformation;
    return warning(
      "messages",
      "input_transformed",
      `the provider changed the input: ${textIn(reason) || textIn(type)}`,
    );
  });
}
