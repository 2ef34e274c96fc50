/** A response of the contract -> a chat completion ("The chat completion object"). */
import type { ContentPart, Image, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason, type Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { readCustomInput } from "../../kit/adapter/custom-tool.ts";
import { dataOfState } from "../../kit/adapter/part-state.ts";
import { asObject, type JsonObject, objectIn, objectsIn, without } from "../../kit/json/json.ts";
import { formatDataUri } from "../../kit/media/media.ts";
import { readAnswerMetadata } from "../answers/answer-metadata.ts";
import { countCodePoints, toAnnotations } from "../responses/write-annotations.ts";
import { type AnswerEnd, type FinishWords, getFinishWord } from "../stateless/write-answer.ts";
import { writeCallExtras, writeReasoning } from "./provider-state.ts";

/** The facts at the beginning of every chunk, and of a whole answer. */
export interface CompletionHead {
  /** `inference_id` of the call. */
  readonly inferenceId: string;
  readonly model: string;
  /** Seconds since 1970. */
  readonly created: number;
}

/**
 * Converts a whole answer.
 * @param customTools Names of the custom tools of the request.
 * @throws ServerError if the provider ended the answer with an error.
 */
export function writeCompletion(response: Response, customTools: ReadonlySet<string>): JsonObject {
  const { inferenceId, model, createdAt, usage } = response;
  const created = Number(createdAt?.seconds ?? Math.floor(Date.now() / 1000));
  const content = response.message?.content ?? [];
  const metadata = readMetadata(response);
  const choice = {
    index: 0,
    message: { ...writeMessage(content, customTools), ...writeExplanation(response, metadata) },
    logprobs: writeLogprobs(content),
    ...writeFinish(response),
    ...metadata.choice,
  };
  return {
    ...writeHead("chat.completion", { inferenceId, model, created }),
    choices: [choice],
    ...(usage === undefined ? {} : { usage: writeUsage(usage, metadata.usage) }),
    ...metadata.answer,
  };
}

/** The provider's metadata without a unified form, by its places in a completion. */
export interface CompletionMetadata {
  /** Fields alongside the choices. */
  readonly answer: JsonObject;
  /** Fields of the choice. */
  readonly choice: JsonObject;
  /** Counts that the contract has no fields for. */
  readonly usage: JsonObject;
}

/** Fields that are written here for every answer, and not taken from the provider's metadata. */
const WRITTEN = ["choices", "created", "id", "model", "object", "service_tier", "usage", "choice"];

/** Reads the provider's metadata without a unified form. */
export function readMetadata(response: Response): CompletionMetadata {
  const { members, usage, tier } = readAnswerMetadata(response);
  return {
    answer: { ...without(members, ...WRITTEN), ...(tier !== undefined && { service_tier: tier }) },
    choice: without(objectIn(members.choice), "index", "message", "logprobs", "finish_reason"),
    // Other APIs have other names for the same counts.
    usage: "prompt_tokens" in usage ? usage : {},
  };
}

/**
 * Returns the reason that Anthropic gives for a refusal as the refusal of the message, which clients show. Empty if
 * there is none, or if the model itself wrote a refusal.
 */
export function writeExplanation(
  { message, finishReason }: Response,
  { answer }: CompletionMetadata,
): JsonObject {
  const { type, explanation } = objectIn(answer.stop_details);
  const isExplained = type === "refusal" && typeof explanation === "string" && explanation !== "";
  const isFiltered = finishReason?.reason === FinishReason_Reason.CONTENT_FILTER;
  const hasRefusal = message?.content.some(({ refusal }) => refusal) === true;
  return isExplained && isFiltered && !hasRefusal ? { refusal: explanation } : {};
}

/** Returns the fields before the choices. */
export function writeHead(object: string, { inferenceId, model, created }: CompletionHead): JsonObject {
  return { id: `chatcmpl-${inferenceId}`, object, created, model };
}

/** Converts the parts of a message. Texts are joined, since the message has one. */
function writeMessage(content: readonly ContentPart[], customTools: ReadonlySet<string>): JsonObject {
  const texts = content.filter(({ part, refusal }) => part.case === "text" && !refusal);
  const refusals = content.filter(({ part, refusal }) => part.case === "text" && refusal);
  const calls = content.map((part) => writeCall(part, customTools)).filter((call) => call !== undefined);
  const images = content.flatMap(({ part }) => (part.case === "image" ? [writeImage(part.value)] : []));
  const annotations = writeAnnotations(texts);
  return {
    role: "assistant",
    content: texts.length === 0 ? null : joinTexts(texts),
    refusal: refusals.length === 0 ? null : joinTexts(refusals),
    ...(annotations.length === 0 ? {} : { annotations }),
    ...writeReasoning(content),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(images.length === 0 ? {} : { images }),
  };
}

function joinTexts(parts: readonly ContentPart[]): string {
  return parts.map(({ part }) => (part.case === "text" ? part.value : "")).join("");
}

function writeCall(part: ContentPart, customTools: ReadonlySet<string>): JsonObject | undefined {
  if (part.part.case !== "toolCall") return undefined;
  const { id, name, input } = part.part.value;
  const called =
    input.case === "text" || customTools.has(name)
      ? { type: "custom", custom: { name, input: getCustomInput(part.part.value) } }
      : { type: "function", function: { name, arguments: input.value ?? "" } };
  return { id, ...called, ...writeCallExtras(part.providerState) };
}

/** Returns the input of a call of a custom tool, which may be a function for the provider. */
export function getCustomInput({ input }: ToolCall): string {
  const text = input.value ?? "";
  return input.case === "text" ? text : (readCustomInput(text) ?? text);
}

/** Converts an image that the model generated, into OpenRouter's form, since OpenAI has none. */
export function writeImage({ mediaType, source }: Image): JsonObject {
  const url =
    source.case === "data"
      ? formatDataUri(mediaType || "image/png", Buffer.from(source.value).toString("base64"))
      : (source.value ?? "");
  return { type: "image_url", image_url: { url } };
}

function writeAnnotations(texts: readonly ContentPart[]): readonly JsonObject[] {
  if (texts.every(({ citations }) => citations.length === 0)) return [];
  let offset = 0;
  return texts.flatMap((text) => {
    const annotations = writeTextAnnotations(text, offset);
    offset += text.part.case === "text" ? countCodePoints(text.part.value) : 0;
    return annotations;
  });
}

/**
 * Returns the citations of one text, in the nested form of this API.
 * @param offset Code points of the content before the text.
 */
export function writeTextAnnotations(part: ContentPart, offset: number): readonly JsonObject[] {
  const text = part.part.case === "text" ? part.part.value : "";
  return toAnnotations(part, text).map((annotation) => {
    const { type, ...facts } = asObject(annotation) ?? {};
    return typeof type === "string" ? { type, [type]: moveSpan(facts, offset) } : {};
  });
}

function moveSpan(facts: JsonObject, offset: number): JsonObject {
  const { start_index: start, end_index: end } = facts;
  if (typeof start !== "number" || typeof end !== "number") return facts;
  return { ...facts, start_index: start + offset, end_index: end + offset };
}

/** Returns the log probabilities that a provider of the same API sent; null if there are none. */
function writeLogprobs(content: readonly ContentPart[]): JsonObject | null {
  const tokens = content.flatMap(({ providerState }) => readLogprobs(dataOfState(providerState)));
  return tokens.length === 0 ? null : { content: tokens, refusal: null };
}

/** Returns the log probabilities in the state of a text. */
export function readLogprobs({ logprobs }: JsonObject): readonly JsonObject[] {
  return objectsIn<JsonObject>(logprobs).map((token) => asObject(token) ?? {});
}

/**
 * Returns why an answer ended. `native_finish_reason` has the provider's word, as OpenRouter has it.
 * @throws ServerError if the provider ended the answer with an error.
 */
export function writeFinish(end: AnswerEnd): JsonObject {
  return {
    finish_reason: getFinishWord(end, FINISH_WORDS),
    native_finish_reason: end.finishReason?.raw ?? "",
  };
}

const FINISH_WORDS: FinishWords = {
  length: "length",
  toolCalls: "tool_calls",
  contentFilter: "content_filter",
  unfinished: "length",
  stop: "stop",
};

/**
 * Converts token counts. Details that the provider did not report stay absent.
 * @param further The provider's counts, with those that the contract has no fields for.
 */
export function writeUsage(usage: Usage, further: JsonObject = {}): JsonObject {
  const { inputTokens, outputTokens, totalTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } =
    usage;
  const prompt = {
    ...objectIn(further.prompt_tokens_details),
    ...(cacheReadTokens === undefined ? {} : { cached_tokens: cacheReadTokens }),
    ...(cacheWriteTokens === undefined ? {} : { cache_write_tokens: cacheWriteTokens }),
  };
  const completion = {
    ...objectIn(further.completion_tokens_details),
    ...(reasoningTokens === undefined ? {} : { reasoning_tokens: reasoningTokens }),
  };
  return {
    ...further,
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
    ...(Object.keys(prompt).length === 0 ? {} : { prompt_tokens_details: prompt }),
    ...(Object.keys(completion).length === 0 ? {} : { completion_tokens_details: completion }),
  };
}
