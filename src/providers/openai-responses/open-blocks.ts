/** Output items while their events arrive: what a stream has said of each so far. */
import { type JsonObject, objectsIn, textIn } from "../../kit/json/json.ts";
import type {
  ReasoningBlock,
  StreamWriter,
  TextBlock,
  ToolCallBlock,
} from "../../kit/stream/stream-writer.ts";
import { callHead, callInput } from "./response.ts";
import type { Item } from "./wire.ts";

/** An item that has begun. */
export type OpenItem = OpenMessage | OpenReasoning | OpenCall | OpenNamelessCall | OpenWhole;

/** A message: one block for each of its content parts. */
export interface OpenMessage {
  readonly kind: "message";
  readonly item: Item;
  readonly texts: Map<number, OpenText>;
}

/** A content part of a message that is text, or a refusal. */
export interface OpenText {
  readonly block: TextBlock;
  /** Annotations so far; the whole item tells them again, where the server sends one. */
  readonly annotations: JsonObject[];
  /** Whether the model refuses. */
  readonly refuses: boolean;
}

/** Reasoning: one block for all of its parts. */
export interface OpenReasoning {
  readonly kind: "reasoning";
  readonly item: Item;
  readonly block: ReasoningBlock;
  /** The text of each part so far. */
  readonly parts: Map<string, string>;
  /** The part that the last delta belonged to. */
  lastPart: string;
}

/** A function or custom tool call. */
export interface OpenCall {
  readonly kind: "call";
  readonly item: Item;
  readonly block: ToolCallBlock;
}

/** A call whose name is not known yet: it begins when it is done; its place is kept. */
export interface OpenNamelessCall {
  readonly kind: "nameless call";
  readonly item: Item;
  readonly partIndex: number;
  input: string;
}

/** Anything else: its one part comes when the item is done; its place is kept. */
export interface OpenWhole {
  readonly kind: "whole";
  readonly item: Item;
  readonly partIndex: number;
}

/** Begins what an item becomes. */
export function openItem(item: Item, writer: StreamWriter): OpenItem {
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
      return { kind: "whole", item, partIndex: writer.reserve() };
  }
}

/** The text at a place of a message, begun where it is new. @param refuses Whether a new one is a refusal. */
export function textAt(
  { texts }: OpenMessage,
  place: number,
  refuses: boolean,
  writer: StreamWriter,
): OpenText {
  const known = texts.get(place);
  if (known !== undefined) return known;
  const text = { block: writer.startText(), annotations: [], refuses };
  texts.set(place, text);
  return text;
}

/** The content parts of a message by their places: those of the whole item, and those that only events told. */
export function contentOf({ texts }: OpenMessage, item: Item): ReadonlyMap<number, JsonObject> {
  const told = [...texts].map(([place, text]) => [place, textPart(text)] as const);
  return new Map([...told, ...objectsIn(item.content).entries()]);
}

function textPart({ block: { text }, annotations, refuses }: OpenText): JsonObject {
  return refuses ? { type: "refusal", refusal: text } : { type: "output_text", text, annotations };
}

/** Adds to a part of reasoning. A blank line parts it from the part before. */
export function appendReasoning(open: OpenReasoning, part: string, delta: string): void {
  if (delta === "") return;
  if (open.lastPart !== part && open.block.text !== "") open.block.append("\n\n");
  open.lastPart = part;
  open.parts.set(part, (open.parts.get(part) ?? "") + delta);
  open.block.append(delta);
}

/** Adds what is still missing of a part's final text. Where that differs from what was sent, what was sent stands. */
export function completeReasoning(open: OpenReasoning, part: string, text: string): void {
  const known = open.parts.get(part) ?? "";
  if (text.startsWith(known)) appendReasoning(open, part, text.slice(known.length));
}

/** The block of a call that was announced without its name and is whole at last. */
export function nameCall(
  { partIndex, input }: OpenNamelessCall,
  item: Item,
  writer: StreamWriter,
): ToolCallBlock {
  const block = startCall(item, writer, partIndex);
  block.append(callInput(item) || input);
  return block;
}

function startCall(item: Item, writer: StreamWriter, partIndex?: number): ToolCallBlock {
  return writer.startToolCall({ ...callHead(item), id: textIn(item.call_id) }, partIndex);
}
