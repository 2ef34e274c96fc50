/** The open items of a stream, each with the content from its events so far. */
import { GrowingText } from "../../core/text.ts";
import { asInt32, objectIn, textIn } from "../../kit/json/json.ts";
import type {
  ReasoningBlock,
  StreamWriter,
  TextBlock,
  ToolCallBlock,
} from "../../kit/stream/stream-writer.ts";
import type { OutputText, Refusal } from "../../wire/openai-responses/items.ts";
import type { Annotation, OutputContent, OutputItem } from "../../wire/openai-responses/response.ts";
import type { StreamEvent } from "../../wire/openai-responses/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { isRunByProvider } from "./finish-reason.ts";
import { callHead, callInput, getContentParts, messageText } from "./response.ts";

/** An item that has begun. */
export type OpenItem = OpenMessage | OpenReasoning | OpenCall | OpenNamelessCall | OpenSinglePart;

/** A message: one block for each of its content parts. */
export interface OpenMessage {
  readonly kind: "message";
  readonly item: Untrusted<OutputItem>;
  /** The texts that have begun, by the content indices of their events. */
  readonly texts: Map<number, OpenText>;
  /** The announced parts that are not text, by the content indices of their events. */
  readonly others: Map<number, AnnouncedPart>;
  /** The text that began last. */
  last: OpenText | undefined;
}

/** A content part of a message that is text, or a refusal. */
export interface OpenText {
  readonly block: TextBlock;
  /** Annotations so far. The finished item repeats them, if the server sends it. */
  readonly annotations: Untrusted<Annotation>[];
  /** Whether the model refuses. */
  readonly refuses: boolean;
}

/** A content part of a message that is not text, and the index that is reserved for it in the final message. */
interface AnnouncedPart {
  readonly part: Untrusted<OutputContent>;
  readonly partIndex: number;
}

/** Reasoning: one block for all its parts. */
export interface OpenReasoning {
  readonly kind: "reasoning";
  readonly item: Untrusted<OutputItem>;
  readonly block: ReasoningBlock;
  /** The text of each part so far. */
  readonly parts: Map<string, GrowingText>;
  /** The part that the last delta belonged to. */
  lastPart: string;
}

/** A function or custom tool call. */
export interface OpenCall {
  readonly kind: "call";
  readonly item: Untrusted<OutputItem>;
  readonly block: ToolCallBlock;
}

/** A call whose name is not known yet: its block begins when the call is done, at the reserved index. */
export interface OpenNamelessCall {
  readonly kind: "nameless call";
  readonly item: Untrusted<OutputItem>;
  readonly partIndex: number;
  input: GrowingText;
}

/** Any other item: its only part comes when the item is done, at the reserved index. */
export interface OpenSinglePart {
  readonly kind: "single part";
  readonly item: Untrusted<OutputItem>;
  readonly partIndex: number;
}

/** Opens an item. */
export function openItem(item: Untrusted<OutputItem>, writer: StreamWriter): OpenItem {
  switch (item.type) {
    case "message":
      return { kind: "message", item, texts: new Map(), others: new Map(), last: undefined };
    case "reasoning":
      return { kind: "reasoning", item, block: writer.startReasoning(), parts: new Map(), lastPart: "" };
    case "function_call":
    case "custom_tool_call":
      if (isRunByProvider(item)) return { kind: "single part", item, partIndex: writer.reserve() };
      if (textIn(item.name) === "")
        return { kind: "nameless call", item, partIndex: writer.reserve(), input: new GrowingText() };
      return { kind: "call", item, block: startCall(item, writer) };
    default:
      return { kind: "single part", item, partIndex: writer.reserve() };
  }
}

/**
 * Returns the text at a content index of a message. For a new index, returns the announced text that is still empty:
 * some servers announce a part under another index than its deltas have.
 * @param refuses Whether a new one is a refusal.
 */
export function textAt(
  open: OpenMessage,
  contentIndex: number,
  refuses: boolean,
  writer: StreamWriter,
): OpenText {
  const { last } = open;
  const isAnnounced = last?.block.text === "" && last.refuses === refuses;
  if (isAnnounced && !open.texts.has(contentIndex)) open.texts.set(contentIndex, last);
  return announceText(open, contentIndex, refuses, writer);
}

