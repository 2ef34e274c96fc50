/** Their body -> our Response. The items of `output` become content parts, in order. */
import { create } from "@bufbuild/protobuf";
import {
  type Citation,
  CitationSchema,
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
} from "../../gen/outrigger/v1/message_pb.ts";
import {
  type FinishReason,
  FinishReasonSchema,
  FinishReason_Reason as Reason,
  type Response,
} from "../../gen/outrigger/v1/response_pb.ts";
import { type Usage, UsageSchema } from "../../gen/outrigger/v1/usage_pb.ts";
import { type CallFacts, responseOf } from "../../kit/call-facts.ts";
import { asInt32, asObject, asString, isObject, type JsonObject, tryParseJson } from "../../kit/json.ts";
import { warning } from "../../kit/loss-report.ts";
import { toolCallOf } from "../../kit/stream-writer.ts";
import type { ToolCallIds } from "../../kit/tool-call-ids.ts";
import { ServerError } from "../../spec/errors.ts";
import { failureOf } from "./error.ts";
import { StateWriter } from "./state.ts";
import { type Item, objectsIn, type ResponseObject, textIn } from "./wire.ts";

/**
 * A whole answer as our Response.
 * @throws ServerError where the body is no Response object, and the failure that it reports.
 */
export function toResponse(body: string, facts: CallFacts, toolCallIds: ToolCallIds): Response {
  const object = tryParseJson(body);
  if (!isObject(object)) {
    throw new ServerError("the provider answered with success and a body that is no JSON object", {
      provider: facts.provider,
      requestId: facts.providerRequestId,
    });
  }
  const failure = failureOf(object, facts);
  if (failure !== undefined) throw failure;
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

/** The parts of one output item (provider documentation: "The response object", `output`). */
export function partsOf(item: Item, states: StateWriter, toolCallIds: ToolCallIds): ContentPart[] {
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
  const providerState = states.ofMessagePart(item, part);
  const text = messageText(part);
  if (text === undefined) return nativePart(states.provider, part, providerState);
  const citations = citationsOf(part);
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
    title: asString(annotation.title) ?? textIn(annotation.filename),
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
    part: { case: "thinking", value },
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

function toolCallPart(item: Item, states: StateWriter, toolCallIds: ToolCallIds): ContentPart {
  const call = {
    ...callHead(item),
    id: toolCallIds.take(textIn(item.call_id)),
    argumentsJson: callInput(item),
  };
  return create(ContentPartSchema, {
    part: { case: "toolCall", value: toolCallOf(call) },
    providerState: states.ofCall(item),
  });
}

/** Name and kind of a call item. */
export function callHead(item: Item): { name: string; type: "function" | "custom" } {
  return { name: textIn(item.name), type: item.type === "custom_tool_call" ? "custom" : "function" };
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

// Calls that the caller, not the provider, has to run before the model can go on.
const CALLER_RUNS = new Set([
  "function_call",
  "custom_tool_call",
  "computer_call",
  "local_shell_call",
  "apply_patch_call",
  "mcp_approval_request",
]);

/** Why the model stopped. The API has no finish reason of its own: status, details and items tell together. */
export function finishReasonOf(object: ResponseObject, items: readonly Item[]): FinishReason {
  const status = textIn(object.status);
  if (status === "incomplete") return incompleteReasonOf(textIn(asObject(object.incomplete_details)?.reason));
  if (status !== "completed" && status !== "") return finish(Reason.OTHER, status);
  if (items.some(isCallersTurn)) return finish(Reason.TOOL_CALLS, status);
  if (isRefusal(items)) return finish(Reason.CONTENT_FILTER, "refusal");
  return finish(Reason.STOP, status);
}

function incompleteReasonOf(reason: string): FinishReason {
  switch (reason) {
    case "max_output_tokens":
    case "max_messages":
      return finish(Reason.LENGTH, reason);
    case "content_filter":
      return finish(Reason.CONTENT_FILTER, reason);
    default:
      return finish(Reason.OTHER, reason === "" ? "incomplete" : reason);
  }
}

function finish(reason: Reason, raw: string): FinishReason {
  return create(FinishReasonSchema, { reason, raw });
}

function isCallersTurn(item: Item): boolean {
  if (item.type === "shell_call") return asObject(item.environment)?.type === "local";
  return CALLER_RUNS.has(textIn(item.type));
}

function isRefusal(items: readonly Item[]): boolean {
  const parts = items.filter((item) => item.type === "message").flatMap((item) => objectsIn(item.content));
  return parts.some(({ type }) => type === "refusal") && !parts.some(({ type }) => type === "output_text");
}

/**
 * Token counts, alike for every provider: `input_tokens` includes cached and cache-written
 * tokens here already, `output_tokens` includes reasoning. Compatible servers also use the
 * names of Chat Completions. Undefined where the provider said nothing.
 */
export function usageOf(usage: unknown, includeRaw: boolean): Usage | undefined {
  const counts = asObject(usage);
  if (counts === undefined) return undefined;
  const input = asObject(counts.input_tokens_details) ?? asObject(counts.prompt_tokens_details);
  const output = asObject(counts.output_tokens_details) ?? asObject(counts.completion_tokens_details);
  const inputTokens = asInt32(counts.input_tokens) ?? asInt32(counts.prompt_tokens) ?? 0;
  const outputTokens = asInt32(counts.output_tokens) ?? asInt32(counts.completion_tokens) ?? 0;
  const result = create(UsageSchema, { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
  setCount(result, "reasoningTokens", output?.reasoning_tokens);
  setCount(result, "cacheReadTokens", input?.cached_tokens);
  setCount(result, "cacheWriteTokens", input?.cache_write_tokens);
  if (includeRaw) result.rawJson = JSON.stringify(counts);
  return result;
}

function setCount(
  usage: Usage,
  field: "reasoningTokens" | "cacheReadTokens" | "cacheWriteTokens",
  value: unknown,
): void {
  const count = asInt32(value);
  if (count !== undefined) usage[field] = count;
}

/** What the API tells of earlier reasoning that it left out (`input_transformations`), as warnings. */
export function transformationsIn(object: ResponseObject) {
  return objectsIn(object.input_transformations).map((transformation) => {
    const { type, reason } = transformation;
    return warning(
      "messages",
      "input_transformed",
      `the provider changed the input: ${textIn(reason) || textIn(type)}`,
    );
  });
}
