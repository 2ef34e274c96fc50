/** Collects what the events of an answer report in addition to its parts. */
import { hash } from "node:crypto";
import { FinishReason_Reason as Reason, type Warning } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { repeatableMessage } from "../../kit/adapter/classify.ts";
import { findNegativeCounts } from "../../kit/adapter/usage.ts";
import { answerTooLarge, DEFAULT_ANSWER_LIMITS } from "../../kit/call/answer-limits.ts";
import { type CallFacts, readFinishReason } from "../../kit/call/call-facts.ts";
import { warning } from "../../kit/call/loss-report.ts";
import { furtherCounts, hasContent, ProviderMetadata } from "../../kit/call/provider-metadata.ts";
import {
  asInt32,
  asString,
  isObject,
  type JsonObject,
  objectIn,
  objectsIn,
  textIn,
} from "../../kit/json/json.ts";
import type { StreamedAnswer } from "../../kit/stream/stream-writer.ts";
import type { Candidate, GenerateContentResponse, PromptFeedback } from "../../wire/gemini/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toBlockedReason, toFinishReason } from "./finish-reason.ts";
import { isContradictory, toUsage } from "./usage.ts";

/** A field of a candidate that has no unified form, for instance its grounding. */
interface CandidateData {
  /** Its key in the candidate. */
  readonly kind: string;
  /** An object with that one key. */
  readonly data: JsonObject;
}

/** The content that one event adds to the first candidate. */
interface CandidateShare {
  readonly candidate: Untrusted<Candidate>;
  /** Index of the candidate in `candidates`. */
  readonly position: number;
}

/** Fields of a candidate that are read elsewhere, or that a caller does not need back. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set<keyof Candidate>([
  "content",
  "finishReason",
  "finishMessage",
  "index",
  "citationMetadata",
  "safetyRatings",
  "avgLogprobs",
  "score",
  "tokenCount",
]);

/** Fields of a candidate for `Response.provider_metadata_json`. */
const FURTHER_IN_CANDIDATE = [
  "finishMessage",
  "safetyRatings",
  "avgLogprobs",
  "score",
  "tokenCount",
] as const;

/** Fields of an answer that are read elsewhere. */
const READ_IN_ANSWER: ReadonlySet<string> = new Set([
  "candidates",
  "createTime",
  "error",
  "modelVersion",
  "responseId",
  "usageMetadata",
]);

const UNIFIED_COUNTS: ReadonlySet<string> = new Set([
  "cachedContentTokenCount",
  "candidatesTokenCount",
  "promptTokenCount",
  "thoughtsTokenCount",
  "toolUsePromptTokenCount",
  "totalTokenCount",
]);

/** The default value of a finish reason. */
const UNSPECIFIED = "FINISH_REASON_UNSPECIFIED";

/** Finish reasons that need no explanation. */
const ORDINARY_REASONS: ReadonlySet<Reason> = new Set([Reason.STOP, Reason.TOOL_CALLS, Reason.LENGTH]);

/**
 * Collects the facts that the events of one answer report in addition to its parts: ids, usage, finish reason,
 * grounding.
 */
export class ResponseMetadata {
  /** `responseId`; empty until it is known. */
  id = "";
  /** Usage of the call so far. Counts are cumulative, so the latest ones apply. */
  usage: Usage | undefined;
  /** Fields of the candidate that have no unified form, each value once. */
  readonly candidateData: CandidateData[] = [];
  readonly #facts: CallFacts;
  readonly #known = new Set<string>();
  readonly #further = new ProviderMetadata();
  /** Memory of the metadata that was not counted yet, in bytes. */
  #heldBytes = 0;
  #model = "";
  #finish: string | undefined;
  #message = "";
  #hasCandidate = false;
  #hasFurtherCandidates = false;
  #block: Untrusted<PromptFeedback> | undefined;
  #lastKind = "";
  #contradicts = false;
  #negativeCounts: readonly Warning[] = [];
  #hasToolCalls = false;

  constructor(facts: CallFacts) {
    this.#facts = facts;
  }

  /** Reads an event. Returns its content for the first candidate; undefined if it has none. */
  read(chunk: Untrusted<GenerateContentResponse>): CandidateShare | undefined {
    this.id = asString(chunk.responseId) ?? this.id;
    this.#model = asString(chunk.modelVersion) ?? this.#model;
    this.#readUsage(chunk.usageMetadata);
    for (const name in chunk)
      if (!READ_IN_ANSWER.has(name)) this.#addFurther(name, chunk[name as keyof typeof chunk]);
    this.#addFurther("usageMetadata", furtherCounts(chunk.usageMetadata, UNIFIED_COUNTS));
    const feedback = objectIn<PromptFeedback>(chunk.promptFeedback);
    if ("blockReason" in feedback || "blockReasonMessage" in feedback) this.#block = feedback;
    const candidates = objectsIn<Candidate>(chunk.candidates);
    const position = candidates.findIndex(({ index }, at) => (asInt32(index) ?? at) === 0);
    const candidate = candidates[position];
    this.#hasFurtherCandidates ||= candidates.length > (candidate === undefined ? 0 : 1);
    if (candidate === undefined) return undefined;
    this.#readCandidate(candidate);
    return { candidate, position };
  }

