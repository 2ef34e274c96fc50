/** A response of the contract -> a message of Anthropic's API ("Create a message", response). */
import type { Citation, ContentPart, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { asObject, type JsonObject, textIn, tryParseJson } from "../../kit/json/json.ts";
import type { TextCitation } from "../../wire/anthropic-messages/response.ts";
import { type AnswerMetadata, pickMembers, readAnswerMetadata } from "../answers/answer-metadata.ts";
import { encodeOtherParts } from "../responses/provider-state.ts";
import { type AnswerEnd, getFinishWord, toInputObject } from "../stateless/write-answer.ts";
import { getCallExtras, readNativeBlock, writeCarried, writeThinking } from "./provider-state.ts";

/**
 * Converts a whole answer.
 * @param anthropic Name of the provider whose native parts are blocks of this API. Empty if it speaks another API.
 * @throws ServerError if the provider ended the answer with an error.
 */
export function writeMessage(response: Response, anthropic: string): JsonObject {
  const content = response.message?.content ?? [];
  const blocks = content.map((part) => writeBlock(part, anthropic)).filter((block) => block !== undefined);
  const carried = encodeStates(content);
  const metadata = readAnswerMetadata(response);
  return {
    ...writeHead(response.inferenceId, response.model),
    content: carried === null ? blocks : [...blocks, writeCarried(carried)],
    ...writeStop(response, metadata),
    ...writeContainer(content, anthropic),
    usage: writeUsage(response.usage, metadata),
    ...writeFurther(metadata),
  };
}

/** Returns the fields before the content. */
export function writeHead(inferenceId: string, model: string): JsonObject {
  return { id: `msg_${inferenceId.replace(/^inf_/, "")}`, type: "message", role: "assistant", model };
}

/** Returns the state of the parts whose blocks do not hold it; null if there is none. */
function encodeStates(content: readonly ContentPart[]): string | null {
  return encodeOtherParts(
    content.filter((part) => Object.keys(getCallExtras(part.providerState)).length === 0),
  );
}

/** Converts a part; undefined if the API has no block for it. @param anthropic As for `writeMessage`. */
export function writeBlock(part: ContentPart, anthropic: string): JsonObject | undefined {
  const { case: kind, value } = part.part;
  switch (kind) {
    case "text":
      // Anthropic refuses empty texts in requests. The state of an empty text is carried with the other states.
      if (value === "" && part.citations.length === 0) return undefined;
      return { type: "text", text: value, ...writeCitations(part) };
    case "reasoning":
      return writeThinking(part);
    case "toolCall":
      return {
        type: "tool_use",
        id: value.id,
        name: value.name,
        input: toInputObject(value.input),
        ...getCallExtras(part.providerState),
      };
    case "image":
      return { type: "image", source: toSource(value) };
    case "native":
      return readNativeBlock(part, anthropic);
    default:
      return undefined;
  }
}

/** Returns the citations of a text as the member of its block. */
export function writeCitations({ citations }: Pick<ContentPart, "citations">): JsonObject {
  return citations.length === 0 ? {} : { citations: citations.map(toCitation) };
}

/** Returns Anthropic's citations unchanged, and other citations as search results. */
function toCitation({ rawJson, url, title, sourceId, citedText }: Citation, index: number): JsonObject {
  const raw = asObject(tryParseJson(rawJson));
  if (raw !== undefined && textIn(raw.type).endsWith("_location")) return raw;
  const shared = { cited_text: citedText, title: title || null };
  if (url !== "")
    return { ...shared, type: "web_search_result_location", url, encrypted_index: "" } satisfies TextCitation;
  const block = { search_result_index: index, start_block_index: 0, end_block_index: 1 };
  return { ...shared, type: "search_result_location", source: sourceId, ...block } satisfies TextCitation;
}

function toSource({ mediaType, source }: Image): JsonObject {
  if (source.case !== "data") return { type: "url", url: source.value ?? "" };
  return {
    type: "base64",
    media_type: mediaType || "image/png",
    data: Buffer.from(source.value).toString("base64"),
  };
}

/** Reasons of this API, which are repeated as the provider wrote them. */
const KNOWN_REASONS: ReadonlySet<string> = new Set([
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
  "compaction",
]);

/** Returns the container that Anthropic used, as the member of a message. Later requests may name it. */
export function writeContainer(content: readonly ContentPart[], anthropic: string): JsonObject {
  const values = content.map(({ part }) => (part.case === "native" ? part.value : undefined));
  const used = values.findLast((value) => value?.kind === "container" && value.provider === anthropic);
  const container = used && asObject(tryParseJson(used.dataJson));
  return container === undefined ? {} : { container };
}

/** Returns the fields of a message that only Anthropic fills, and that have no unified form. */
export function writeFurther({ members }: AnswerMetadata): JsonObject {
  return pickMembers(members, ["context_management", "diagnostics"]);
}

/**
 * Returns why an answer ended.
 * @throws ServerError if the provider ended the answer with an error.
 */
export function writeStop(end: AnswerEnd, { members }: AnswerMetadata): JsonObject {
  const { raw = "", stopSequence = "" } = end.finishReason ?? {};
  const word = getFinishWord(end, {
    length: "max_tokens",
    toolCalls: "tool_use",
    contentFilter: "refusal",
    unfinished: "max_tokens",
    stop: stopSequence === "" ? "end_turn" : "stop_sequence",
  });
  return {
    stop_reason: KNOWN_REASONS.has(raw) ? raw : word,
    stop_sequence: stopSequence || null,
    stop_details: asObject(members.stop_details) ?? null,
  };
}

/** Anthropic's counts for which the contract has no fields. */
const FURTHER_COUNTS = ["cache_creation", "inference_geo", "iterations", "server_tool_use", "speed"];

/** Anthropic's words for service tiers, by OpenAI's. */
const TIERS: ReadonlyMap<unknown, string> = new Map([
  ["default", "standard"],
  ["priority", "priority"],
]);

/** Converts token counts: in this API cached tokens are not input tokens. */
export function writeUsage(usage: Usage | undefined, metadata?: AnswerMetadata): JsonObject {
  const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
  const { reasoningTokens } = usage ?? {};
  const tier = TIERS.get(metadata?.tier);
  return {
    ...pickMembers(metadata?.usage ?? {}, FURTHER_COUNTS),
    ...(tier !== undefined && { service_tier: tier }),
    input_tokens: Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cacheReadTokens,
    output_tokens: outputTokens,
    ...(reasoningTokens !== undefined && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
  };
}
