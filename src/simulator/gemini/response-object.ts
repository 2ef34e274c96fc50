import type { Attachment } from "../script/prompt.ts";
import type { Turn } from "../script/turn.ts";
import { isCall } from "./answer-parts.ts";
import { groundingOf } from "./grounding.ts";
import type { AnswerPart } from "./wire.ts";

/** What all objects of one answer have in common. */
export interface ResponseOrigin {
  /** Id of the answer. */
  readonly responseId: string;
  /** The model string. */
  readonly model: string;
  readonly turn: Turn;
  /** What the prompt holds besides text. */
  readonly attachments: readonly Attachment[];
}

/** How far an answer has come. */
export interface Progress {
  /** Tokens of the candidate. */
  readonly candidateTokens: number;
  /** Whether the model has thought to the end. */
  readonly hasThought: boolean;
}

/** An object of the stream: parts that came together. */
export function chunkObject(
  origin: ResponseOrigin,
  parts: readonly AnswerPart[],
  progress: Progress,
): object {
  return responseObject(origin, { content: contentOf(parts), index: 0 }, progress);
}

/** The last object of a stream, or the whole answer: it tells why the model stopped. */
export function finalObject(origin: ResponseOrigin, parts: readonly AnswerPart[]): object {
  const { turn } = origin;
  const calls = parts.some(isCall) ? { finishMessage: "Model generated function call(s)." } : {};
  const candidate = {
    content: contentOf(parts),
    finishReason: finishReasonOf(turn),
    index: 0,
    ...(turn.stop === "content_filter" ? { safetyRatings: ratings(true) } : calls),
    ...groundingOf(turn),
  };
  return responseObject(origin, candidate, finalProgress(turn));
}

/** The only object where the prompt is blocked: there is no candidate then. */
export function blockedObject(origin: ResponseOrigin): object {
  return {
    promptFeedback: { blockReason: "SAFETY", safetyRatings: ratings(false) },
    usageMetadata: usageOf(origin, { candidateTokens: 0, hasThought: false }),
    ...namesOf(origin),
  };
}

/** Whether the model refuses to read on: then the prompt is blocked. */
export function isBlocked({ parts }: Turn): boolean {
  return parts.some((part) => part.kind === "refusal");
}

function responseObject(origin: ResponseOrigin, candidate: object, progress: Progress): object {
  return { candidates: [candidate], usageMetadata: usageOf(origin, progress), ...namesOf(origin) };
}

function namesOf({ model, responseId }: ResponseOrigin): object {
  return { modelVersion: model, responseId };
}

/** A content that says nothing has no list of parts. */
function contentOf(parts: readonly AnswerPart[]): object {
  return parts.length === 0 ? { role: "model" } : { parts, role: "model" };
}

function finishReasonOf({ stop }: Turn): string {
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
  return { candidateTokens: usage.outputTokens - usage.reasoningTokens, hasThought: true };
}

/** Counts of tokens in Google's accounting: thoughts are not the candidate's, and what is zero is left out. */
function usageOf({ turn, attachments }: ResponseOrigin, progress: Progress): object {
  const { inputTokens, cachedTokens, reasoningTokens } = turn.usage;
  const { candidateTokens } = progress;
  const thoughts = progress.hasThought ? reasoningTokens : 0;
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

function promptDetails(inputTokens: number, attachments: readonly Attachment[]): object[] {
  const counts = (["image", "document", "audio"] as const).map((kind) => ({
    modality: kind.toUpperCase(),
    tokenCount: attachments.filter((each) => each.kind === kind).reduce((sum, each) => sum + each.tokens, 0),
  }));
  const others = counts.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  return [
    { modality: "TEXT", tokenCount: inputTokens - others },
    ...counts.filter(({ tokenCount }) => tokenCount > 0),
  ];
}

const harms = ["SEXUALLY_EXPLICIT", "HATE_SPEECH", "HARASSMENT", "DANGEROUS_CONTENT"];

/** What the filters found: the last kind of harm, which for an answer is marked as what blocked it. */
function ratings(blocks: boolean): object[] {
  return harms.map((harm, index) => {
    const category = `HARM_CATEGORY_${harm}`;
    if (index < harms.length - 1) return { category, probability: "NEGLIGIBLE" };
    return { category, probability: "HIGH", ...(blocks ? { blocked: true } : {}) };
  });
}
