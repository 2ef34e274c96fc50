/**
 * Their events -> our events. `push` is the table of contents of the protocol (provider
 * documentation: "Streaming events"); each case is a method. State is kept by `output_index`,
 * since item ids differ between events on some servers.
 */
import type { CallFacts } from "../../kit/call-facts.ts";
import type { StreamDecoder } from "../../kit/decode-stream.ts";
import { asInt32, asObject, asString, isObject, type JsonObject, tryParseJson } from "../../kit/json.ts";
import type { SseEvent } from "../../kit/sse.ts";
import type { ReasoningBlock, StreamWriter, TextBlock, ToolCallBlock } from "../../kit/stream-writer.ts";
import { StreamError } from "../../spec/errors.ts";
import { reportedError } from "./error.ts";
import {
  callHead,
  callInput,
  citationsOf,
  finishReasonOf,
  isRedacted,
  messagePart,
  messageText,
  reasoningText,
  transformationsIn,
  usageOf,
  wholePart,
} from "./response.ts";
import { StateWriter } from "./state.ts";
import { type Item, objectsIn, type ResponseObject, textIn, type WireEvent } from "./wire.ts";

/** An output item while its events arrive. */
type OpenItem = OpenMessage | OpenReasoning | OpenCall | OpenWhole;

/** A message: one block for each of its content parts. */
interface OpenMessage {
  readonly kind: "message";
  readonly item: Item;
  readonly texts: Map<number, TextBlock>;
}

/** Reasoning: one block for all of its parts. */
interface OpenReasoning {
  readonly kind: "reasoning";
  readonly item: Item;
  readonly block: ReasoningBlock;
  /** The part that the last delta belonged to. */
  lastPart: string;
}

/** A function or custom tool call. */
interface OpenCall {
  readonly kind: "call";
  readonly item: Item;
  readonly block: ToolCallBlock;
}

/** Anything else: its one part comes when the item is done; its place is kept. */
interface OpenWhole {
  readonly kind: "whole";
  readonly item: Item;
  readonly partIndex: number;
}

/** Decodes one stream of the Responses API. */
export class ResponsesDecoder implements StreamDecoder {
  readonly #facts: CallFacts;
  readonly #writer: StreamWriter;
  readonly #open = new Map<number, OpenItem>();
  readonly #done = new Map<number, Item>();
  #states: StateWriter;
  #lastIndex = 0;

  constructor(facts: CallFacts, writer: StreamWriter) {
    this.#facts = facts;
    this.#writer = writer;
    this.#states = new StateWriter(facts, "");
  }

  push({ data, type }: SseEvent): void {
    if (data === "[DONE]") return;
    const event = tryParseJson(data);
    if (!isObject(event)) throw new StreamError("an event of the provider's stream is no JSON object");
    this.#dispatch(asString(event.type) ?? type, event);
  }

  /** Only a terminal event ends this protocol, so there is nothing left to finish here. */
  end(): void {}

  #dispatch(type: string, event: WireEvent): void {
    switch (type) {
      case "error":
        throw reportedError(event, this.#facts);
      case "response.failed":
        return this.#fail(objectIn(event.response));
      case "response.created":
        return this.#start(event);
      case "response.output_item.added":
        return this.#addItem(event);
      case "response.content_part.added":
        return this.#addContentPart(event);
      case "response.output_text.delta":
      case "response.refusal.delta":
        return this.#textAt(event).append(textIn(event.delta));
      case "response.output_text.done":
        return this.#textAt(event).complete(textIn(event.text));
      case "response.refusal.done":
        return this.#textAt(event).complete(textIn(event.refusal));
      case "response.reasoning_summary_text.delta":
      case "response.reasoning_text.delta":
        return this.#appendReasoning(type, event);
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
        return this.#callAt(event)?.append(textIn(event.delta));
      case "response.output_item.done":
        return this.#endItem(this.#indexOf(event), objectIn(event.item));
      case "response.completed":
      case "response.incomplete":
        return this.#finish(objectIn(event.response));
      default:
        return this.#passOn(type, event);
    }
  }

  /** Writes `stream_start` with the first event that shows the request was accepted. */
  #start(event: WireEvent): void {
    if (this.#writer.started) return;
    const model = textIn(objectIn(event.response).model);
    this.#states = new StateWriter(this.#facts, model);
    this.#writer.start(model);
  }