  /** Returns the memory that the metadata takes since the last call, in bytes. */
  takeHeldBytes(): number {
    const bytes = this.#heldBytes;
    this.#heldBytes = 0;
    return bytes;
  }

  /** Records that the answer has a call for the caller to run. */
  noteToolCall(): void {
    this.#hasToolCalls = true;
  }

  /** Records that a part was added. */
  notePart(kind: string): void {
    this.#lastKind = kind;
    // Content after a finish reason revokes it: with code execution the API sends one in between.
    this.#finish = undefined;
    this.#block = undefined;
  }

  /** Records why the candidate finished. Call it after the parts of the same event. */
  noteFinish({ finishReason, finishMessage }: Untrusted<Candidate>): void {
    this.#finish = readFinishReason(finishReason) || this.#finish;
    this.#message = asString(finishMessage) ?? this.#message;
  }

  /** Keeps a field of a candidate that has no unified form, unless it is empty. Throws if there are too many. */
  keep(kind: keyof Candidate, value: unknown): void {
    if (!hasContent(value)) return;
    const data = { [kind]: value };
    // Hashes, since a set would compare long texts of the same length with each other.
    const id = hash("sha256", JSON.stringify(data));
    if (this.#known.has(id)) return;
    const { maxParts } = this.#facts.limits ?? DEFAULT_ANSWER_LIMITS;
    // Each value becomes a part at the end.
    if (this.#known.size >= maxParts) throw answerTooLarge("maxParts", maxParts);
    this.#known.add(id);
    this.candidateData.push({ kind, data });
  }

  /** Whether there is an answer at all. */
  get isAnswer(): boolean {
    return (this.#hasCandidate && (this.#finish !== undefined || this.#lastKind !== "")) || this.#isBlocked;
  }

  /**
   * Whether the answer is complete. An answer that ends with code for the provider to run is not, although the API
   * sends a finish reason with it. Servers that write default values send the enum's default until there is a reason.
   */
  get isComplete(): boolean {
    const isWaiting = this.#finish === "STOP" && this.#lastKind === "executableCode";
    const hasReason = this.#finish !== undefined && this.#finish !== UNSPECIFIED;
    return (hasReason && !isWaiting) || this.#isBlocked;
  }

  /** Whether the answer was stopped before the model had ended it. */
  get isStopped(): boolean {
    return this.#isBlocked || (this.#finish !== undefined && this.#finish !== "STOP");
  }

  /** Returns the answer without its content. @param rawJson Its body, verbatim, if the caller asked for it. */
  toAnswer(rawJson: string): StreamedAnswer {
    const finishReason = this.#isBlocked
      ? toBlockedReason(textIn(this.#block?.blockReason))
      : toFinishReason(this.#finish ?? "", this.#hasToolCalls);
    return {
      id: this.id,
      model: this.#model,
      finishReason,
      usage: this.usage,
      rawJson,
      providerRequestId: this.id,
      providerMetadataJson: this.#further.toJson(),
    };
  }

  /** Returns the warnings of the answer. */
  warnings(): Warning[] {
    const { request, withoutKeys = (text) => text } = this.#facts;
    const message = repeatableMessage(withoutKeys(this.#explanation()), request);
    return [
      ...(message === "" ? [] : [warning("", "provider_message", message)]),
      ...(this.#hasFurtherCandidates ? [warning("", "further_candidates", FURTHER_CANDIDATES)] : []),
      ...(this.#contradicts ? [warning("", "count_mismatch", CONTRADICTION)] : []),
      ...this.#negativeCounts,
    ];
  }

  /** Returns the provider's explanation of a blocked prompt or of an unusual finish reason; empty if there is none. */
  #explanation(): string {
    if (this.#isBlocked) return textIn(this.#block?.blockReasonMessage);
    return ORDINARY_REASONS.has(toFinishReason(this.#finish ?? "", false).reason) ? "" : this.#message;
  }

  /** Whether nothing follows a report that the prompt was blocked. It may come late, after a part of the answer. */
  get #isBlocked(): boolean {
    return this.#block !== undefined && this.#finish === undefined;
  }

  #readUsage(metadata: unknown): void {
    const usage = toUsage(metadata, this.#facts.request.includeRaw);
    if (isObject(metadata)) this.#negativeCounts = findNegativeCounts(metadata);
    if (usage === undefined) return;
    this.usage = usage;
    this.#contradicts = isContradictory(metadata, usage);
  }

  #addFurther(name: string, value: unknown): void {
    this.#heldBytes += this.#further.add(name, value);
  }

  #readCandidate(candidate: Untrusted<Candidate>): void {
    this.#hasCandidate = true;
    for (const name of FURTHER_IN_CANDIDATE)
      if (candidate[name] !== undefined) this.#addFurther("candidate", { [name]: candidate[name] });
    for (const key in candidate) {
      // The API adds fields. Unknown ones are kept under their names.
      const field = key as keyof Candidate;
      if (!READ_ELSEWHERE.has(key)) this.keep(field, candidate[field]);
    }
  }
}

const FURTHER_CANDIDATES = "the provider returned several candidates; only the first is in the message";
const CONTRADICTION = "the provider's token counts contradict each other; they are passed on unchanged";