/**
 * Returns the text at a content index; begins one if the index is new. @param refuses Whether a new one is a refusal.
 */
export function announceText(
  open: OpenMessage,
  contentIndex: number,
  refuses: boolean,
  writer: StreamWriter,
): OpenText {
  const known = open.texts.get(contentIndex);
  if (known !== undefined) return known;
  const text = { block: writer.startText(refuses), annotations: [], refuses };
  open.texts.set(contentIndex, text);
  open.last = text;
  return text;
}

/** Reserves the index of a part that is not text, so that it stays between the texts; keeps its latest content. */
export function announceOther(
  { others }: OpenMessage,
  contentIndex: number,
  part: Untrusted<OutputContent>,
  writer: StreamWriter,
): void {
  const partIndex = others.get(contentIndex)?.partIndex ?? writer.reserve();
  others.set(contentIndex, { part, partIndex });
}

/** A content part of a message that is done. */
export interface DonePart {
  /** The part: from the finished item, or from the events alone. */
  readonly part: Untrusted<OutputContent>;
  /** The text that its events began; undefined if there were none. */
  readonly open: OpenText | undefined;
  /** The index that is reserved for a part that is not text; undefined for the next one. */
  readonly partIndex: number | undefined;
}

/**
 * Returns the content parts of a message: the texts that events began, in that order, then the parts that only the item
 * has, and those that are not text. Of the latter, the item's first one belongs to the first that was announced, and so
 * on.
 */
export function getContent({ texts, others }: OpenMessage, item: Untrusted<OutputItem>): DonePart[] {
  const parts = getContentParts(item);
  const begun = getParts(texts, parts);
  const content: DonePart[] = [];
  for (const [open, part = textPart(open)] of begun) content.push({ open, part, partIndex: undefined });
  const used = new Set(begun.values());
  const announced = others.values();
  for (const part of parts) {
    if (used.has(part)) continue;
    const partIndex = messageText(part) === undefined ? announced.next().value?.partIndex : undefined;
    content.push({ open: undefined, part, partIndex });
  }
  for (const { part, partIndex } of announced) content.push({ open: undefined, part, partIndex });
  return content;
}

type Parts = readonly Untrusted<OutputContent>[];

/**
 * Returns the part of the finished item for each text: the one at its index, else the one at its position. Some servers
 * count parts over all items of an answer, or from one.
 */
function getParts(
  texts: OpenMessage["texts"],
  parts: Parts,
): ReadonlyMap<OpenText, Untrusted<OutputContent> | undefined> {
  const atIndex = new Map<OpenText, Untrusted<OutputContent> | undefined>();
  for (const [index, text] of texts) atIndex.set(text, parts[index]);
  let fits = true;
  for (const [{ block }, part] of atIndex)
    fits &&= part !== undefined && messageText(part)?.startsWith(block.text) === true;
  if (fits) return atIndex;
  const written = parts.filter((part) => messageText(part) !== undefined);
  return new Map([...atIndex.keys()].map((text, place) => [text, written[place]]));
}

function textPart({ block: { text }, annotations, refuses }: OpenText): Untrusted<OutputText | Refusal> {
  return refuses ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations };
}

/** Adds to a part of reasoning. A blank line separates it from the part before. */
export function appendReasoning(open: OpenReasoning, part: string, delta: string): void {
  if (delta === "") return;
  if (open.lastPart !== part && open.block.text !== "") open.block.append("\n\n");
  open.lastPart = part;
  const text = open.parts.get(part) ?? new GrowingText();
  text.append(delta);
  open.parts.set(part, text);
  open.block.append(delta);
}

/** Adds the missing rest of a part's final text. If the two differ, the text that was sent is kept. */
export function completeReasoning(open: OpenReasoning, part: string, text: string): void {
  const known = open.parts.get(part)?.value ?? "";
  if (text.startsWith(known)) appendReasoning(open, part, text.slice(known.length));
}

