import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { StreamError } from "../../core/errors.ts";
import { measureMemory } from "../../core/memory-pool.ts";
import { GrowingText } from "../../core/text.ts";
import {
  type Citation,
  type ContentPart,
  ContentPartSchema,
  type ProviderState,
  type ToolCall,
  ToolCallSchema,
} from "../../gen/outrigger/v1/message_pb.ts";
import { FinalResponse } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import {
  PartAddedSchema,
  ReasoningEndSchema,
  ReasoningStartSchema,
  type StreamEvent,
  type StreamStart,
  ToolCallEndSchema,
  ToolCallStart_InputKind,
  ToolCallStartSchema,
} from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { answerTooLarge, DEFAULT_ANSWER_LIMITS } from "../call/answer-limits.ts";
import {
  type Answer,
  type CallFacts,
  createResponse,
  repairCitations,
  repairPart,
} from "../call/call-facts.ts";
import { ToolCallIdAllocator } from "../call/tool-call-id-allocator.ts";
import { isJson } from "../json/json.ts";

type EventContent = StreamEvent["event"];

/** The end of a text or reasoning block, except its text. */
export interface BlockEnd {
  readonly citations?: Citation[];
  readonly providerState?: ProviderState | undefined;
  /** Reasoning only: the provider withholds the text on purpose. */
  readonly redacted?: boolean;
}

/** Data at the end of a tool call in addition to its input. */
export interface CallEnd extends Pick<BlockEnd, "providerState"> {
  /**
   * Whether the answer was cut off within the call, so that missing arguments must not look like an empty object.
   * Default false.
   */
  readonly isUnfinished?: boolean;
}

/** The fields that the decoder adds to an answer at its end; the writer has the content. */
export type StreamedAnswer = Omit<Answer, "content">;

/**
 * Writes the events of one stream so that its laws hold by construction: a decoder reports the provider's events; the
 * writer numbers events, joins deltas, holds back half surrogate pairs, makes ids unique and builds the final Response.
 * Synchronous. One instance for each call.
 */
export class StreamWriter {
  /** Returns the usage that the provider has reported so far. Called if an error needs it. */
  readUsage: () => Usage | undefined = () => undefined;
  /** Whether `finish` was written. */
  ended = false;
  readonly #facts: CallFacts;
  /** Created for the first tool call. */
  #toolCallIds: ToolCallIdAllocator | undefined;
  readonly #log: EventLog;
  #model = "";
  #citations = 0;
  #citationChars = 0;
  #heldBytes = 0;

  /** @param now Milliseconds of a monotonic clock, for `elapsed_ms`. */
  constructor(facts: CallFacts, now: () => number = CLOCK) {
    this.#facts = facts;
    this.#log = new EventLog(now);
  }

  /**
   * Whether deltas of one part that come together are one event. Set for a caller who gets the provider's events
   * instead of these. Default false.
   */
  set joinsDeltas(joinsDeltas: boolean) {
    this.#log.joinsDeltas = joinsDeltas;
  }

  get started(): boolean {
    return this.#log.sequence > 0;
  }

  /** Whether any part has begun. */
  get outputStarted(): boolean {
    return this.#log.parts.length > 0;
  }

  /** Approximate number of characters of the answer that the writer and its decoder keep until its end. */
  get keptChars(): number {
    return this.#log.keptChars + this.#citationChars + this.#heldBytes;
  }

