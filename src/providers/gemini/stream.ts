/**
 * Their events -> our events. Every event is a GenerateContentResponse with the parts that are new (provider
 * documentation: "streamGenerateContent"); `#addPart` has a case for each kind of part. A whole answer is decoded as a
 * stream of one event.
 */

import type { SDKError } from "../../core/errors.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import { isFailureReport, unreadableEvent } from "../../kit/adapter/failure-body.ts";
import { checkPartCount } from "../../kit/call/answer-limits.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import { asObject, isObject, objectIn, textIn, tryParseJson, withoutNulls } from "../../kit/json/json.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter } from "../../kit/stream/stream-writer.ts";
import type { ErrorBody } from "../../wire/gemini/error.ts";
import type { Content, Part } from "../../wire/gemini/request.ts";
import type { Candidate } from "../../wire/gemini/response.ts";
import type { StreamChunk } from "../../wire/gemini/stream.ts";
import { END_OF_STREAM } from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { reportedError } from "./error.ts";
import { OpenBlocks } from "./open-blocks.ts";
import { PartSources } from "./part-source.ts";
import { answerDataPart, getKind, isAnswerText, isBlank } from "./parts.ts";
import { ResponseMetadata } from "./response-metadata.ts";
import { StateWriter } from "./state.ts";

/** Decodes one answer of generateContent or streamGenerateContent. */
export class GeminiDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #metadata: ResponseMetadata;
  readonly #states: StateWriter;
  readonly #blocks: OpenBlocks;
  readonly #raw: string[] = [];

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
    this.#metadata = new ResponseMetadata(facts);
    this.#states = new StateWriter(facts);
    this.#blocks = new OpenBlocks(writer, this.#states);
    writer.readUsage = () => this.#metadata.usage;
  }

  push({ data, type }: SseEvent): void {
    // Proxies add the end marker of Chat Completions. It ends nothing here.
    if (data.trim() === END_OF_STREAM) return;
    const chunk = tryParseJson(data);
    if (type === "error") throw this.#failure(asObject<ErrorBody>(chunk) ?? { error: data });
    if (isObject(chunk)) return this.#pushJson(chunk, data);
    const lines = data.split("\n");
    if (lines.length === 1) throw unreadableEvent(data);
    // Proxies that drop empty lines join several events into one.
    for (const line of lines) this.push({ type: "", data: line });
  }

  #pushJson(chunk: Untrusted<StreamChunk>, json: string): void {
    this.pushChunk(chunk, json);
    const { includeRaw } = this.#facts.request;
    if (includeRaw) this.#raw.push(json);
    if (includeRaw) this.#writer.hold(json.length);
    if (includeRaw || hasUnknownFields(chunk)) this.#writer.providerEvent("", json);
  }

  /** Takes one GenerateContentResponse. Throws the failure that it reports. @param json Its text. */
  pushChunk(chunk: Untrusted<StreamChunk>, json: string): void {
    if (isFailureReport(chunk)) throw this.#failure(chunk);
    this.#start(chunk);
    const known = this.#metadata.candidateData.length;
    const share = this.#metadata.read(chunk);
    this.#writer.hold(this.#metadata.takeHeldBytes());
    if (this.#metadata.candidateData.length > known) this.#writer.hold(json.length);
    if (share !== undefined) this.#addCandidate(share.candidate, new PartSources(share.position, json));
  }

  /**
   * Ends the stream. The API has no end marker: the stream is complete once the last candidate has a finish reason.
   * @param stray Text outside of events: Vertex writes an error as plain JSON.
   */
  end(stray: string): void {
    const written = tryParseJson(stray);
    const holder = objectIn<ErrorBody>(Array.isArray(written) ? written[0] : written);
    if (isFailureReport(holder)) throw this.#failure(holder);
    if (this.#metadata.isComplete) this.#finish(this.#raw.length === 0 ? "" : `[${this.#raw.join(",\n")}]`);
  }

  /** Ends a whole answer, which needs no finish reason. Undefined if there is no answer. @param rawJson Its body. */
  endWhole(rawJson: string): Response | undefined {
    return this.#metadata.isAnswer ? this.#finish(rawJson) : undefined;
  }

  #finish(rawJson: string): Response {
    this.#blocks.end(this.#metadata.isStopped);
    for (const { kind, data } of this.#metadata.candidateData)
      this.#writer.addPart(answerDataPart(kind, data, this.#states));
    this.#facts.warnings.push(...this.#metadata.warnings());
    return this.#writer.finish(this.#metadata.toAnswer(rawJson));
  }

  #failure(holder: Untrusted<ErrorBody>): SDKError {
    return reportedError(holder, { ...this.#facts, providerRequestId: this.#metadata.id });
  }

  #start({ modelVersion }: Untrusted<StreamChunk>): void {
    if (this.#writer.started) return;
    this.#states.model = textIn(modelVersion);
    this.#writer.start(textIn(modelVersion));
  }

  /** Adds the content that one event has for the answer. */
  #addCandidate(candidate: Untrusted<Candidate>, sources: PartSources): void {
    const parts = getParts(candidate);
    checkPartCount(parts.length, this.#facts.limits);
    // The citations of an event belong to its last text, else to the text that is open before it.
    const cited = parts.findLastIndex(isAnswerText);
    if (cited < 0) this.#cite(candidate);
    let isFirst = true;
    for (let index = 0; index < parts.length; index += 1) {
      const part = parts[index];
      if (part === undefined || isBlank(part)) continue;
      this.#addPart(part, sources, index, isFirst);
      isFirst = false;
      if (index === cited) this.#cite(candidate);
    }
    this.#metadata.noteFinish(candidate);
  }

  #cite(candidate: Untrusted<Candidate>): void {
    if (!this.#blocks.cite(candidate)) this.#metadata.keep("citationMetadata", candidate.citationMetadata);
  }

  /** @param isFirst Whether the part is the first of its event: only that may continue the part before it. */
  #addPart(part: Untrusted<Part>, sources: PartSources, index: number, isFirst: boolean): void {
    const kind = getKind(part);
    switch (kind) {
      case "text":
        this.#blocks.addText(part, isFirst);
        break;
      case "functionCall":
        if (this.#blocks.addCall(part, sources, index)) this.#metadata.noteToolCall();
        break;
      default:
        this.#blocks.addWhole(kind, part, sources, index);
    }
    this.#metadata.notePart(kind);
  }
}

const NO_PARTS: readonly Untrusted<Part>[] = [];

/** Returns the parts of a candidate at their indices; entries that are not objects count as blank. */
function getParts(candidate: Untrusted<Candidate>): readonly Untrusted<Part>[] {
  const { parts } = objectIn<Content>(candidate.content);
  if (!Array.isArray(parts)) return NO_PARTS;
  return parts.every(isPlainPart) ? parts : parts.map((part) => withoutNulls(objectIn<Part>(part)));
}

/** Some servers write all fields of a part, those that it does not have as null. */
function isPlainPart(part: unknown): boolean {
  return isObject(part) && !Object.values(part).includes(null);
}

/** Fields of an event that are read, or that a caller does not need back. */
const CHUNK_KEYS: ReadonlySet<string> = new Set<keyof StreamChunk>([
  "candidates",
  "promptFeedback",
  "usageMetadata",
  "modelVersion",
  "responseId",
  "createTime",
]);

function hasUnknownFields(chunk: object): boolean {
  for (const key in chunk) if (!CHUNK_KEYS.has(key)) return true;
  return false;
}
