/** The items of a stream that are open, each with what its events have brought so far. */
import { objectsIn, textIn } from "../../kit/json/json.ts";
import type {
  ReasoningBlock,
  StreamWriter,
  TextBlock,
  ToolCallBlock,
} from "../../kit/stream/stream-writer.ts";
import type { OutputText, Refusal } from "../../wire/openai-responses/items.ts";
import type { Annotation, OutputContent, OutputItem } from "../../wire/openai-responses/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { callHead, callInput } from "./response.ts";

/** An item that has begun. */
export type OpenItem = OpenMessage | OpenReasoning | OpenCall | OpenNamelessCall | OpenSinglePart;

/** A message: one block for each of its content parts. */
export interface OpenMessage {
  readonly kind: "message";
  readonly item: Untrusted<OutputItem>;
  readonly texts: Map<number, OpenText>;
}

/** A content part of a message that is text, or a refusal. */
export interface OpenText {
  readonly block: TextBlock;
  /** Annotations so far. The finished item repeats them, where the server sends it. */
  readonly annotations: Untrusted<Annotation>[];
  /** Whether the model refuses. */
  readonly refuses: boolean;
}

/** Reasoning: one block for all of its parts. */
export interface OpenReasoning {
  readonly kind: "reasoning";
  readonly item: Untrusted<OutputItem>;
  readonly block: ReasoningBlock;
  /** The text of each part so far. */
  readonly parts: Map<string, string>;
  /** The part that the last delta belonged to. */
  lastPart: string;
}

/** A function or custom tool call. */
export interface OpenCall {
  readonly kind: "call";
  readonly item: Untrusted<OutputItem>;
  readonly block: ToolCallBlock;
}

/** A call whose name is not known yet: its block begins when the call is done, at the index kept for it. */
export interface OpenNamelessCall {
  readonly kind: "nameless call";
  readonly item: Untrusted<OutputItem>;
  readonly partIndex: number;
  input: string;
}

/** Any other item: its only part comes when the item is done, at the index kept for it. */
export interface OpenSinglePart {
  readonly kind: "single part";
  readonly item: Untrusted<OutputItem>;
  readonly partIndex: number;
}

/** Opens an item. */
export function openItem(item: Untrusted<OutputItem>, writer: StreamWriter): OpenItem {
  switch (item.type) {
    case "message":
      return { kind: "message", item, texts: new Map() };
    case "reasoning":
      return { kind: "reasoning", item, block: writer.startReasoning(), parts: new Map(), lastPart: "" };
    case "function_call":
    case "custom_tool_call":
      if (textIn(item.name) === "")
        return { kind: "nameless call", item, partIndex: writer.reserve(), input: "" };
      return { kind: "call", item, block: startCall(item, writer) };
    default:
      return { kind: "single part", item, partIndex: writer.reserve() };
  }
}

/** The text at a content index of a message, begun where it is new. @param refuses Whether a new one is a refusal. */
export function textAt(
  { texts }: OpenMessage,
  contentIndex: number,
  refuses: boolean,
  writer: StreamWriter,
): OpenText {
  const known = texts.get(contentIndex);
  if (known !== undefined) return known;
  const text = { block: writer.startText(), annotations: [], refuses };
  texts.set(contentIndex, text);
  return text;
}

/** The content parts of a message by their index: those of the finished item, and those that only events brought. */
export function contentOf(
  { texts }: OpenMessage,
  item: Untrusted<OutputItem>,
): ReadonlyMap<number, Untrusted<OutputContent>> {
  const content = new Map<number, Untrusted<OutputContent>>();
  for (const [index, text] of texts) content.set(index, textPart(text));
  for (const [index, part] of objectsIn<OutputContent>(item.content).entries()) content.set(index, part);
  return content;
}

function textPart({ block: { text }, annotations, refuses }: OpenText): Untrusted<OutputText | Refusal> {
  return refuses ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations };
}

/** Adds to a part of reasoning. A blank line separates it from the part before. */
export function appendReasoning(open: OpenReasoning, part: string, delta: string): void {
  if (delta === "") return;
  if (open.lastPart !== part && open.block.text !== "") open.block.append("\n\n");
  open.lastPart = part;
  open.parts.set(part, (open.parts.get(part) ?? "") + delta);
  open.block.append(delta);
}

/** Adds what is still missing of a part's final text. Where the two differ, what was sent is kept. */
export function completeReasoning(open: OpenReasoning, part: string, text: string): void {
  const known = open.parts.get(part) ?? "";
  if (text.startsWith(known)) appendReasoning(open, part, text.slice(known.length));
}

/** The block of a call that was announced without its name, once the call is done. */
export function nameCall(
  { partIndex, input }: OpenNamelessCall,
  item: Untrusted<OutputItem>,
  writer: StreamWriter,
): ToolCallBlock {
  const block = startCall(item, writer, partIndex);
  block.append(callInput(item) || input);
  return block;
}

function startCall(item: Untrusted<OutputItem>, writer: StreamWriter, partIndex?: number): ToolCallBlock {
  return writer.startToolCall({ ...callHead(item), id: textIn(item.call_id) }, partIndex);
}
