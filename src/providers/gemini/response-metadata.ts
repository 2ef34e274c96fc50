/** What the events of one answer say beside its parts. */
import type { Warning } from "../../gen/outrigger/v1/response_pb.ts";
import { FinishReason_Reason as Reason } from "../../gen/outrigger/v1/response_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import { repeatableMessage } from "../../kit/adapter/classify.ts";
import { warning } from "../../kit/adapter/loss-report.ts";
import {
  asInt32,
  asString,
  isObject,
  type JsonObject,
  type JsonValue,
  objectIn,
  objectsIn,
  textIn,
} from "../../kit/json/json.ts";
import type { StreamedAnswer } from "../../kit/stream/stream-writer.ts";
import { blockedReasonOf, finishReasonOf } from "./finish-reason.ts";
import { isContradictory, usageOf } from "./usage.ts";
import { type Candidate, type Chunk, isEmpty } from "./wire.ts";

/** Something that a candidate says beside its parts and that has no unified form, for instance its grounding. */
interface CandidateBlock {
  /** Its key in the candidate. */
  readonly kind: string;
  /** An object with that one key. */
  readonly block: JsonObject;
}

/** Keys of a candidate that are read elsewhere, or that say nothing which a caller has to keep. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set([
  "content",
  "finishReason",
  "finishMessage",
  "index",
  "citationMetadata",
  "safetyRatings",
  "avgLogprobs",
  "tokenCount",
]);

/** Reasons to stop that need no explanation. */
const PLAIN_REASONS: ReadonlySet<Reason> = new Set([Reason.STOP, Reason.TOOL_CALLS, Reason.LENGTH]);

/** Collects what the events of one answer say of it. */
export class AnswerFacts {
  /** `responseId`; empty while there is none. */
  id = "";
  /** What the call has cost so far. Counts are cumulative, so that the last ones hold. */
  usage: Usage | undefined;
  /** What candidates say beside their parts, each once. */
  readonly blocks: CandidateBlock[] = [];
  readonly #facts: CallFacts;
  readonly #known = new Set<string>();
  #model = "";
  #finish: string | undefined;
  #message = "";
  #hasCandidate = false;
  #hasFurtherCandidates = false;
  #block: JsonObject | undefined;
  #lastKind = "";
  #contradicts = false;
  #hasToolCalls = false;

  constructor(facts: CallFacts) {
    this.#facts = facts;
  }

  /** Reads an event. Gives the share that it brings of the first candidate and its place, undefined where it brings none. */
  read(chunk: Chunk): { readonly candidate: Candidate; readonly place: number } | undefined {
    this.id = asString(chunk.responseId) ?? this.id;
    this.#model = asString(chunk.modelVersion) ?? this.#model;
    this.#readUsage(chunk.usageMetadata);
    const feedback = objectIn(chunk.promptFeedback);
    if ("blockReason" in feedback || "blockReasonMessage" in feedback) this.#block = feedback;
    const candidates = objectsIn(chunk.candidates);
    const place = candidates.findIndex(({ index }, at) => (asInt32(index) ?? at) === 0);
    const candidate = candidates[place];
    this.#hasFurtherCandidates ||= candidates.some((other) => other !== candidate);
    if (candidate === undefined) return undefined;
    this.#readCandidate(candidate);
    return { candidate, place };
  }

  /** Notes that the caller has a call to run. */
  sawToolCall(): void {
    this.#hasToolCalls = true;
  }

  /** Notes that a part was added. */
  sawPart(kind: string): void {
    this.#lastKind = kind;
    // More content takes a reason to stop back: with code execution the API gives one in between.
    this.#finish = undefined;
  }

  /** Notes why the candidate stopped, after the parts of the same event. */
  sawFinish({ finishReason, finishMessage }: Candidate): void {
    this.#finish = asString(finishReason) ?? this.#finish;
    this.#message = asString(finishMessage) ?? this.#message;
  }

  /** Keeps something of a candidate that has no unified form, unless it says nothing. */
  keep(kind: string, value: JsonValue | undefined): void {
    if (!saysSomething(value)) return;
    const block = { [kind]: value };
    const text = JSON.stringify(block);
    if (this.#known.has(text)) return;
    this.#known.add(text);
    this.blocks.push({ kind, block });
  }

  /** Whether the answer says anything at all. */
  get isAnswer(): boolean {
    return (this.#hasCandidate && (this.#finish !== undefined || this.#lastKind !== "")) || this.#isBlocked;
  }

  /**
   * Whether the answer is at its end. Code that the provider has yet to run is none, although the
   * API gives a reason to stop with it.
   */
  get isComplete(): boolean {
    const isWaiting = this.#finish === "STOP" && this.#lastKind === "executableCode";
    return (this.#finish !== undefined && !isWaiting) || this.#isBlocked;
  }

  /** Whether something other than its own end stopped the answer. */
  get isCutOff(): boolean {
    return this.#finish !== undefined && this.#finish !== "STOP";
  }

  /** What the provider says of the answer. @param rawJson Its body, verbatim, where it was asked for. */
  toAnswer(rawJson: string): StreamedAnswer {
    const finishReason = this.#isBlocked
      ? blockedReasonOf(textIn(this.#block?.blockReason))
      : finishReasonOf(this.#finish ?? "", this.#hasToolCalls);
    return {
      id: this.id,
      model: this.#model,
      finishReason,
      usage: this.usage,
      rawJson,
      providerRequestId: this.id,
    };
  }

  /** What a caller may want to know of the answer. */
  warnings(): Warning[] {
    const { request } = this.#facts;
    const isPlain = !this.#isBlocked && PLAIN_REASONS.has(finishReasonOf(this.#finish ?? "", false).reason);
    const said = this.#isBlocked ? textIn(this.#block?.blockReasonMessage) : isPlain ? "" : this.#message;
    return [
      ...(said === "" ? [] : [warning("", "provider_message", repeatableMessage(said, request))]),
      ...(this.#hasFurtherCandidates ? [warning("", "further_candidates", FURTHER_CANDIDATES)] : []),
      ...(this.#contradicts ? [warning("", "count_mismatch", CONTRADICTION)] : []),
    ];
  }

  /** A prompt that was blocked has no candidates. */
  get #isBlocked(): boolean {
    return this.#block !== undefined && !this.#hasCandidate;
  }

  #readUsage(metadata: JsonValue | undefined): void {
    const usage = usageOf(metadata, this.#facts.request.includeRaw);
    if (usage === undefined) return;
    this.usage = usage;
    this.#contradicts = isContradictory(metadata, usage);
  }

  #readCandidate(candidate: Candidate): void {
    this.#hasCandidate = true;
    for (const key in candidate) if (!READ_ELSEWHERE.has(key)) this.keep(key, candidate[key]);
  }
}

const FURTHER_CANDIDATES = "the provider wrote several answers; only the first is in the message";
const CONTRADICTION = "the provider's token counts contradict each other; they are reported as they came";

function saysSomething(value: JsonValue | undefined): value is JsonValue {
  if (value === undefined || value === null || value === "") return false;
  return Array.isArray(value) ? value.length > 0 : !isObject(value) || !isEmpty(value);
}
