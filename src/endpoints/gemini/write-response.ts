/** A response of the contract -> an answer of the Gemini API ("GenerateContentResponse"). */
import type { ContentPart, Image } from "../../gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason, type Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { asInt32, asObject, type JsonObject, objectIn, tryParseJson } from "../../kit/json/json.ts";
import { type AnswerMetadata, pickMembers, readAnswerMetadata } from "../answers/answer-metadata.ts";
import { type AnswerEnd, type FinishWords, getFinishWord, toInputObject } from "../stateless/write-answer.ts";
import { StateFields } from "./provider-state.ts";

/** How answers to a request are written. */
export interface AnswerForm {
  /** Name of the provider whose native parts are parts of this API. Empty if the provider speaks another API. */
  readonly gemini: string;
  /**
   * Whether the caller asks for the text of thoughts. Callers that do not ask could mistake it for the answer, so they
   * only get the state that the provider needs back.
   */
  readonly includeThoughts: boolean;
}

/**
 * Converts a whole answer.
 * @throws ServerError if the provider ended the answer with an error that the API has no word for.
 */
export function writeAnswer(response: Response, form: AnswerForm): JsonObject {
  const content = response.message?.content ?? [];
  const states = new StateFields(!form.includeThoughts);
  const written = content.map((part) => writePart(part, states, form));
  const parts = [...written, states.end()].filter((part) => part !== undefined);
  const metadata = readAnswerMetadata(response);
  const candidate = {
    content: { ...(parts.length === 0 ? {} : { parts }), role: "model" },
    ...writeEnd(response, metadata, form.gemini),
  };
  return {
    ...writeFurther(metadata),
    candidates: [candidate],
    ...writeUsage(response.usage, metadata),
    ...writeHead(response.inferenceId, response.model),
  };
}

/** Returns the fields of an answer that only Gemini fills, and that have no unified form. */
export function writeFurther({ members }: AnswerMetadata): JsonObject {
  return pickMembers(members, ["promptFeedback", "modelStatus"]);
}

/** Returns the fields of every answer and every event of a stream. */
export function writeHead(responseId: string, modelVersion: string): JsonObject {
  return { modelVersion, responseId };
}

/** Converts a part; undefined if the API has no form for it, or if the caller does not ask for it. */
export function writePart(part: ContentPart, states: StateFields, form: AnswerForm): JsonObject | undefined {
  const { case: kind, value } = part.part;
  switch (kind) {
    case "text":
      return { text: value, ...states.write(part) };
    case "reasoning":
      return writeThought(value.text, states.write(part), form);
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
      return value.provider === form.gemini && !isAnswerData(part)
        ? asObject(tryParseJson(value.dataJson))
        : undefined;
    default:
      return undefined;
  }
}

function writeThought(
  text: string,
  state: JsonObject,
  { includeThoughts }: AnswerForm,
): JsonObject | undefined {
  if (includeThoughts && text !== "") return { text, thought: true, ...state };
  return hasState(state) ? { text: "", thought: true, ...state } : undefined;
}

/** Reports whether the fields of a thought have more than `thought: true`. */
export function hasState(fields: JsonObject): boolean {
  return Object.keys(fields).some((name) => name !== "thought");
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

/** Reports whether a part has Gemini's data about the answer as a whole, for instance its grounding. */
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
 * @param gemini As in `AnswerForm`.
 * @throws ServerError if the provider ended the answer with an error that the API has no word for.
 */
export function writeEnd(response: Response, { candidate }: AnswerMetadata, gemini: string): JsonObject {
  const content = response.message?.content ?? [];
  const facts = content.filter(isAnswerData).map(({ part }) => {
    const json = part.case === "native" ? part.value.dataJson : "";
    return asObject(tryParseJson(json)) ?? {};
  });
  return {
    ...candidate,
    finishReason: writeReason(response, gemini),
    index: 0,
    ...writeCitations(content, facts.length === 0),
    ...Object.assign({}, ...facts),
  };
}

/** Gemini's reasons that are not known here are repeated too: they must not look like an ordinary end. */
function writeReason(end: AnswerEnd, gemini: string): string {
  const { raw = "", reason } = end.finishReason ?? {};
  const isNew = reason === FinishReason_Reason.OTHER && raw !== "" && end.provider === gemini;
  return isNew || KNOWN_REASONS.has(raw) ? raw : getFinishWord(end, FINISH_WORDS);
}

const FINISH_WORDS: FinishWords = {
  length: "MAX_TOKENS",
  toolCalls: "STOP",
  contentFilter: "SAFETY",
  unfinished: "OTHER",
  stop: "STOP",
};

/** Type of the citations of texts that Gemini recited. */
const RECITATION = "citation";

/**
 * Returns the sources that Gemini recited, unchanged, and the web pages that models of other providers cite
 * ("CitationMetadata").
 * @param includesPages Whether to include the pages. False if they are in another field.
 */
function writeCitations(content: readonly ContentPart[], includesPages: boolean): JsonObject {
  const citations = content.flatMap((part) => part.citations);
  const citationSources = citations.flatMap(({ type, url, title, rawJson }): JsonObject[] => {
    const recited = type === RECITATION ? asObject(tryParseJson(rawJson)) : undefined;
    if (recited !== undefined) return [recited];
    return includesPages && url !== "" ? [{ uri: url, ...(title === "" ? {} : { title }) }] : [];
  });
  return citationSources.length === 0 ? {} : { citationMetadata: { citationSources } };
}

/** Google's words for service tiers, by OpenAI's. */
const TIERS: ReadonlyMap<unknown, string> = new Map([
  ["default", "standard"],
  ["flex", "flex"],
  ["priority", "priority"],
]);

/** Converts token counts: in this API thoughts are not part of the candidate. Counts that are not known stay absent. */
export function writeUsage(usage: Usage | undefined, metadata: AnswerMetadata): JsonObject {
  if (usage === undefined) return {};
  const tier = TIERS.get(metadata.tier);
  const { inputTokens, outputTokens, totalTokens, reasoningTokens, cacheReadTokens } = usage;
  const usageMetadata = {
    ...(tier !== undefined && { serviceTier: tier }),
    ...metadata.usageMetadata,
    // In the contract, tokens of the results of tools belong to the input.
    promptTokenCount: Math.max(
      0,
      inputTokens - (asInt32(metadata.usageMetadata.toolUsePromptTokenCount) ?? 0),
    ),
    candidatesTokenCount: Math.max(0, outputTokens - (reasoningTokens ?? 0)),
    totalTokenCount: totalTokens,
    ...(reasoningTokens === undefined ? {} : { thoughtsTokenCount: reasoningTokens }),
    ...(cacheReadTokens === undefined ? {} : { cachedContentTokenCount: cacheReadTokens }),
  };
  return { usageMetadata };
}
