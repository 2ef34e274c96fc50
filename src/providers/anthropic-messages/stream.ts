/**
 * Their events -> our events. `#dispatch` lists the events of the protocol (provider
 * documentation: "Streaming messages"); each is handled by a method. Blocks usually come one
 * after the other, but the protocol identifies them by `index`, and so does the state here.
 */

import { StreamError } from "../../core/errors.ts";
import { isUnnamedFailure, unreadableEvent } from "../../kit/adapter/failure-body.ts";
import { findNegativeCounts, mergeUsage } from "../../kit/adapter/usage.ts";
import { checkPartCount } from "../../kit/call/answer-limits.ts";
import { answerMissing, type CallFacts, isStopped } from "../../kit/call/call-facts.ts";
import {
  asInt32,
  asObject,
  asString,
  objectIn,
  textIn,
  tryParseJson,
  without,
  withoutNulls,
} from "../../kit/json/json.ts";
import { stringifyJson, toMembers } from "../../kit/json/json-source.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import { type DeltaRun, DeltaTemplate } from "../../kit/stream/delta-template.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter } from "../../kit/stream/stream-writer.ts";
import type { FailureBody } from "../../wire/anthropic-messages/error.ts";
import type { ContentBlock, Message, Usage } from "../../wire/anthropic-messages/response.ts";
import type {
  ContentBlockDelta,
  FallbackModel,
  MessageDelta,
  StreamEvent,
} from "../../wire/anthropic-messages/stream.ts";
import { END_OF_STREAM } from "../../wire/openai-chat/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { isFailure, reportedError } from "./error.ts";
import { toFinishReason } from "./finish-reason.ts";
import { addDelta, beginBlock, endBlock, type OpenBlock, wholeBlock } from "./open-blocks.ts";
import { containerParts, getBlocks, getWarnings } from "./response.ts";
import { StateWriter } from "./state.ts";
import { toMetadata, toUsage } from "./usage.ts";

type Event = Untrusted<StreamEvent>;

const NOT_OPEN = "the provider sent a delta for a block that is not open";

