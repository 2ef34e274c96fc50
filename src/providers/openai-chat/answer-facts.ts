import { measureMemory } from "../../core/memory-pool.ts";
import type { Citation } from "../../gen/outrigger/v1/message_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { type CallFacts, isStopped, readFinishReason } from "../../kit/call/call-facts.ts";
import { warning } from "../../kit/call/loss-report.ts";
import { furtherCounts, ProviderMetadata } from "../../kit/call/provider-metadata.ts";
import { asObject, textIn, without } from "../../kit/json/json.ts";
import type { StreamedAnswer } from "../../kit/stream/stream-writer.ts";
import type { CompletionExtensions, Usage as WireUsage } from "../../wire/openai-chat/response.ts";
import type { AnyChoice, AnyCompletion } from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { getSources } from "./citations.ts";
import { type AnswerContent, toFinishReason } from "./finish-reason.ts";
import type { ServerProfile } from "./profile.ts";
import { findCounts, findMismatches, mergeCounts, toUsage } from "./usage.ts";

/**
 * The facts alongside the message that the chunks of one stream, or the body of a whole answer, hold. Every chunk may
 * repeat or complete earlier facts.
 */
export class AnswerFacts {
  readonly #facts: CallFacts;
  readonly #profile: ServerProfile;
  #id = "";
  #model = "";
  #requestId = "";
  #counts: Untrusted<WireUsage> | undefined;
  #finish = "";
  #stopSequence = "";
  #hasFurtherChoices = false;
  readonly #metadata = new ProviderMetadata();
  /** Whether a filter objects to the prompt or to the answer, which then may be empty. */
  isSensitive = false;
  /** Sources that are listed alongside the message. */
  sources: readonly Citation[] = [];

  constructor(facts: CallFacts, profile: ServerProfile) {
    this.#facts = facts;
    this.#profile = profile;
  }

  /** The model as the server reports it; empty until it does. */
  get model(): string {
    return this.#model;
  }

  /** Whether the server has sent a finish reason. */
  get hasFinish(): boolean {
    return this.#finish !== "";
  }

  /** Whether the answer was stopped before the model had ended it. */
  get isStopped(): boolean {
    return isStoppedBy(this.#finish);
  }

  /** The counts so far. Converted on demand: with include_raw each conversion serializes them all. */
  get usage(): Usage | undefined {
    return toUsage(this.#counts, this.#facts.request.includeRaw, this.#profile.countsReasoningInTotal);
  }

  /**
   * Reads the fields of a chunk.
   * @param choices Choices of the chunk.
   * @returns The memory of the counts and further members that no earlier chunk had, in bytes.
   */
  read(chunk: Untrusted<AnyCompletion>, choices: readonly Untrusted<AnyChoice>[]): number {
    this.#id ||= textIn(chunk.id);
    this.#model ||= textIn(chunk.model);
    this.#requestId ||=
      textIn(asObject<CompletionExtensions["x_groq"]>(chunk.x_groq)?.id) || textIn(chunk.request_id);
    this.isSensitive ||= chunk.input_sensitive === true || chunk.output_sensitive === true;
    this.sources = getSources(chunk) ?? this.sources;
    const counts = findCounts(chunk, choices);
    const known = this.#counts ?? {};
    let bytes = 0;
    for (const name in chunk)
      if (!READ_ELSEWHERE.has(name)) bytes += this.#metadata.add(name, chunk[name as keyof typeof chunk]);
    for (const name in counts)
      if (!Object.hasOwn(known, name))
        bytes += measureMemory({ [name]: counts[name as keyof typeof counts] });
    this.#counts = mergeCounts(this.#counts, counts);
    return bytes;
  }

  /** Reads the further members of the choice. Returns the memory that they take, in bytes. */
  readChoice(choice: Untrusted<AnyChoice>): number {
    for (const name in choice)
      if (!READ_IN_CHOICE.has(name)) return this.#metadata.add("choice", without(choice, ...READ_IN_CHOICE));
    return 0;
  }

  /**
   * Reads why a choice ended. The first value counts, since servers repeat it, but a filter or limit may be reported
   * after it. Some send an empty one instead of null.
   */
  readFinish({
    finish_reason: reason,
    stop_reason: stop,
    matched_stop: matched,
  }: Untrusted<AnyChoice>): void {
    const word = readFinishReason(reason);
    if (this.#finish === "" || (!this.isStopped && isStoppedBy(word))) this.#finish = word;
    const { stopSequences } = this.#facts.request;
    // Both may also hold the id or the text of a token that ends every answer.
    this.#stopSequence ||= stopSequences.find((sequence) => sequence === stop || sequence === matched) ?? "";
  }

  /** Records that there is a further answer after the first. */
  noteFurtherChoice(): void {
    this.#hasFurtherChoices = true;
  }

  /** Returns the answer without its content. Adds to the warnings of the call. */
  end(content: AnswerContent, rawJson: string): StreamedAnswer {
    const { usage } = this;
    this.#metadata.add("usage", furtherCounts(this.#counts, PLAIN_COUNTS));
    this.#facts.warnings.push(
      ...findMismatches(this.#counts, usage),
      ...(this.#hasFurtherChoices ? [warning("", "further_candidates", FURTHER_CHOICES)] : []),
    );
    return {
      id: this.#id,
      model: this.#model,
      finishReason: toFinishReason(this.#finish, content, this.#stopSequence),
      usage,
      rawJson,
      providerRequestId: this.#facts.providerRequestId || this.#requestId,
      providerMetadataJson: this.#metadata.toJson(),
    };
  }
}

/** Members of an answer that are read elsewhere, and those that fill up chunks so that their length says nothing. */
const READ_ELSEWHERE: ReadonlySet<string> = new Set([
  "choices",
  "created",
  "error",
  "id",
  "model",
  "obfuscation",
  "object",
  "p",
  "usage",
]);

/** Members of a choice that are read elsewhere. */
const READ_IN_CHOICE: ReadonlySet<string> = new Set([
  "delta",
  "error",
  "finish_reason",
  "index",
  "logprobs",
  "message",
  "usage",
]);

/** Counts that every server has. */
const PLAIN_COUNTS: ReadonlySet<string> = new Set(["completion_tokens", "prompt_tokens", "total_tokens"]);

function isStoppedBy(word: string): boolean {
  return isStopped(toFinishReason(word, { hasToolCalls: false, hasRefusal: false }).reason);
}

const FURTHER_CHOICES = "the model wrote several answers; only the first is in the message";
