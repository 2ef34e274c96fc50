/** A response of the contract -> an answer of the Gemini API ("GenerateContentResponse"). */
import type { ContentPart, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { asObject, type JsonObject, objectIn, tryParseJson } from "../../kit/json/json.ts";
import { type AnswerEnd, type FinishWords, getFinishWord, toInputObject } from "../stateless/write-answer.ts";
import { StateFields } from "./provider-state.ts";

/**
 * Converts a whole answer.
 * @param gemini Name of the provider whose native parts are parts of this API; empty if it speaks another one.
 * @throws ServerError if the provider ended the answer with an error that the API has no word for.
 */
export function writeAnswer(response: Response, gemini: string): JsonObject {
  const content = response.message?.content ?? [];
  const states = new StateFields();
  const parts = content.map((part) => writePart(part, states, gemini)).filter((part) => part !== undefined);
  const candidate = {
    content: { ...(parts.length === 0 ? {} : { parts }), role: "model" },
    ...writeEnd(response),
  };
  return {
    candidates: [candidate],
    ...writeUsage(response.usage),
    ...writeHead(response.inferenceId, response.model),
  };
}

/** Returns the fields of every answer and every event of a stream. */
export function writeHead(responseId: string, modelVersion: string): JsonObject {
  return { modelVersion, responseId };
}

/** Converts a part; undefined if the API has no form for it. @param gemini As for `writeAnswer`. */
export function writePart(part: ContentPart, states: StateFields, gemini: string): JsonObject | undefined {
  const { case: kind, value } = part.part;
  switch (kind) {
    case "text":
      return { text: value, ...states.write(part) };
    case "reasoning":
      return { text: value.text, thought: true, ...states.write(part) };
    case "toolCall": {
      const rest = states.write(part);
      const functionCall = {
        ...objectIn(rest.functionCall),
        id: value.id,
        name: value.name,
        args: toInputObject(value.input),
      };
      return { ...rest, functionCall };
    }
    case "image":
    case "audio":
    case "document":
      return writeMedia(value, states.write(part));
    case "native":
      return value.provider === gemini && !isAnswerData(part)
        ? asObject(tryParseJson(value.dataJson))
        : undefined;
    default:
      return undefined;
  }
}

function writeMedia(
  { mediaType, source }: Pick<Image, "mediaType" | "source">,
  rest: JsonObject,
): JsonObject {
  if (source.case !== "data")
    return { ...rest, fileData: { mimeType: mediaType, fileUri: source.value ?? "" } };
  const data = Buffer.from(source.value).toString("base64");
  return { ...rest, inlineData: { ...objectIn(rest.inlineData), mimeType: mediaType || "image/png", data } };
}

/** Reports whether a part has data of Gemini about the answer as a whole, for instance its grounding. */
function isAnswerData({ providerState }: ContentPart): boolean {
  return dataOfState(providerState).of_answer === true;
}

/** The reasons of the API ("FinishReason"), which are repeated as Gemini wrote them. */
const KNOWN_REASONS: ReadonlySet<string> = new Set([
  "MAX_TOKENS",
  "CONTINUATION",
  "SAFETY",
  "RECITATION",
  "LANGUAGE",
  "OTHER",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "MISSING_THOUGHT_SIGNATURE",
  "MODEL_ARMOR",
  "ESCALATION",
  "PUP_LIMITED_DISABLED",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  "IMAGE_OTHER",
  "NO_IMAGE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
]);

/**
 * Returns the fields of the candidate that are known at its end: why it ended, its sources, and other data about it.
 * @throws ServerError if the provider ended the answer with an error that the API has no word for.
 */
export function writeEnd(response: Response): JsonObject {
  const content = response.message?.content ?? [];
  const facts = content.filter(isAnswerData).map(({ part }) => {
    const json = part.case === "native" ? part.value.dataJson : "";
    return asObject(tryParseJson(json)) ?? {};
  });
  return {
    finishReason: writeReason(response),
    index: 0,
    ...(facts.length === 0 ? writeCitations(content) : Object.assign({}, ...facts)),
  };
}

function writeReason(end: AnswerEnd): string {
  const { raw = "" } = end.finishReason ?? {};
  return KNOWN_REASONS.has(raw) ? raw : getFinishWord(end, FINISH_WORDS);
}

const FINISH_WORDS: FinishWords = {
  length: "MAX_TOKENS",
  toolCalls: "STOP",
  contentFilter: "SAFETY",
  unfinished: "OTHER",
  stop: "STOP",
};

/** Returns the web pages that a model of another provider cites ("CitationMetadata"). */
function writeCitations(content: readonly ContentPart[]): JsonObject {
  const cited = content.flatMap(({ citations }) => citations).filter(({ url }) => url !== "");
  const citationSources = cited.map(({ url, title }) => ({ uri: url, ...(title === "" ? {} : { title }) }));
  return citationSources.length === 0 ? {} : { citationMetadata: { citationSources } };
}

/** Converts token counts: in this API thoughts are not part of the candidate. Counts that are not known stay absent. */
export function writeUsage(usage: Usage | undefined): JsonObject {
  if (usage === undefined) return {};
  const { inputTokens, outputTokens, totalTokens, reasoningTokens, cacheReadTokens } = usage;
  const usageMetadata = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)),
    totalTokenCount: totalTokens,
    ...(reasoningTokens === undefined ? {} : { thoughtsTokenCount: reasoningTokens }),
    ...(cacheReadTokens === undefined ? {} : { cachedContentTokenCount: cacheReadTokens }),
  };
  return { usageMetadata };
}
