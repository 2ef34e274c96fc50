/**
 * The events of one model call -> the events of its items. Items begin in the order of their parts, so that the indices
 * of a stream match the response object; events of a later part wait until its turn.
 */
import { create } from "@bufbuild/protobuf";
import { GrowingText } from "../../core/text.ts";
import { type ContentPart, type ProviderState, ToolCallSchema } from "../../gen/outrigger/v1/message_pb.ts";
import type { FinishReason } from "../../gen/outrigger/v1/response_pb.ts";
import {
  ToolCallStart_InputKind as InputKind,
  type PartAdded,
  type ReasoningEnd,
  ReasoningEndSchema,
  type StreamEvent,
  type TextEnd,
  TextEndSchema,
  type ToolCallEnd,
  ToolCallEndSchema,
  type ToolCallStart,
} from "../../gen/outrigger/v1/stream_event_pb.ts";
import { toItemId } from "../openai/ids.ts";
import type { EventOutput } from "./event-output.ts";
import { emitProgress, toAddedItem } from "./hosted-events.ts";
import type { McpToolEvents } from "./mcp-tool-events.ts";
import {
  type OpenContent,
  OpenInput,
  OpenReasoning,
  OpenRefusal,
  OpenText,
  type OutputPosition,
} from "./open-items.ts";
import type { OutputList } from "./output-list.ts";
import {
  createPart,
  getContent,
  type ItemStatus,
  type ItemWriter,
  isCustom,
  itemStatusAt,
  toInput,
  type WrittenItem,
} from "./write-items.ts";

/** The parts that the steps of a response share. */
export interface StepContext {
  readonly output: EventOutput;
  readonly list: OutputList;
  readonly items: ItemWriter;
  /** The tools that the sidecar executes: their calls are written when they are executed. */
  readonly tools: McpToolEvents;
}

/** A part of the answer. */
interface OpenPart {
  /** Undefined while the part has no item: a text may stay empty, and a call may be written later. */
  item: OpenItem | undefined;
  /** The content of its deltas so far. */
  readonly text: GrowingText;
  /** Whether it is the text of a refusal. */
  readonly refusal: boolean;
  /** The event that began the part. */
  readonly start?: StartEvent | undefined;
  isOver: boolean;
}

/** The item of a part. */
interface OpenItem {
  readonly position: OutputPosition;
  readonly content: OpenContent;
  /** Whether deltas are written as they arrive. */
  readonly streams: boolean;
}

/** An item that is complete except for its status. */
interface LatestItem {
  readonly position: OutputPosition;
  /** Holds no reference to the writer that created it, because copies share it. */
  readonly write: (status: ItemStatus) => WrittenItem;
}

type Event = StreamEvent["event"];
type StartEvent = Extract<Event, { case: "textStart" | "reasoningStart" | "toolCallStart" }>;
type PartEvent = Exclude<Event, { case: "streamStart" | "finish" | "error" | "providerEvent" | undefined }>;
type DeltaEvent = Extract<Event, { case: "textDelta" | "reasoningDelta" | "toolCallDelta" }>;

/** The events of a part that waits for its turn. Its deltas are joined, since many events take far more memory. */
interface WaitingPart {
  readonly first: PartEvent;
  readonly text: GrowingText;
  /** The first delta; undefined if there is none. */
  delta?: DeltaEvent;
  last?: PartEvent;
}

/** Writes the items of one model call. */
export class StepEvents {
  readonly #context: StepContext;
  readonly #messageId: string;
  #parts: OpenPart[] = [];
  /** The finished parts, by their indices: the state of all parts is written after the items. */
  #content: ContentPart[] = [];
  /** Later parts that wait for their turn, by their indices. */
  #waiting = new Map<number, WaitingPart>();
  /** Index of the first part that has neither an item nor an end. */
  #next = 0;
  /** Status of the items before the latest one. */
  #status: ItemStatus = "completed";
  /** The latest item, if it is complete. Its last event is written when it is known whether the answer was cut off. */
  #latest: LatestItem | undefined;

  constructor(context: StepContext, messageId: string) {
    this.#context = context;
    this.#messageId = messageId;
  }

