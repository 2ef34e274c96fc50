import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { StreamError } from "../../core/errors.ts";
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
  FinishSchema,
  PartAddedSchema,
  ReasoningEndSchema,
  ReasoningStartSchema,
  type StreamEvent,
  StreamStartSchema,
  TextEndSchema,
  TextStartSchema,
  ToolCallEndSchema,
  ToolCallStart_InputKind,
  ToolCallStartSchema,
} from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { type Answer, type CallFacts, responseOf } from "../adapter/call-facts.ts";
import type { ToolCallIdAllocator } from "../adapter/tool-call-id-allocator.ts";
import { isJson } from "../json/json.ts";

/** What happened, of the one kind that it is. */
type Happening = StreamEvent["event"];

/** What ends a text or thinking block beside its text. */
export interface BlockEnd {
  readonly citations?: Citation[];
  readonly providerState?: ProviderState | undefined;
  /** Thinking only: the provider hides the text on purpose. */
  readonly redacted?: boolean;
}

/** What the writer itself does not know of an answer when it ends. */
export type StreamedAnswer = Omit<Answer, "content">;

/**
 * Writes the events of one stream so that the laws hold by construction: a decoder says what
 * the provider did, the writer counts, numbers, joins, holds back half surrogate pairs, makes
 * ids unique and builds the final Response. One instance per call; synchronous.
 */
export class StreamWriter {
  readonly #facts: CallFacts;
  readonly #toolCallIds: ToolCallIdAllocator;
  readonly #now: () => number;
  readonly #parts: (ContentPart | undefined)[] = [];
  readonly #open = new Set<OpenBlock>();
  #ready: StreamEvent[] = [];
  #sequence = 0;
  #startedAt = 0;
  #model = "";
  #ended = false;

  /** What the provider has said of the cost so far; rides along in an error. */
  usage: Usage | undefined;

  /** @param now Milliseconds of a monotonic clock, for `elapsed_ms`. */
  constructor(facts: CallFacts, toolCallIds: ToolCallIdAllocator, now: () => number = monotonicNow) {
    this.#facts = facts;
    this.#toolCallIds = toolCallIds;
    this.#now = now;
  }

  /** Whether `stream_start` was written. */
  get started(): boolean {
    return this.#sequence > 0;
  }

  /** Whether `finish` was written. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether any part has begun. */
  get outputStarted(): boolean {
    return this.#parts.length > 0;
  }

  /** Gives the events written since the last call. */
  take(): StreamEvent[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Writes `stream_start`. A second call is ignored: proxies repeat the provider's first event. */
  start(model: string): void {
    if (this.started) return;
    this.#model = model || this.#facts.request.model;
    this.#startedAt = this.#now();
    const { inferenceId, provider, acceptedAt, warnings } = this.#facts;
    const value = create(StreamStartSchema, {
      inferenceId,
      provider,
      model: this.#model,
      startedAt: timestampFromMs(acceptedAt),
      warnings: [...warnings],
      finalResponse: FinalResponse.FULL,
    });
    this.#emit({ case: "streamStart", value });
  }

  /** Begins a text part. */
  startText(): TextBlock {
    const partIndex = this.reserve();
    this.#emit({ case: "textStart", value: create(TextStartSchema, { partIndex }) });
    return this.#opened(new TextBlock(this.#sinkOf(partIndex)));
  }

  /** Begins a thinking part. */
  startReasoning(): ReasoningBlock {
    const partIndex = this.reserve();
    this.#emit({ case: "reasoningStart", value: create(ReasoningStartSchema, { partIndex }) });
    return this.#opened(new ReasoningBlock(this.#sinkOf(partIndex)));
  }

  /** Begins a tool call, at a place that was reserved or at the next one. An id that is taken or empty is replaced. */
  startToolCall(
    { id, name, inputKind = "argumentsJson" }: { id: string; name: string; inputKind?: ToolInputKind },
    partIndex: number = this.reserve(),
  ): ToolCallBlock {
    const call = { id: this.#toolCallIds.take(id), name, inputKind };
    const value = { partIndex, id: call.id, name, inputKind: INPUT_KINDS[inputKind] };
    this.#emit({ case: "toolCallStart", value: create(ToolCallStartSchema, value) });
    return this.#opened(new ToolCallBlock(this.#sinkOf(partIndex), call));
  }

  /** Keeps the next place in the message for a part that will arrive whole. */
  reserve(): number {
    return this.#parts.push(undefined) - 1;
  }

  /** Adds a part that arrived whole, at a place that was reserved or at the next one. */
  addPart(part: ContentPart, partIndex: number = this.reserve()): void {
    this.#parts[partIndex] = part;
    this.#emit({ case: "partAdded", value: create(PartAddedSchema, { partIndex, part }) });
  }

  /** Passes on an event of the provider that has no unified form. */
  providerEvent(type: string, dataJson: string): void {
    this.#emit({
      case: "providerEvent",
      value: { $typeName: "outrigger.v1.ProviderEvent", type, dataJson },
    });
  }