/** Decodes one stream of the Messages API. */
export class MessagesDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #open = new Map<number, OpenBlock>();
  /** The blocks that have ended, with all of their content if `include_raw` asks for it. */
  readonly #done: Untrusted<ContentBlock>[] = [];
  /** Whether the last block is a tool call of the caller. */
  #endsWithCall = false;
  /** A call that has ended without input. The rest of the message shows whether the answer was stopped in it. */
  #emptyCall: OpenBlock | undefined;
  #states: StateWriter;
  /** The Message object so far, without its content. */
  #message: Untrusted<Message> = {};
  #usage: Untrusted<Usage> | undefined;
  readonly #template = new DeltaTemplate();
  /** Index of the block whose deltas are like the template. */
  #textIndex = -1;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
    // Read on demand, not for each event: the counts accumulate, and with include_raw each reading serializes them all.
    writer.readUsage = () => this.#usageSoFar();
    this.#states = new StateWriter(facts);
  }

  push(source: SseEvent): void {
    const { data, type } = source;
    // Proxies add the end marker of Chat Completions. It ends nothing here.
    if (data.trim() === END_OF_STREAM) return;
    const event = asObject<StreamEvent>(tryParseJson(data));
    // Compatible servers give the event another type in its data (llama.cpp), or send text.
    if (type === "error") throw reportedError(event ?? { detail: data }, this.#facts);
    if (event === undefined) throw unreadableEvent(data);
    const kind = asString(event.type) ?? type;
    if (isUnnamedFailure(kind, event)) throw reportedError(event, this.#facts);
    this.#dispatch(kind, event, source);
  }

  pushDeltas(bytes: Buffer, start: number, maxEventBytes: number, joins: boolean): DeltaRun | undefined {
    const run = this.#template.readRun(bytes, start, maxEventBytes, joins);
    for (const text of run?.texts ?? []) this.#addText(text);
    return run;
  }

  /** Only `message_stop` ends this protocol. A failure may be in the stream as plain JSON instead of an event. */
  end(remainder: string): void {
    const body = asObject<FailureBody>(tryParseJson(remainder));
    if (body !== undefined && isFailure(body)) throw reportedError(body, this.#facts);
  }

  #dispatch(type: string, event: Event, source: SseEvent): void {
    const { data } = source;
    switch (type) {
      case "ping":
        return;
      case "error":
        throw reportedError(event, this.#facts);
      case "message_start":
        return this.#startMessage(objectIn<Message>(event.message), data);
      case "content_block_start":
        return this.#startBlock(event, data);
      case "content_block_delta":
        return this.#addDelta(event, source);
      case "content_block_stop":
        return this.#endBlock(indexOf(event));
      case "message_delta":
        return this.#changeMessage(event, data);
      case "message_stop":
        // Bedrock adds metrics of the call.
        if (hasOthers(event, ["type"])) this.#passThrough(type, data);
        return this.#finish();
      default:
        return this.#passThrough(type, data);
    }
  }

  /** Some proxies repeat the first event; a different message in the same stream is an error. */
  #startMessage(message: Untrusted<Message>, data: string): void {
    if (this.#message.id !== undefined && this.#message.id === message.id) return;
    if (this.#writer.outputStarted)
      throw new StreamError("the provider began another message inside its stream");
    const model = textIn(message.model);
    this.#message = message;
    this.#writer.hold(data.length);
    this.#states = new StateWriter(this.#facts, model);
    this.#usage = mergeUsage<Usage>(this.#usage, message.usage);
    this.#writer.start(model);
    if (hasOthers(message, MESSAGE_FIELDS)) this.#passThrough("message_start", data);
    const { content } = message;
    if (Array.isArray(content)) checkPartCount(content.length, this.#facts.limits);
    if (!Array.isArray(content) || content.length > 0) this.#addBlocks(data);
  }

  /**
   * Adds blocks that a message already holds when it starts: the blocks of the provider's code that was waiting and
   * continues.
   */
  #addBlocks(data: string): void {
    const content = toMembers(toMembers(data).get("message") ?? "").get("content") ?? "";
    for (const block of getBlocks(content)) this.#close(beginBlock(block, this.#writer), false);
  }

  #startBlock(event: Event, data: string): void {
    const index = indexOf(event);
    if (!this.#writer.started || this.#open.has(index))
      throw new StreamError("the provider began a content block before its message, or twice");
    this.#closeEmptyCall(false);
    const block = asObject<ContentBlock>(event.content_block);
    // Entries that are not blocks are skipped, as in the content of a whole answer.
    if (block === undefined) return;
    const source = toMembers(data).get("content_block") ?? "{}";
    if (block.type === "fallback") this.#changeModel(textIn(objectIn<FallbackModel>(block.to).model));
    this.#endsWithCall = block.type === "tool_use";
    this.#writer.hold(data.length);
    this.#open.set(index, beginBlock({ block, source }, this.#writer));
  }

  /** Another model continues after one refused. A whole answer reports the last one as its model. */
  #changeModel(model: string): void {
    if (model === "") return;
    this.#message = { ...this.#message, model };
    this.#states = new StateWriter(this.#facts, model);
  }

  #addDelta(event: Event, source: SseEvent): void {
    const open = this.#open.get(indexOf(event));
    if (open === undefined) throw new StreamError(NOT_OPEN);
    const delta = objectIn<ContentBlockDelta>(event.delta);
    if (delta.type === "citations_delta") this.#writer.countCitations(1);
    const handling = addDelta(open, delta);
    const isLost = handling === "unknown" || (handling === "written" && hasOthers(delta, DELTA_CONTENT));
    if (isLost) this.#passThrough("content_block_delta", source.data);
    else if (open.kind === "text" && handling === "written") this.#learn(event, source);
    if (handling === "kept") this.#writer.hold(source.data.length);
    if (handling === "kept") this.#passThroughRaw("content_block_delta", source.data);
  }

  /** Adds a delta that was not parsed. */
  #addText(text: string): void {
    const open = this.#open.get(this.#textIndex);
    if (open?.kind !== "text") throw new StreamError(NOT_OPEN);
    open.writer.append(text);
  }

  /** Most deltas differ from the one before only in their text. */
  #learn(event: Event, source: SseEvent): void {
    const text = asString(objectIn(event.delta).text);
    if (text !== undefined && this.#template.learn(source, "text", text)) this.#textIndex = indexOf(event);
  }

  #endBlock(index: number): void {
    const open = this.#open.get(index);
    if (open?.kind === "call" && open.writer.text === "") this.#emptyCall = open;
    else if (open !== undefined) this.#close(open, false);
    this.#open.delete(index);
  }

  /** @param isCut Whether the answer was stopped in the call. */
  #closeEmptyCall(isCut: boolean): void {
    if (this.#emptyCall !== undefined) this.#close(this.#emptyCall, isCut);
    this.#emptyCall = undefined;
  }

  #close(open: OpenBlock, isCut: boolean): void {
    endBlock(open, this.#writer, this.#states, isCut);
    this.#done.push(this.#facts.request.includeRaw ? wholeBlock(open) : open.block);
  }

  /** Takes the last fields of the message: why it stopped, and its usage. */
  #changeMessage(event: Event, data: string): void {
    const rest = without(event, "type", "delta", "usage");
    const delta = objectIn<MessageDelta>(event.delta);
    // Not a copy, which would be repeated for each of many events with additional fields.
    this.#writer.hold(data.length);
    Object.assign(this.#message, withoutNulls(rest), withoutNulls(delta));
    this.#usage = mergeUsage<Usage>(this.#usage, event.usage);
    if (hasOthers(delta, DELTA_FIELDS) || hasOthers(rest, [])) this.#passThrough("message_delta", data);
    else this.#passThroughRaw("message_delta", data);
  }

  #usageSoFar(): ReturnType<typeof toUsage> {
    const { request, models } = this.#facts;
    return toUsage(this.#usage, this.#model(), request.includeRaw, models);
  }

  #model(): string {
    return textIn(this.#message.model) || this.#facts.request.model;
  }

  #finish(): void {
    if (!this.#writer.started) throw new StreamError("the provider ended a message that it never began");
    const message = this.#message;
    const finishReason = toFinishReason(message, this.#endsWithCall);
    this.#closeEmptyCall(isStopped(finishReason.reason));
    for (const open of this.#open.values()) this.#close(open, isStopped(finishReason.reason));
    if (this.#done.length === 0 && !Array.isArray(message.content)) throw answerMissing(this.#facts);
    for (const part of containerParts(message.container, this.#states)) this.#writer.addPart(part);
    this.#facts.warnings.push(...getWarnings(message), ...findNegativeCounts(this.#usage));
    this.#writer.finish({
      id: textIn(message.id),
      model: textIn(message.model),
      finishReason,
      usage: this.#usageSoFar(),
      rawJson: this.#facts.request.includeRaw ? this.#rawMessage() : "",
      providerMetadataJson: toMetadata(message, this.#usage),
    });
  }

  /** Returns the Message object that the events of the stream form. */
  #rawMessage(): string {
    const usage = this.#usage === undefined ? {} : { usage: this.#usage };
    return stringifyJson({ ...this.#message, content: this.#done, ...usage });
  }

  /** Passes through an event whose content is also in other events, only if `include_raw` asks for it. */
  #passThroughRaw(type: string, data: string): void {
    if (this.#facts.request.includeRaw) this.#passThrough(type, data);
  }

  #passThrough(type: string, data: string): void {
    this.#writer.start(this.#model());
    this.#writer.providerEvent(type, data);
  }
}

/** Fields that a Response has; an event with any other field is passed through. */
const MESSAGE_FIELDS: readonly (keyof Message)[] = [
  "id",
  "type",
  "role",
  "model",
  "content",
  "stop_reason",
  "stop_sequence",
  "usage",
  "container",
];
/**
 * Fields of a delta of text, thinking or input that are written as such. Others are for instance `estimated_tokens`.
 */
const DELTA_CONTENT: readonly string[] = ["type", "text", "thinking", "partial_json"];

const DELTA_FIELDS: readonly (keyof MessageDelta)[] = ["stop_reason", "stop_sequence", "container"];

/** Reports whether an object has fields other than the known ones. Null counts as absent. */
function hasOthers(object: object, known: readonly string[]): boolean {
  return Object.keys(withoutNulls(object)).some((key) => !known.includes(key));
}

/** Returns the index of the block that an event belongs to. */
function indexOf({ index }: Event): number {
  return asInt32(index) ?? -1;
}
