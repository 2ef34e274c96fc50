import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ProviderModels } from "../../catalog/catalog.ts";
import { ServerError } from "../../core/errors.ts";
import { type Citation, type ContentPart, Role } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import {
  type FinishReason,
  type RateLimitInfo,
  FinishReason_Reason as Reason,
  type Response,
  type Warning,
} from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { type AnswerLimits, answerTooLarge, DEFAULT_ANSWER_LIMITS } from "./answer-limits.ts";
import { warning } from "./loss-report.ts";
import { ToolCallIdAllocator } from "./tool-call-id-allocator.ts";

/**
 * The facts about a call that are known before the provider's body is read, the same for a whole answer and a stream.
 */
export interface CallFacts {
  /** The request being answered. */
  readonly request: Request;
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** The catalog as seen by the provider, for prices. Absent: answers have none. */
  readonly models?: ProviderModels | undefined;
  /** Whether the adapter prices its answers itself. Default false. */
  readonly pricesAnswers?: boolean | undefined;
  readonly inferenceId: string;
  /** When the provider accepted the request, in milliseconds since the epoch. */
  readonly acceptedAt: number;
  /**
   * Notes about parts of the request that were changed or left out in the translation. More may be added while the
   * answer is read.
   */
  readonly warnings: Warning[];
  /** From the response headers; undefined if there are none. */
  readonly rateLimit: RateLimitInfo | undefined;
  /** From the response headers; empty if there is none. */
  readonly providerRequestId: string;
  /** How large the answer may become. Absent: the default. */
  readonly limits?: AnswerLimits;
  /** Masks the keys of the request in texts that come from the provider, and in raw JSON. Absent: there are none. */
  readonly withoutKeys?: (text: string) => string;
}

/** An answer as an adapter has read it from a provider's body. */
export interface Answer {
  readonly id: string;
  /** The model as the provider reports it; empty if it does not. */
  readonly model: string;
  readonly content: ContentPart[];
  readonly finishReason: FinishReason;
  /** Undefined if the provider reports none. */
  readonly usage: Usage | undefined;
  /** The provider's body. Empty unless the request asks for it. */
  readonly rawJson: string;
  /** The provider's request id, if it is in the body instead of a header. */
  readonly providerRequestId?: string;
  /** Facts without a unified form, as `ProviderMetadata` writes them. Default: there are none. */
  readonly providerMetadataJson?: string;
}

/**
 * Returns the provider's word for why an answer ended; empty if there is none. Some servers send the number of an enum
 * value, of which zero means that the answer continues, or null as a text.
 */
export function readFinishReason(value: unknown): string {
  if (typeof value === "string") return value === "null" ? "" : value;
  return typeof value === "number" && value > 0 ? String(value) : "";
}

/**
 * Creates a finish reason.
 * @param raw The provider's value.
 * @param stopSequence The stop sequence that ended the answer, if the provider names it.
 */
export function finishReason(reason: Reason, raw: string, stopSequence = ""): FinishReason {
  const texts = { raw: raw.toWellFormed(), stopSequence: stopSequence.toWellFormed() };
  return { $typeName: "outrigger.v1.FinishReason", reason, ...texts };
}

/** Reports whether a finish reason means that the answer was cut before the model had finished it. */
export function isStopped(reason: Reason): boolean {
  return reason === Reason.LENGTH || reason === Reason.CONTENT_FILTER || reason === Reason.ERROR;
}

/**
 * Creates the error of a response with status 2xx that holds no answer.
 * @param what Describes the content that was found instead.
 */
export function answerMissing(
  { provider, providerRequestId }: CallFacts,
  what = "without an answer",
): ServerError {
  return new ServerError(`the provider answered with success and ${what}`, {
    provider,
    requestId: providerRequestId,
  });
}

/**
 * Combines an answer with the facts of its call, and makes the ids of its tool calls unique. No other function creates
 * a Response.
 * @throws StreamError if the answer has too many parts or citations.
 */