  /** Returns a copy that continues from here. @param context The context of the copied writer. */
  copy(context: StepContext): StepEvents {
    const copy = new StepEvents(context, this.#messageId);
    copy.#parts = this.#parts.map((part) => ({ ...part, text: new GrowingText(part.text.value) }));
    copy.#content = this.#content.slice();
    copy.#waiting = new Map(
      [...this.#waiting].map(([index, part]) => [index, { ...part, text: new GrowingText(part.text.value) }]),
    );
    copy.#next = this.#next;
    copy.#status = this.#status;
    copy.#latest = this.#latest;
    return copy;
  }

  /** UTF-16 units of the texts so far. */
  get units(): number {
    return this.#parts.reduce((sum, { text }) => sum + text.value.length, 0);
  }

  /** Processes one event of the model. */
  push({ event }: StreamEvent): void {
    switch (event.case) {
      case "streamStart":
      case "providerEvent":
      case "error":
      case undefined:
        return undefined;
      case "finish":
        return this.#finish(event.value.finishReason);
      default:
        return this.#pushPart(event);
    }
  }

  /** Ends the open items, since the rest of the answer will never arrive. */
  abandon(): void {
    this.#status = "incomplete";
    for (const [partIndex, part] of this.#parts.entries()) {
      if (part?.item === undefined || part.isOver) continue;
      if (part.start?.case === "toolCallStart") this.#endCall(cutCall(part.start.value, part.text.value));
      else if (part.start?.case === "reasoningStart")
        this.#endReasoning(create(ReasoningEndSchema, { partIndex }));
      else this.#endText(create(TextEndSchema, { partIndex }));
    }
    this.#finishLatest(this.#status);
  }

  #pushPart(event: PartEvent): void {
    const { partIndex } = event.value;
    if (partIndex > this.#next) return this.#wait(partIndex, event);
    this.#apply(event);
    if (partIndex === this.#next) this.#advance();
  }

  #wait(partIndex: number, event: PartEvent): void {
    const part = this.#waiting.get(partIndex);
    if (part === undefined) this.#waiting.set(partIndex, { first: event, text: new GrowingText() });
    else if (isDelta(event)) {
      part.delta ??= event;
      part.text.append(event.value.delta);
    } else part.last = event;
  }

  /** Lets the next parts begin. */
  #advance(): void {
    for (
      let part = this.#parts[this.#next];
      part !== undefined && hasBegun(part);
      part = this.#parts[this.#next]
    ) {
      this.#next += 1;
      const waiting = this.#waiting.get(this.#next);
      this.#waiting.delete(this.#next);
      if (waiting !== undefined) this.#applyAll(waiting);
    }
  }