  #addItem(event: WireEvent): void {
    this.#start(event);
    const item = objectIn(event.item);
    const index = asInt32(event.output_index) ?? this.#open.size + this.#done.size;
    this.#lastIndex = index;
    if (!this.#open.has(index)) this.#openItem(index, item);
  }

  #openItem(index: number, item: Item): OpenItem | undefined {
    const open = this.#opened(item);
    if (open !== undefined) this.#open.set(index, open);
    return open;
  }

  /** Begins what an item becomes. Undefined for a call whose name is not known yet: it begins when it is done. */
  #opened(item: Item): OpenItem | undefined {
    switch (item.type) {
      case "message":
        return { kind: "message", item, texts: new Map() };
      case "reasoning":
        return { kind: "reasoning", item, block: this.#writer.startReasoning(), lastPart: "" };
      case "function_call":
      case "custom_tool_call":
        if (textIn(item.name) === "") return undefined;
        return {
          kind: "call",
          item,
          block: this.#writer.startToolCall({ ...callHead(item), id: textIn(item.call_id) }),
        };
      default:
        return { kind: "whole", item, partIndex: this.#writer.reserve() };
    }
  }

  /** Only text begins before its first delta; other content comes whole with its item. */
  #addContentPart(event: WireEvent): void {
    const text = messageText(objectIn(event.part));
    if (text !== undefined && this.#openAt(event, "message") !== undefined)
      this.#textAt(event).complete(text);
  }

  #textAt(event: WireEvent): TextBlock {
    const { texts } = this.#openAt(event, "message") ?? this.#begin(event, { type: "message" }, "message");
    return textBlockAt(texts, asInt32(event.content_index) ?? 0, this.#writer);
  }

  /** The parts of a reasoning item are one block; a blank line parts them. */
  #appendReasoning(type: string, event: WireEvent): void {
    const open = this.#openAt(event, "reasoning") ?? this.#begin(event, { type: "reasoning" }, "reasoning");
    const part = `${type} ${asInt32(event.summary_index) ?? asInt32(event.content_index) ?? 0}`;
    if (open.lastPart !== part && open.block.text !== "") open.block.append("\n\n");
    open.lastPart = part;
    open.block.append(textIn(event.delta));
  }

  #callAt(event: WireEvent): ToolCallBlock | undefined {
    return this.#openAt(event, "call")?.block;
  }

  /** The item that an event belongs to, where it is open and of the kind that the event is about. */
  #openAt<Kind extends OpenItem["kind"]>(
    event: WireEvent,
    kind: Kind,
  ): Extract<OpenItem, { kind: Kind }> | undefined {
    const open = this.#open.get(this.#indexOf(event));
    return isOfKind(open, kind) ? open : undefined;
  }

  /** Begins an item that the server never announced. */
  #begin<Kind extends OpenItem["kind"]>(
    event: WireEvent,
    item: Item,
    kind: Kind,
  ): Extract<OpenItem, { kind: Kind }> {
    this.#start(event);
    const index = this.#indexOf(event);
    const open = this.#open.has(index) ? undefined : this.#openItem(index, item);
    if (!isOfKind(open, kind))
      throw new StreamError(`the provider sent a ${kind} event for an item of another kind`);
    return open;
  }

  /** Some servers leave the index out; the item's id, or else the last item, then tells. */
  #indexOf(event: WireEvent): number {
    const index = asInt32(event.output_index);
    if (index !== undefined) return index;
    const id = objectIn(event.item).id ?? event.item_id;
    for (const [open, { item }] of this.#open) if (id !== undefined && item.id === id) return open;
    return this.#lastIndex;
  }

  /** Ends what an item became, with everything that only the whole item tells. */
  #endItem(index: number, item: Item): void {
    if (this.#done.has(index)) return;
    this.#start({});
    const open = this.#open.get(index) ?? this.#openItem(index, item);
    this.#open.delete(index);
    this.#done.set(index, item);
    switch (open?.kind) {
      case "message":
        return this.#endMessage(open.texts, item);
      case "reasoning":
        open.block.complete(reasoningText(item));
        return open.block.end({ redacted: isRedacted(item), providerState: this.#states.ofReasoning(item) });
      case "call":
        open.block.complete(callInput(item));
        return open.block.end({ providerState: this.#states.ofCall(item) });
      case "whole":
        return this.#writer.addPart(wholePart(item, this.#states), open.partIndex);
      default:
        return this.#addLateCall(item);
    }
  }

  #endMessage(texts: Map<number, TextBlock>, item: Item): void {
    const parts = objectsIn(item.content);
    parts.forEach((part, index) => {
      this.#endContentPart(texts, index, item, part);
    });
    // Blocks that the whole item does not list end with what they have.
    const rest = { type: "output_text" };
    for (const block of texts.values()) block.end({ providerState: this.#states.ofMessagePart(item, rest) });
    if (parts.length === 0 && texts.size === 0) {
      this.#writer.startText().end({ providerState: this.#states.ofEmptyMessage(item) });
    }
  }

  #endContentPart(texts: Map<number, TextBlock>, index: number, item: Item, part: JsonObject): void {
    const text = messageText(part);
    if (text === undefined) return this.#writer.addPart(messagePart(item, part, this.#states));
    const block = textBlockAt(texts, index, this.#writer);
    block.complete(text);
    block.end({ citations: citationsOf(part), providerState: this.#states.ofMessagePart(item, part) });
  }

  /** A call that was announced without its name, whole at last. */
  #addLateCall(item: Item): void {
    const block = this.#writer.startToolCall({ ...callHead(item), id: textIn(item.call_id) });
    block.append(callInput(item));
    block.end({ providerState: this.#states.ofCall(item) });
  }

  #finish(object: ResponseObject): void {
    this.#start({ response: object });
    this.#endMissedItems(object);
    this.#facts.warnings.push(...transformationsIn(object));
    const items = [...this.#done].sort(([left], [right]) => left - right).map(([, item]) => item);
    const { includeRaw } = this.#facts.request;
    this.#writer.finish({
      id: textIn(object.id),
      model: textIn(object.model),
      finishReason: finishReasonOf(object, items),
      usage: usageOf(object.usage, includeRaw),
      rawJson: includeRaw ? JSON.stringify(object) : "",
    });
  }

  /** Some servers tell of items only at the end, or never say that an item is done. */
  #endMissedItems(object: ResponseObject): void {
    const known = new Set([...this.#done.values()].map(({ id }) => id));
    objectsIn(object.output).forEach((item, index) => {
      if (!known.has(item.id) || item.id === undefined) this.#endItem(index, item);
    });
    for (const [index, { item }] of this.#open) this.#endItem(index, item);
  }

  #fail(object: ResponseObject): void {
    this.#writer.usage = usageOf(object.usage, this.#facts.request.includeRaw);
    throw reportedError(object, this.#facts);
  }

  #passOn(type: string, event: WireEvent): void {
    if (type === "keepalive") return;
    this.#start(event);
    const isLost = !KEPT_ELSEWHERE.test(type);
    if (isLost || this.#facts.request.includeRaw) this.#writer.providerEvent(type, JSON.stringify(event));
  }
}

/**
 * Events whose content is in the item or response that ends them: they are passed on only
 * where the caller asked for everything.
 */
const KEPT_ELSEWHERE = new RegExp(
  `^response\\.(?:${[
    "queued",
    "in_progress",
    "content_part\\.done",
    "output_text\\.annotation\\.added",
    "reasoning_(?:summary_part|summary_text|text)\\.(?:added|done)",
    "function_call_arguments\\.done",
    "custom_tool_call_input\\.done",
    "(?:web_search_call|file_search_call|code_interpreter_call|mcp_call|mcp_list_tools)\\..*",
    "(?:code_interpreter_call_code|mcp_call_arguments|shell_call_command)\\..*",
    "(?:shell_call_output_content|apply_patch_call_operation_diff)\\..*",
    "image_generation_call\\.(?:in_progress|generating|completed)",
    "compaction\\.compacting",
  ].join("|")})$`,
);

function textBlockAt(texts: Map<number, TextBlock>, index: number, writer: StreamWriter): TextBlock {
  const known = texts.get(index);
  if (known !== undefined) return known;
  const block = writer.startText();
  texts.set(index, block);
  return block;
}

function isOfKind<Kind extends OpenItem["kind"]>(
  open: OpenItem | undefined,
  kind: Kind,
): open is Extract<OpenItem, { kind: Kind }> {
  return open?.kind === kind;
}

function objectIn(value: unknown): JsonObject {
  return asObject(value) ?? {};
}