  /** Ends the stream with the whole answer, which it gives. Blocks that the provider left open end here. */
  finish(answer: StreamedAnswer): Response {
    for (const block of this.#open) block.end();
    const content = this.#parts.map((part, index) => {
      if (part === undefined)
        throw new StreamError(`part ${index} was announced by the provider and never came`);
      return part;
    });
    const response = responseOf(this.#facts, { ...answer, model: answer.model || this.#model, content });
    const { finishReason, usage } = answer;
    const value = { finishReason, response, ...(usage === undefined ? {} : { usage }) };
    this.#emit({ case: "finish", value: create(FinishSchema, value) });
    this.#ended = true;
    return response;
  }

  // Events and deltas are as `create` would make them, which takes ten times as long to find that out.
  #emit(event: Happening): void {
    const sequence = this.#sequence;
    const elapsedMs = Math.round(this.#now() - this.#startedAt);
    this.#ready.push({ $typeName: "outrigger.v1.StreamEvent", sequence, elapsedMs, event });
    this.#sequence += 1;
  }

  #opened<Block extends OpenBlock>(block: Block): Block {
    this.#open.add(block);
    return block;
  }

  #sinkOf(partIndex: number): BlockSink {
    return {
      partIndex,
      emit: (event) => this.#emit(event),
      close: (block, part) => {
        this.#open.delete(block);
        this.#parts[partIndex] = part;
      },
    };
  }
}

/** How a block reaches the writer that opened it. */
interface BlockSink {
  readonly partIndex: number;
  emit(event: Happening): void;
  close(block: OpenBlock, part: ContentPart): void;
}

/** A part that is being written. */
abstract class OpenBlock {
  protected readonly sink: BlockSink;
  #text = "";
  #held = "";
  #closed = false;

  constructor(sink: BlockSink) {
    this.sink = sink;
  }

  /** Everything appended so far that may be sent. */
  get text(): string {
    return this.#text;
  }