/** Begins the block of a call that was announced without its name, once the call is done. */
export function nameCall(
  { partIndex, input }: OpenNamelessCall,
  item: Untrusted<OutputItem>,
  writer: StreamWriter,
): ToolCallBlock {
  const block = startCall(item, writer, partIndex);
  block.append(callInput(item, input.value));
  return block;
}

function startCall(item: Untrusted<OutputItem>, writer: StreamWriter, partIndex?: number): ToolCallBlock {
  return writer.startToolCall({ ...callHead(item), id: textIn(item.call_id) }, partIndex);
}

/**
 * The output items of one stream by their index: which are open, which are done, and which one an event belongs to,
 * even if the server omits the index.
 */
export class ItemTable {
  /** The items that have begun and are not done. */
  readonly open = new Map<number, OpenItem>();
  readonly #done = new Map<number, Untrusted<OutputItem>>();
  /** The index of the item with an id, of several the first open one. A search for each event would be quadratic. */
  readonly #byId = new Map<unknown, number>();
  /** Ids that several items have, at some servers all. */
  readonly #repeatedIds = new Set<unknown>();
  /** The indices at which items of a type began. Those that are done are removed when the last one is looked up. */
  readonly #byType = new Map<unknown, number[]>();
  /** Finished items whose index the server used again. */
  readonly #replaced: Untrusted<OutputItem>[] = [];
  #next = 0;

  /** All items that are done. */
  get done(): Untrusted<OutputItem>[] {
    return [...this.#replaced, ...this.#done.values()];
  }

  /** Reports whether the item at an index is done. */
  isDone(index: number): boolean {
    return this.#done.has(index);
  }

  /** Returns the index of an announced item; undefined if it was announced before. */
  announce(event: Untrusted<StreamEvent>, item: Untrusted<OutputItem>): number | undefined {
    const index = asInt32(event.output_index) ?? this.#next;
    const done = this.#done.get(index);
    const isRepeated = done?.id === item.id && done?.type === item.type;
    if (this.open.has(index) || (done !== undefined && isRepeated)) return undefined;
    // Some servers give several items one index.
    if (done !== undefined) this.#replaced.push(done);
    if (this.#byId.get(done?.id) === index) this.#byId.delete(done?.id);
    this.#done.delete(index);
    return index;
  }

  /** Records the item that begins at an index. */
  begin(index: number, open: OpenItem): void {
    this.open.set(index, open);
    this.#next = Math.max(this.#next, index + 1);
    const { id, type } = open.item;
    if (!this.open.has(this.#byId.get(id) ?? -1)) this.#byId.set(id, index);
    else this.#repeatedIds.add(id);
    const begun = this.#byType.get(type);
    if (begun === undefined) this.#byType.set(type, [index]);
    else begun.push(index);
  }

  /** Records the item at an index as done. */
  end(index: number, item: Untrusted<OutputItem>): void {
    this.open.delete(index);
    this.#done.set(index, item);
    this.#next = Math.max(this.#next, index + 1);
    const { id } = item;
    const other = this.#repeatedIds.has(id) ? this.#findOpen(id) : undefined;
    this.#byId.set(id, other ?? index);
  }

  #findOpen(id: unknown): number | undefined {
    for (const [index, { item }] of this.open) if (item.id === id) return index;
    return undefined;
  }

  /**
   * Returns the index that an event names, else the index of the item with its id, else of the last open item of its
   * type, else the next one.
   * @param type Type of the items that such an event is about.
   */
  indexOf(event: Untrusted<StreamEvent>, type: unknown): number {
    const index = asInt32(event.output_index);
    if (index !== undefined) return index;
    const id = objectIn<OutputItem>(event.item).id ?? event.item_id;
    const known = id === undefined ? undefined : this.#byId.get(id);
    return known ?? this.#findLastOpen(type) ?? this.#next;
  }

  #findLastOpen(type: unknown): number | undefined {
    const begun = this.#byType.get(type) ?? [];
    while (begun.length > 0) {
      const last = begun.at(-1) as number;
      if (this.open.get(last)?.item.type === type) return last;
      begun.pop();
    }
    return undefined;
  }
}
