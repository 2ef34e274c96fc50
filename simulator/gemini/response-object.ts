import type { Content, Part } from "../../src/wire/gemini/request.ts";
import type { Candidate, GenerateContentResponse, UsageMetadata } from "../../src/wire/gemini/response.ts";
import type { Attachment } from "../script/prompt.ts";
import type { Turn } from "../script/turn.ts";
import { isCall } from "./answer-parts.ts";
import { toGrounding } from "./grounding.ts";

/** The data that all objects of one answer share. */
export interface ResponseOrigin {
  /** Id of the answer. */
  readonly responseId: string;
  /** The model string. */
  readonly model: string;
  readonly turn: Turn;
  /** The images, documents and audio of the prompt. */
  readonly attachments: readonly Attachment[];
}

/** The progress of an answer. */
export interface Progress {
  /** Tokens of the candidate. */
  readonly candidateTokens: number;
  /** Whether the thoughts are complete. */
  readonly thoughtsDone: boolean;
}

/** Creates an object of a stream: parts that are sent together. */
export function chunkObject(
  origin: ResponseOrigin,
  parts: readonly Part[],
  progress: Progress,
): GenerateContentResponse {
  return responseObject(origin, { content: getContent(parts), index: 0 }, progress);
}

/** Creates the last object of a stream, or the whole answer: it has the finish reason. */
export function finalObject(origin: ResponseOrigin, parts: readonly Part[]): GenerateContentResponse {
  const { turn } = origin;
  const calls = parts.some(isCall) ? { finishMessage: "Model generated function call(s)." } : {};
  const candidate = {
    content: getContent(parts),
    finishReason: getFinishReason(turn),
    index: 0,
    ...(turn.stop === "content_filter" ? { safetyRatings: ratings(true) } : calls),
    ...toGrounding(turn),
  };
  return responseObject(origin, candidate, finalProgress(turn));
}

/** Creates the only object of an answer whose prompt is blocked. It has no candidate. */
export function blockedObject(origin: ResponseOrigin): GenerateContentResponse {
  return {
    promptFeedback: { blockReason: "SAFETY", safetyRatings: ratings(false) },
    usageMetadata: toUsage(origin, { candidateTokens: 0, thoughtsDone: false }),
    ...getOriginFields(origin),
  };
}

/** Reports whether the prompt is blocked: the turn is a refusal. */
export function isBlocked({ parts }: Turn): boolean {
  return parts.some((part) => part.kind === "refusal");
}

function responseObject(
  origin: ResponseOrigin,
  candidate: Candidate,
  progress: Progress,
): GenerateContentResponse {
  return { candidates: [candidate], usageMetadata: toUsage(origin, progress), ...getOriginFields(origin) };
}

function getOriginFields({
  model,
  responseId,
}: ResponseOrigin): Pick<GenerateContentResponse, "modelVersion" | "responseId"> {
  return { modelVersion: model, responseId };
}

/** Creates a content. An empty content has no list of parts. */
function getContent(parts: readonly Part[]): Content {
  return parts.length === 0 ? { role: "model" } : { parts, role: "model" };
}

function getFinishReason({ stop }: Turn): string {
  switch (stop) {
    case "length":
      return "MAX_TOKENS";
    case "content_filter":
      return "SAFETY";
    case "end":
      return "STOP";
    default:
      return stop satisfies never;
  }
}

function finalProgress({ usage }: Turn): Progress {
  return { candidateTokens: usage.outputTokens - usage.reasoningTokens, thoughtsDone: true };
}

/**
 * Returns the token counts as Google reports them: thoughts are not counted as the candidate's, and zeros are left out.
 */
function toUsage({ turn, attachments }: ResponseOrigin, progress: Progress): UsageMetadata {
  const { inputTokens, cachedTokens, reasoningTokens } = turn.usage;
  const { candidateTokens } = progress;
  const thoughts = progress.thoughtsDone ? reasoningTokens : 0;
  return {
    promptTokenCount: inputTokens,
    ...(candidateTokens > 0 ? { candidatesTokenCount: candidateTokens } : {}),
    totalTokenCount: inputTokens + candidateTokens + thoughts,
    ...(cachedTokens > 0
      ? {
          cachedContentTokenCount: cachedTokens,
          cacheTokensDetails: [{ modality: "TEXT", tokenCount: cachedTokens }],
        }
      : {}),
    promptTokensDetails: promptDetails(inputTokens, attachments),
    ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
    serviceTier: "standard",
  };
}

type PromptDetail = NonNullable<UsageMetadata["promptTokensDetails"]>[number];
type SafetyRating = NonNullable<Candidate["safetyRatings"]>[number];

const modalities = [
  ["image", "IMAGE"],
  ["document", "DOCUMENT"],
  ["audio", "AUDIO"],
] as const;

function promptDetails(inputTokens: number, attachments: readonly Attachment[]): PromptDetail[] {
  const counts = modalities.map(
    ([kind, modality]): PromptDetail => ({
      modality,
      tokenCount: attachments
        .filter((each) => each.kind === kind)
        .reduce((sum, each) => sum + each.tokens, 0),
    }),
  );
  const others = counts.reduce((sum, { tokenCount = 0 }) => sum + tokenCount, 0);
  return [
    { modality: "TEXT", tokenCount: inputTokens - others },
    ...counts.filter(({ tokenCount = 0 }) => tokenCount > 0),
  ];
}

const harms = ["SEXUALLY_EXPLICIT", "HATE_SPEECH", "HARASSMENT", "DANGEROUS_CONTENT"] as const;

/** Returns safety ratings: the last category is rated high, and marked as blocking if it blocks the answer. */
function ratings(blocks: boolean): SafetyRating[] {
  return harms.map((harm, index): SafetyRating => {
    const category = `HARM_CATEGORY_${harm}` as const;
    if (index < harms.length - 1) return { category, probability: "NEGLIGIBLE" };
    return { category, probability: "HIGH", ...(blocks ? { blocked: true } : {}) };
  });
}