export function createResponse(facts: CallFacts, answer: Answer): Response {
  settleParts(answer.content, facts);
  warnAtLimit(facts, answer);
  const { withoutKeys = (text) => text, models, rateLimit } = facts;
  const { content, finishReason, providerRequestId = facts.providerRequestId } = answer;
  const model = withoutKeys(answer.model.toWellFormed()) || facts.request.model;
  // A literal: `create` gives the same object and takes ten times as long.
  const response: Response = {
    $typeName: "outrigger.v1.Response",
    id: withoutKeys(answer.id.toWellFormed()),
    model,
    provider: facts.provider,
    message: { $typeName: "outrigger.v1.Message", role: Role.ASSISTANT, content, name: "", toolCallId: "" },
    finishReason: {
      ...finishReason,
      raw: withoutKeys(finishReason.raw),
      stopSequence: withoutKeys(finishReason.stopSequence),
    },
    warnings: facts.warnings.map((each) => ({ ...each, message: withoutKeys(each.message.toWellFormed()) })),
    rawJson: withoutKeys(answer.rawJson),
    inferenceId: facts.inferenceId,
    providerRequestId: withoutKeys(boundedId(providerRequestId)),
    createdAt: timestampFromMs(facts.acceptedAt),
    attempts: [],
    providerMetadataJson: withoutKeys(answer.providerMetadataJson ?? ""),
  };
  if (answer.usage !== undefined) {
    const usage = { ...answer.usage, rawJson: withoutKeys(answer.usage.rawJson) };
    response.usage = usage;
    // Providers and adapters may have given a price.
    if (usage.costNanoUsd === undefined && facts.pricesAnswers !== true) {
      const cost = models?.costOf(usage, model);
      if (cost !== undefined) usage.costNanoUsd = cost;
    }
  }
  if (rateLimit !== undefined) response.rateLimit = rateLimit;
  return response;
}

/**
 * Limits the parts, repairs their texts, and makes the ids of tool calls unique. In a stream they are unique already,
 * and stay unchanged.
 */
function settleParts(content: readonly ContentPart[], facts: CallFacts): void {
  const { maxParts } = facts.limits ?? DEFAULT_ANSWER_LIMITS;
  let citations = 0;
  let toolCallIds: ToolCallIdAllocator | undefined;
  for (const whole of content) {
    repairPart(whole);
    const { part, citations: cited } = whole;
    citations += cited.length;
    if (part.case !== "toolCall") continue;
    toolCallIds ??= new ToolCallIdAllocator(facts.inferenceId, facts.request.messages);
    part.value.id = toolCallIds.take(part.value.id);
  }
  if (content.length > maxParts || citations > maxParts) throw answerTooLarge("maxParts", maxParts);
}

const LIMIT_REACHED = "the model wrote as many tokens as max_tokens allows; the answer may be cut off";

/** Some servers report an ordinary end although the answer was cut at the caller's limit. */
function warnAtLimit({ request, warnings }: CallFacts, { finishReason, usage }: Answer): void {
  const isOrdinary = finishReason.reason === Reason.STOP || finishReason.reason === Reason.TOOL_CALLS;
  if (!isOrdinary || usage === undefined || usage.outputTokens !== request.maxTokens) return;
  // A whole answer that is replayed as a stream comes here twice.
  if (warnings.some(({ code }) => code === "limit_reached")) return;
  warnings.push(warning("max_tokens", "limit_reached", LIMIT_REACHED));
}

const MAX_ID_CHARS = 256;

/** Returns a provider's id of a request, as it may be logged: at most 256 characters. */
export function boundedId(id: string): string {
  return id.slice(0, MAX_ID_CHARS).toWellFormed();
}

/**
 * Replaces lone surrogates in the texts of a part that adapters take over from the provider unchanged. A message in
 * JSON with one could not be read by any client of protobuf.
 */
export function repairPart({ part, citations }: ContentPart): void {
  repairCitations(citations);
  if (part.case === "native") part.value.kind = part.value.kind.toWellFormed();
  if (part.case === "image" || part.case === "audio")
    part.value.mediaType = part.value.mediaType.toWellFormed();
}

/** Replaces lone surrogates in the texts of citations. */
export function repairCitations(citations: readonly Citation[]): void {
  for (const citation of citations)
    for (const field of CITATION_TEXTS) citation[field] = citation[field].toWellFormed();
}

const CITATION_TEXTS = ["type", "title", "url", "citedText", "sourceId"] as const;