  /**
   * Adds what the provider sent. A trailing high surrogate waits for its partner (law 10).
   * Throws StreamError where the part has ended.
   */
  append(delta: string): void {
    if (this.#closed && delta !== "")
      throw new StreamError("the provider went on with a part that had ended");
    const whole = this.#held === "" ? delta : this.#held + delta;
    this.#held = endsInHighSurrogate(whole) ? whole.slice(-1) : "";
    this.#send(this.#held === "" ? whole : whole.slice(0, -1));
  }

  /**
   * Adds what is still missing of the provider's final text. Where that differs from what was
   * sent, or the part has ended, what was sent stands.
   */
  complete(finalText: string): void {
    if (this.#closed) return;
    // What was sent has U+FFFD in the place of a lone surrogate, which the final text still has.
    const known = (this.#text + this.#held).toWellFormed();
    if (finalText.slice(0, known.length).toWellFormed() === known) this.append(finalText.slice(known.length));
  }

  abstract end(): void;

  /** Whether nothing has come so far. */
  protected get isEmpty(): boolean {
    return this.#text === "" && this.#held === "";
  }

  /** Sends what was held back, a lone surrogate as U+FFFD. False where the block had ended before. */
  protected flush(): boolean {
    if (this.#closed) return false;
    this.#closed = true;
    this.#send(this.#held);
    return true;
  }

  protected abstract delta(delta: string): Happening;

  #send(delta: string): void {
    if (delta === "") return;
    const clean = delta.isWellFormed() ? delta : delta.toWellFormed();
    this.#text += clean;
    this.sink.emit(this.delta(clean));
  }
}

/** A text part that is being written. */
export class TextBlock extends OpenBlock {
  /** Ends the part. A second call is ignored. */
  end({ citations = [], providerState }: BlockEnd = {}): void {
    if (!this.flush()) return;
    const { partIndex } = this.sink;
    const state = providerState === undefined ? {} : { providerState };
    const value = create(TextEndSchema, { partIndex, text: this.text, citations, ...state });
    this.sink.emit({ case: "textEnd", value });
    const part = { case: "text", value: this.text } as const;
    this.sink.close(this, create(ContentPartSchema, { part, citations, ...state }));
  }

  protected delta(delta: string): Happening {
    const { partIndex } = this.sink;
    return { case: "textDelta", value: { $typeName: "outrigger.v1.TextDelta", partIndex, delta } };
  }
}

/** A thinking part that is being written. */
export class ReasoningBlock extends OpenBlock {
  /** Ends the part. A second call is ignored. */
  end({ redacted = false, providerState }: BlockEnd = {}): void {
    if (!this.flush()) return;
    const { partIndex } = this.sink;
    const state = providerState === undefined ? {} : { providerState };
    const value = create(ReasoningEndSchema, { partIndex, text: this.text, redacted, ...state });
    this.sink.emit({ case: "reasoningEnd", value });
    const part = { case: "reasoning", value: { text: this.text, redacted } } as const;
    this.sink.close(this, create(ContentPartSchema, { part, ...state }));
  }

  protected delta(delta: string): Happening {
    const { partIndex } = this.sink;
    return { case: "reasoningDelta", value: { $typeName: "outrigger.v1.ReasoningDelta", partIndex, delta } };
  }
}

/** A tool call that is being written. */
export class ToolCallBlock extends OpenBlock {
  readonly #call: ToolCallHead;

  constructor(sink: BlockSink, call: ToolCallHead) {
    super(sink);
    this.#call = call;
  }

  /** Ends the call: parses its arguments and marks them where they do not parse. A second call is ignored. */
  end({ providerState }: BlockEnd = {}): void {
    // No arguments at all mean an empty object, so that the caller can parse them.
    if (this.#call.inputKind === "argumentsJson" && this.isEmpty) this.append("{}");
    if (!this.flush()) return;
    const { partIndex } = this.sink;
    const toolCall = toolCallOf(this.#call, this.text);
    const state = providerState === undefined ? {} : { providerState };
    const value = create(ToolCallEndSchema, { partIndex, toolCall, ...state });
    this.sink.emit({ case: "toolCallEnd", value });
    this.sink.close(
      this,
      create(ContentPartSchema, { part: { case: "toolCall", value: toolCall }, ...state }),
    );
  }

  protected delta(delta: string): Happening {
    const { partIndex } = this.sink;
    return { case: "toolCallDelta", value: { $typeName: "outrigger.v1.ToolCallDelta", partIndex, delta } };
  }
}

/** What is known of a tool call before its input. */
interface ToolCallHead {
  readonly id: string;
  readonly name: string;
  readonly inputKind: ToolInputKind;
}

/** What the input of a tool call is: arguments of a function, or the free text of a custom tool. */
export type ToolInputKind = "argumentsJson" | "text";

const INPUT_KINDS: Readonly<Record<ToolInputKind, ToolCallStart_InputKind>> = {
  argumentsJson: ToolCallStart_InputKind.ARGUMENTS_JSON,
  text: ToolCallStart_InputKind.TEXT,
};

/**
 * A tool call as the contract defines it: empty arguments become `{}`; arguments that do not parse are marked and kept.
 * @param input What the model wrote.
 */
export function toolCallOf({ id, name, inputKind }: ToolCallHead, input: string): ToolCall {
  const text = input.toWellFormed();
  if (inputKind === "text") return create(ToolCallSchema, { id, name, input: { case: "text", value: text } });
  const value = text === "" ? "{}" : text;
  const argumentsInvalid = !isJson(value);
  return create(ToolCallSchema, { id, name, argumentsInvalid, input: { case: "argumentsJson", value } });
}

function monotonicNow(): number {
  return performance.now();
}

function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