  #applyAll({ first, delta, text, last }: WaitingPart): void {
    this.#apply(first);
    if (delta !== undefined) this.#append(delta.value.partIndex, text.value);
    if (last !== undefined) this.#apply(last);
  }

  #apply(event: PartEvent): void {
    switch (event.case) {
      case "textStart":
      case "reasoningStart":
      case "toolCallStart":
        return this.#start(event);
      case "textDelta":
      case "reasoningDelta":
      case "toolCallDelta":
        return this.#append(event.value.partIndex, event.value.delta);
      case "textEnd":
        return this.#endText(event.value);
      case "reasoningEnd":
        return this.#endReasoning(event.value);
      case "toolCallEnd":
        return this.#endCall(event.value);
      case "partAdded":
        return this.#addWhole(event.value);
      default:
        return event satisfies never;
    }
  }

  #start(event: StartEvent): void {
    this.#finishLatest("completed");
    const refusal = event.case === "textStart" && event.value.refusal;
    const part: OpenPart = { item: undefined, text: new GrowingText(), refusal, isOver: false, start: event };
    this.#parts[event.value.partIndex] = part;
    if (event.case === "reasoningStart") part.item = this.#addReasoning(event.value.partIndex);
    if (event.case !== "toolCallStart") return;
    if (this.#context.tools.has(event.value.name)) part.isOver = true;
    else part.item = this.#addCall(event.value);
  }

  #append(index: number, delta: string): void {
    const part = this.#parts[index];
    if (part === undefined) return;
    const isFirst = part.text.value === "";
    part.text.append(delta);
    if (part.item === undefined && !part.isOver) part.item = this.#addText(index, part.refusal);
    if (part.item?.streams === true) part.item.content.append(this.#context.output, delta, isFirst);
  }

  #addText(index: number, refusal: boolean): OpenItem {
    const { output, items } = this.#context;
    const position = this.#add(items.openMessage(this.#toId("message", index)));
    const content = refusal ? new OpenRefusal(output, position) : new OpenText(output, position);
    return { position, content, streams: true };
  }

  #addReasoning(index: number): OpenItem {
    const { items } = this.#context;
    const position = this.#add(items.openReasoning(this.#toId("reasoning", index)));
    return { position, content: new OpenReasoning(position, items.reasoningField), streams: true };
  }

  #addCall({ partIndex, id, name, inputKind }: ToolCallStart): OpenItem {
    const { items } = this.#context;
    const isText = inputKind === InputKind.TEXT;
    const call = create(ToolCallSchema, {
      id,
      name,
      input: { case: isText ? "text" : "argumentsJson", value: "" },
    });
    const tool = items.callerTool(name);
    const type = isCustom(call, tool) ? "custom_tool_call" : "function_call";
    const position = this.#add(items.call(this.#toId(type, partIndex), "in_progress", call));
    const functionName = type === "function_call" ? (tool?.callerName ?? name) : undefined;
    const content = new OpenInput(position, type, functionName);
    // A custom tool may be a function for the provider. Then its input is known only when its JSON is complete.
    return { position, content, streams: type === "function_call" || isText };
  }

  #endText({ partIndex, citations, providerState }: TextEnd): void {
    const part = this.#endPart(partIndex);
    const { refusal } = part;
    const text = part.text.value;
    const whole = createPart({
      part: { case: "text", value: text },
      citations,
      refusal,
      ...toStateField(providerState),
    });
    this.#content[partIndex] = whole;
    const { item } = part;
    if (item === undefined) return;
    const { items, output } = this.#context;
    item.content.end(output, text, getContent(whole));
    this.#finishItem(partIndex, item.position, (status) => items.message(item.position.id, status, whole));
  }

  #endReasoning({ partIndex, redacted, providerState }: ReasoningEnd): void {
    const {
      item,
      text: { value: text },
    } = this.#endPart(partIndex);
    const whole = createPart({
      part: { case: "reasoning", value: { text, redacted } },
      ...toStateField(providerState),
    });
    this.#content[partIndex] = whole;
    if (item === undefined) return;
    const { items, output } = this.#context;
    item.content.end(output, text);
    this.#finishItem(partIndex, item.position, () => items.reasoning(item.position.id, whole));
  }

  #endCall({ partIndex, toolCall: call, providerState }: ToolCallEnd): void {
    const { item } = this.#endPart(partIndex);
    if (call === undefined) return;
    this.#content[partIndex] = createPart({
      part: { case: "toolCall", value: call },
      ...toStateField(providerState),
    });
    const { items, tools, output } = this.#context;
    if (item === undefined) return tools.recordCall(call, { messageId: this.#messageId, part: partIndex });
    const input = toInput(call, items.callerTool(call.name));
    if (!item.streams && input !== "") item.content.append(output, input, true);
    item.content.end(output, input);
    this.#finishItem(partIndex, item.position, (status) =>
      items.call(item.position.id, status, call, providerState),
    );
  }

  /** Adds a part that arrives complete: its item is added and its events are written at once. */
  #addWhole({ partIndex, part }: PartAdded): void {
    this.#finishLatest("completed");
    this.#parts[partIndex] = createOverPart();
    if (part === undefined) return;
    this.#content[partIndex] = part;
    const { output, items } = this.#context;
    const item = items.whole(this.#messageId, partIndex, part);
    const position = this.#add(toAddedItem(item));
    emitProgress(item, output, position);
    this.#finishItem(partIndex, position, () => item);
  }

  #endPart(index: number): OpenPart {
    const part = this.#parts[index] ?? createOverPart();
    part.isOver = true;
    return part;
  }

  #add(item: WrittenItem): OutputPosition {
    return this.#context.list.add(item);
  }

  #toId(type: string, index: number): string {
    return toItemId(type, this.#messageId, index);
  }

  /** Ends an item; the last item of the answer ends when it is known whether the answer was cut off. */
  #finishItem(index: number, position: OutputPosition, write: LatestItem["write"]): void {
    if (index === this.#parts.length - 1) this.#latest = { position, write };
    else this.#context.list.finish(position, write(this.#status));
  }

  #finishLatest(status: ItemStatus): void {
    const latest = this.#latest;
    this.#latest = undefined;
    if (latest !== undefined) this.#context.list.finish(latest.position, latest.write(status));
  }

  #finish(reason: FinishReason | undefined): void {
    this.#applyWaiting();
    this.#finishLatest(itemStatusAt(reason));
    const carrier = this.#context.items.carrier(this.#messageId, this.#content);
    if (carrier !== undefined) this.#context.list.finish(this.#add(carrier), carrier);
  }

  /** Processes parts that waited for a part that never arrived. */
  #applyWaiting(): void {
    for (const [, part] of [...this.#waiting].sort(([left], [right]) => left - right)) this.#applyAll(part);
    this.#waiting.clear();
  }
}

/** Returns a call whose arguments were cut off. */
function cutCall({ partIndex, id, name, inputKind }: ToolCallStart, text: string): ToolCallEnd {
  const input = { case: inputKind === InputKind.TEXT ? "text" : "argumentsJson", value: text } as const;
  return create(ToolCallEndSchema, { partIndex, toolCall: { id, name, argumentsInvalid: true, input } });
}

function isDelta(event: PartEvent): event is DeltaEvent {
  return event.case === "textDelta" || event.case === "reasoningDelta" || event.case === "toolCallDelta";
}

/** Creates a part that is over and has no deltas. */
function createOverPart(): OpenPart {
  return { item: undefined, text: new GrowingText(), refusal: false, isOver: true };
}

function hasBegun({ item, isOver }: OpenPart): boolean {
  return item !== undefined || isOver;
}

function toStateField(providerState: ProviderState | undefined): { providerState?: ProviderState } {
  return providerState === undefined ? {} : { providerState };
}
