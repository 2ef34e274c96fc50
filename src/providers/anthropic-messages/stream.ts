/**
 * Their events -> our events. `#dispatch` is the table of contents of the protocol (provider
 * documentation: "Streaming messages"); each case is a method. Blocks come one after the other,
 * but state is kept by `index`, as the protocol names them.
 */

import { StreamError } from "../../core/errors.ts";
import type { CallFacts } from "../../kit/adapter/call-facts.ts";
import {
  asInt32,
  asObject,
  asString,
  isObject,
  type JsonObject,
  objectIn,
  textIn,
  tryParseJson,
  without,
} from "../../kit/json/json.ts";
import { membersOf, stringifyJson } from "../../kit/json/json-source.ts";
import type { StreamDecoder } from "../../kit/stream/decode-stream.ts";
import type { SseEvent } from "../../kit/stream/sse.ts";
import type { StreamWriter } from "../../kit/stream/stream-writer.ts";
import { isFailure, reportedError } from "./error.ts";
import { addDelta, beginBlock, endBlock, type OpenBlock, wholeBlock } from "./open-blocks.ts";
import { blocksIn, containerParts, finishReasonOf, reportsIn } from "./response.ts";
import { StateWriter } from "./state.ts";
import { mergeUsage, usageOf } from "./usage.ts";
import type { Block, MessageObject, WireEvent } from "./wire.ts";

/** Decodes one stream of the Messages API. */
export class MessagesDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #open = new Map<number, OpenBlock>();
  /** The blocks that are done; as the API has them where the caller asked for everything. */
  readonly #done: Block[] = [];
  #states: StateWriter;
  /** The Message object as far as the first and the last events tell it. */
  #message: MessageObject = {};
  #usage: JsonObject | undefined;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
    this.#states = new StateWriter(facts, "");
  }

  push({ data, type }: SseEvent): void {
    const event = tryParseJson(data);
    if (!isObject(event)) throw new StreamError("an event of the provider's stream is no JSON object");
    this.#dispatch(asString(event.type) ?? type, event, data);
  }

  /** Only `message_stop` ends this protocol. A failure may stand in the stream without being an event. */
  end(stray: string): void {
    const body = asObject(tryParseJson(stray));
    if (isFailure(body)) throw reportedError(objectIn(body), this.#facts);
  }

  #dispatch(type: string, event: WireEvent, data: string): void {
    switch (type) {
      case "ping":
        return;
      case "error":
        throw reportedError(event, this.#facts);
      case "message_start":
        return this.#startMessage(objectIn(event.message), data);
      case "content_block_start":
        return this.#startBlock(event, data);
      case "content_block_delta":
        return this.#addDelta(event, data);
      case "content_block_stop":
        return this.#endBlock(indexOf(event));
      case "message_delta":
        return this.#changeMessage(event, data);
      case "message_stop":
        return this.#finish();
      default:
        return this.#passOn(type, data);
    }
  }

  /** Some proxies repeat the first event; another message in the same stream is two answers in one. */
  #startMessage(message: MessageObject, data: string): void {
    if (this.#message.id !== undefined && this.#message.id === message.id) return;
    if (this.#writer.outputStarted)
      throw new StreamError("the provider began another message inside its stream");
    const model = textIn(message.model);
    this.#message = message;
    this.#states = new StateWriter(this.#facts, model);
    this.#count(message.usage);
    this.#writer.start(model);
    if (tellsMore(message, KNOWN_OF_MESSAGE)) this.#passOn("message_start", data);
    this.#addBlocks(data);
  }

  /** Blocks that a message already holds when it starts: code of the provider that goes on where it waited. */
  #addBlocks(data: string): void {
    const content = membersOf(membersOf(data).get("message") ?? "").get("content") ?? "";
    for (const spelled of blocksIn(content)) this.#close(beginBlock(spelled, this.#writer));
  }

  #startBlock(event: WireEvent, data: string): void {
    const index = indexOf(event);
    if (!this.#writer.started || this.#open.has(index))
      throw new StreamError("the provider began a content block before its message, or twice");
    const block = objectIn(event.content_block);
    const source = membersOf(data).get("content_block") ?? "{}";
    if (block.type === "fallback") this.#handOver(textIn(objectIn(block.to).model));
    this.#open.set(index, beginBlock({ block, source }, this.#writer));
  }

  /** Another model goes on where one refused; a whole answer reports the last one as its model. */
  #handOver(model: string): void {
    if (model === "") return;
    this.#message = { ...this.#message, model };
    this.#states = new StateWriter(this.#facts, model);
  }

  #addDelta(event: WireEvent, data: string): void {
    const open = this.#open.get(indexOf(event));
    if (open === undefined) throw new StreamError("the provider sent a delta for a block that is not open");
    const fate = addDelta(open, objectIn(event.delta));
    if (fate === "unknown") this.#passOn("content_block_delta", data);
    if (fate === "kept") this.#echo("content_block_delta", data);
  }

  #endBlock(index: number): void {
    const open = this.#open.get(index);
    if (open !== undefined) this.#close(open);
    this.#open.delete(index);
  }

  #close(open: OpenBlock): void {
    endBlock(open, this.#writer, this.#states);
    this.#done.push(this.#facts.request.includeRaw ? wholeBlock(open) : open.block);
  }

  /** Late news of the message: why it stopped, what it cost. */
  #changeMessage(event: WireEvent, data: string): void {
    const beside = without(event, "type", "delta", "usage");
    const delta = objectIn(event.delta);
    this.#message = { ...this.#message, ...told(beside), ...told(delta) };
    this.#count(event.usage);
    if (tellsMore(delta, ["stop_reason"]) || tellsMore(beside, [])) this.#passOn("message_delta", data);
    else this.#echo("message_delta", data);
  }

  #count(usage: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    this.#writer.usage = usageOf(this.#usage, this.#model(), this.#facts.request.includeRaw);
  }

  #model(): string {
    return textIn(this.#message.model) || this.#facts.request.model;
  }

  #finish(): void {
    if (!this.#writer.started) throw new StreamError("the provider ended a message that it never began");
    for (const open of this.#open.values()) this.#close(open);
    const message = this.#message;
    for (const part of containerParts(message.container, this.#done, this.#states))
      this.#writer.addPart(part);
    this.#facts.warnings.push(...reportsIn(message));
    this.#writer.finish({
      id: textIn(message.id),
      model: textIn(message.model),
      finishReason: finishReasonOf(message.stop_reason),
      usage: this.#writer.usage,
      rawJson: this.#facts.request.includeRaw ? this.#rawMessage() : "",
    });
  }

  /** The Message object that the events of the stream make up. */
  #rawMessage(): string {
    const usage = this.#usage === undefined ? {} : { usage: this.#usage };
    return stringifyJson({ ...this.#message, content: this.#done, ...usage });
  }

  /** Passes on an event whose content is elsewhere, where the caller asked for everything. */
  #echo(type: string, data: string): void {
    if (this.#facts.request.includeRaw) this.#passOn(type, data);
  }

  #passOn(type: string, data: string): void {
    this.#writer.start(this.#model());
    this.#writer.providerEvent(type, data);
  }
}

/** What a Response has a place for; anything more goes on as an event. */
const KNOWN_OF_MESSAGE = ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"];

function tellsMore(object: JsonObject, known: readonly string[]): boolean {
  return Object.keys(told(object)).some((key) => !known.includes(key));
}

/** What an object tells: a null tells nothing. */
function told(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** The index of the block that an event is about. */
function indexOf({ index }: WireEvent): number {
  return asInt32(index) ?? -1;
}