  /**
   * Counts the memory of everything that the decoder keeps in addition to the text that it writes: items, citations,
   * fields that it needs later. A decoder that did not count it could fill the heap with a few dozen answers.
   */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
  }

  /** The usage that the provider has reported so far; part of an error. */
  get usage(): Usage | undefined {
    return this.readUsage();
  }

  /** Returns the events written since the last call. */
  take(): StreamEvent[] {
    const { ready } = this.#log;
    this.#log.ready = [];
    return ready;
  }

  /** Writes `stream_start`. A second call is ignored: proxies repeat the provider's first event. */
  start(model: string): void {
    if (this.started) return;
    const { withoutKeys } = this.#facts;
    const named = model.toWellFormed();
    this.#model = (withoutKeys?.(named) ?? named) || this.#facts.request.model;
    this.#log.startedAt = this.#log.now();
    const { inferenceId, provider, acceptedAt, warnings } = this.#facts;
    const value: StreamStart = {
      $typeName: "outrigger.v1.StreamStart",
      inferenceId,
      provider,
      model: this.#model,
      startedAt: timestampFromMs(acceptedAt),
      warnings: [...warnings],
      finalResponse: FinalResponse.FULL,
    };
    this.#log.emit({ case: "streamStart", value });
  }

  /** Begins a text part. @param refusal Whether the model refuses to answer. */
  startText(refusal = false): TextBlock {
    const partIndex = this.reserve();
    this.#log.emit({ case: "textStart", value: { $typeName: "outrigger.v1.TextStart", partIndex, refusal } });
    return new TextBlock(this.#log, partIndex, refusal);
  }

  startReasoning(): ReasoningBlock {
    const partIndex = this.reserve();
    this.#log.emit({ case: "reasoningStart", value: create(ReasoningStartSchema, { partIndex }) });
    return new ReasoningBlock(this.#log, partIndex);
  }

  /** Begins a tool call, at a reserved index or at the next one. An id that is empty or in use is replaced. */
  startToolCall(
    { id, name, inputKind = "argumentsJson" }: { id: string; name: string; inputKind?: ToolInputKind },
    partIndex: number = this.reserve(),
  ): ToolCallBlock {
    this.#toolCallIds ??= new ToolCallIdAllocator(this.#facts.inferenceId, this.#facts.request.messages);
    const call = { id: this.#toolCallIds.take(id), name: name.toWellFormed(), inputKind };
    this.#log.keptChars += call.id.length + name.length;
    const value = { partIndex, id: call.id, name: call.name, inputKind: INPUT_KINDS[inputKind] };
    this.#log.emit({ case: "toolCallStart", value: create(ToolCallStartSchema, value) });
    return new ToolCallBlock(this.#log, partIndex, call);
  }

  /** Reserves the next index in the message for a part that will arrive as a whole. Throws if there are too many. */
  reserve(): number {
    const { maxParts } = this.#facts.limits ?? DEFAULT_ANSWER_LIMITS;
    if (this.#log.parts.length >= maxParts) throw answerTooLarge("maxParts", maxParts);
    return this.#log.parts.push(undefined) - 1;
  }

  /**
   * Counts citations that arrive before the end of their part. Throws if there are too many.
   * @param chars Length of their text, if it may be more than the provider sent: citations that share a source repeat
   *   it.
   */
  countCitations(count: number, chars = 0): void {
    const { maxParts, maxBytes } = this.#facts.limits ?? DEFAULT_ANSWER_LIMITS;
    this.#citations += count;
    this.#citationChars += chars;
    if (this.#citations > maxParts) throw answerTooLarge("maxParts", maxParts);
    if (this.#citationChars > maxBytes) throw answerTooLarge("maxBytes", maxBytes);
  }

  /** Adds a part that arrived as a whole, at a reserved index or at the next one. */
  addPart(part: ContentPart, partIndex: number = this.reserve()): void {
    repairPart(part);
    this.#log.parts[partIndex] = part;
    this.#log.keptChars += measureMemory(part);
    this.#log.emit({ case: "partAdded", value: create(PartAddedSchema, { partIndex, part }) });
  }

  /** Passes on an event of the provider that has no unified form. */
  providerEvent(type: string, data: string): void {
    const { withoutKeys = (text) => text } = this.#facts;
    const named = withoutKeys(type.toWellFormed());
    this.#log.emit({
      case: "providerEvent",
      value: { $typeName: "outrigger.v1.ProviderEvent", type: named, dataJson: withoutKeys(data) },
    });
  }

  /** Ends the stream and returns the whole answer. Blocks that the provider left open end here. */
  finish(answer: StreamedAnswer): Response {
    for (const block of this.#log.open) block.end();
    const content: ContentPart[] = [];
    for (const [index, part] of this.#log.parts.entries()) {
      if (part === undefined)
        throw new StreamError(`part ${index} was announced by the provider but never arrived`);
      content.push(part);
    }
    const response = createResponse(this.#facts, { ...answer, model: answer.model || this.#model, content });
    const { finishReason, usage } = response;
    const facts = { ...(finishReason && { finishReason }), ...(usage && { usage }) };
    this.#log.emit({ case: "finish", value: { $typeName: "outrigger.v1.Finish", ...facts, response } });
    this.ended = true;
    return response;
  }
}

const CLOCK = performance.now.bind(performance);

/** The events and the parts of a stream, written by its writer and by the open parts. */
class EventLog {
  /** By their indices in the message; undefined until they end. */
  readonly parts: (ContentPart | undefined)[] = [];
  readonly open = new Set<OpenBlock>();
  /** The events that were written and not taken. */
  ready: StreamEvent[] = [];
  /** Number of the next event. */
  sequence = 0;
  joinsDeltas = false;
  /** Characters of the parts, approximately. */
  keptChars = 0;
  /** When the stream began, by `now`. */
  startedAt = 0;
  readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  // The events of every stream are literals: `create` gives the same objects and takes ten times as long.
  emit(event: EventContent): void {
    const elapsedMs = Math.round(this.now() - this.startedAt);
    this.ready.push({ $typeName: "outrigger.v1.StreamEvent", sequence: this.sequence, elapsedMs, event });
    this.sequence += 1;
  }

  /** Adds text to the latest event if that is a delta of the same part. Returns false otherwise. */
  join(partIndex: number, text: string): boolean {
    const event = this.ready.at(-1)?.event;
    switch (event?.case) {
      case "textDelta":
      case "reasoningDelta":
      case "toolCallDelta":
        if (event.value.partIndex !== partIndex) return false;
        event.value.delta += text;
        return true;
      default:
        return false;
    }
  }
}

/** A part that is being written. */
abstract class OpenBlock {
  protected readonly log: EventLog;
  protected readonly partIndex: number;
  readonly #sent = new GrowingText();
  #held = "";
  #closed = false;

  constructor(log: EventLog, partIndex: number) {
    this.log = log;
    this.partIndex = partIndex;
    log.open.add(this);
  }

  /** The text that was sent so far. */
  get text(): string {
    return this.#sent.value;
  }

  /**
   * Adds a delta of the provider. A trailing high surrogate is held back until its partner comes (law 10). Throws
   * StreamError if the part has ended.
   */
  append(delta: string): void {
    if (this.#closed && delta !== "") throw new StreamError("the provider continued a part that had ended");
    const whole = this.#held === "" ? delta : this.#held + delta;
    const last = whole.charCodeAt(whole.length - 1);
    this.#held = last >= 0xd800 && last <= 0xdbff ? whole.slice(-1) : "";
    this.#send(this.#held === "" ? whole : whole.slice(0, -1));
  }

  /**
   * Adds the rest of the provider's final text. Has no effect if the final text does not begin with the sent text, or
   * the part has ended.
   */
  complete(finalText: string): void {
    if (this.#closed) return;
    // The sent text has U+FFFD instead of each lone surrogate of the final text.
    const known = (this.text + this.#held).toWellFormed();
    if (finalText.slice(0, known.length).toWellFormed() === known) this.append(finalText.slice(known.length));
  }

  abstract end(): void;

  /** Whether nothing has been appended. */
  protected get isEmpty(): boolean {
    return this.text === "" && this.#held === "";
  }

  /** Sends text that was held back, with a lone surrogate as U+FFFD. Returns false if the block had already ended. */
  protected flush(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#send(this.#held);
    return true;
  }

  /** Writes the event that ends the part, and keeps the part. */
  protected close(event: EventContent, part: ContentPart): void {
    this.log.emit(event);
    this.log.open.delete(this);
    this.log.parts[this.partIndex] = part;
  }

  protected abstract delta(delta: string): EventContent;

  #send(delta: string): void {
    if (delta === "") return;
    const clean = delta.isWellFormed() ? delta : delta.toWellFormed();
    this.#sent.append(clean);
    this.log.keptChars += clean.length;
    if (this.log.joinsDeltas && this.log.join(this.partIndex, clean)) return;
    this.log.emit(this.delta(clean));
  }
}

/** A text part that is being written. */
export class TextBlock extends OpenBlock {
  readonly #refusal: boolean;

  constructor(log: EventLog, partIndex: number, refusal: boolean) {
    super(log, partIndex);
    this.#refusal = refusal;
  }

  /** Ends the part. A second call is ignored. */
  end({ citations = [], providerState }: BlockEnd = {}): void {
    repairCitations(citations);
    if (!this.flush()) return;
    const { partIndex, text } = this;
    const state = providerState === undefined ? {} : { providerState };
    const value = { $typeName: "outrigger.v1.TextEnd", partIndex, text, citations, ...state } as const;
    this.close(
      { case: "textEnd", value },
      {
        $typeName: "outrigger.v1.ContentPart",
        ...state,
        citations: [...citations],
        refusal: this.#refusal,
        part: { case: "text", value: text },
      },
    );
  }

  protected delta(delta: string): EventContent {
    const { partIndex } = this;
    return { case: "textDelta", value: { $typeName: "outrigger.v1.TextDelta", partIndex, delta } };
  }
}

/** A reasoning part that is being written. */
export class ReasoningBlock extends OpenBlock {
  /** Ends the part. A second call is ignored. */
  end({ redacted = false, providerState }: BlockEnd = {}): void {
    if (!this.flush()) return;
    const { partIndex, text } = this;
    const state = providerState === undefined ? {} : { providerState };
    const value = create(ReasoningEndSchema, { partIndex, text, redacted, ...state });
    const part = { case: "reasoning", value: { text, redacted } } as const;
    this.close({ case: "reasoningEnd", value }, create(ContentPartSchema, { part, ...state }));
  }

  protected delta(delta: string): EventContent {
    const { partIndex } = this;
    return { case: "reasoningDelta", value: { $typeName: "outrigger.v1.ReasoningDelta", partIndex, delta } };
  }
}

/** A tool call that is being written. */
export class ToolCallBlock extends OpenBlock {
  readonly #call: ToolCallHead;

  constructor(log: EventLog, partIndex: number, call: ToolCallHead) {
    super(log, partIndex);
    this.#call = call;
  }

  /** Ends the call: parses its arguments and marks them if they do not parse. A second call is ignored. */
  end({ providerState, isUnfinished = false }: CallEnd = {}): void {
    // Missing arguments become an empty object, so that the caller can parse them.
    if (this.#call.inputKind === "argumentsJson" && this.isEmpty && !isUnfinished) this.append("{}");
    if (!this.flush()) return;
    const { partIndex } = this;
    const toolCall = toToolCall(this.#call, this.text, isUnfinished);
    const state = providerState === undefined ? {} : { providerState };
    const value = create(ToolCallEndSchema, { partIndex, toolCall, ...state });
    const part = create(ContentPartSchema, { part: { case: "toolCall", value: toolCall }, ...state });
    this.close({ case: "toolCallEnd", value }, part);
  }

  protected delta(delta: string): EventContent {
    const { partIndex } = this;
    return { case: "toolCallDelta", value: { $typeName: "outrigger.v1.ToolCallDelta", partIndex, delta } };
  }
}

/** The facts about a tool call that are known before its input. */
interface ToolCallHead {
  readonly id: string;
  readonly name: string;
  readonly inputKind: ToolInputKind;
}

/** The kind of a tool call's input: arguments of a function, or the free text of a custom tool. */
export type ToolInputKind = "argumentsJson" | "text";

const INPUT_KINDS: Readonly<Record<ToolInputKind, ToolCallStart_InputKind>> = {
  argumentsJson: ToolCallStart_InputKind.ARGUMENTS_JSON,
  text: ToolCallStart_InputKind.TEXT,
};

/**
 * Creates a tool call as the contract defines it: empty arguments become `{}`; arguments that do not parse are marked
 * and kept.
 * @param input The model's output.
 * @param isUnfinished Whether the answer was stopped in the call. Empty arguments are kept and marked then.
 */
export function toToolCall(
  { id, name, inputKind }: ToolCallHead,
  input: string,
  isUnfinished = false,
): ToolCall {
  const text = input.toWellFormed();
  const called = { id: id.toWellFormed(), name: name.toWellFormed() };
  if (inputKind === "text")
    return create(ToolCallSchema, { ...called, input: { case: "text", value: text } });
  const value = text === "" && !isUnfinished ? "{}" : text;
  const argumentsInvalid = !isJson(value);
  return create(ToolCallSchema, { ...called, argumentsInvalid, input: { case: "argumentsJson", value } });
}
