/** Content blocks of a stream, from their first event to their last (provider documentation: "Streaming messages"). */
import { GrowingText } from "../../core/text.ts";
import { isJson, isObject, type JsonObject, objectIn, textIn, without } from "../../kit/json/json.ts";
import { sourceObject, stringifyJson } from "../../kit/json/json-source.ts";
import type {
  ReasoningBlock,
  StreamWriter,
  TextBlock,
  ToolCallBlock,
} from "../../kit/stream/stream-writer.ts";
import type { ContentBlock, TextCitation } from "../../wire/anthropic-messages/response.ts";
import type { ContentBlockDelta } from "../../wire/anthropic-messages/stream.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { toCitations } from "./citations.ts";
import { nativePart, repairCutInput, type SourceBlock, toInput } from "./response.ts";
import type { StateWriter } from "./state.ts";

type Block = Untrusted<ContentBlock>;

/** A block that has begun. */
export type OpenBlock = OpenText | OpenThinking | OpenCall | OpenWhole;

/** Text, with its citations so far. */
interface OpenText {
  readonly kind: "text";
  readonly block: Block;
  readonly writer: TextBlock;
  readonly citations: Untrusted<TextCitation>[];
}

/** Thinking, readable or redacted. */
interface OpenThinking {
  readonly kind: "thinking";
  /** Its signature comes last. */
  readonly block: Block;
  readonly writer: ReasoningBlock;
}

/** A tool call. */
interface OpenCall {
  readonly kind: "call";
  readonly block: Block;
  readonly writer: ToolCallBlock;
  /** The JSON text of the start event's block, which has the input of a call without deltas. */
  readonly source: string;
}

/** Any other block: its part is added when the block ends, at the index reserved for it. */
interface OpenWhole {
  readonly kind: "whole";
  readonly block: Block;
  /** The block's JSON text as it was sent; undefined once a delta has changed it. */
  source: string | undefined;
  readonly partIndex: number;
  /** Input of the deltas so far. */
  readonly input: GrowingText;
}

/** Starts the part of a block, with the content that the block already holds. */
export function beginBlock({ block, source }: SourceBlock, writer: StreamWriter): OpenBlock {
  switch (block.type) {
    case "text":
      return beginText(block, writer.startText());
    case "thinking":
    case "redacted_thinking":
      return beginThinking(block, writer.startReasoning());
    case "tool_use": {
      const call = writer.startToolCall({ id: textIn(block.id), name: textIn(block.name) });
      return { kind: "call", block, writer: call, source };
    }
    default:
      return { kind: "whole", block, source, partIndex: writer.reserve(), input: new GrowingText() };
  }
}

function beginText(block: Block, writer: TextBlock): OpenText {
  writer.append(textIn(block.text));
  const citations = Array.isArray(block.citations) ? block.citations.filter(isObject) : [];
  return { kind: "text", block, writer, citations };
}

function beginThinking(block: Block, writer: ReasoningBlock): OpenThinking {
  writer.append(textIn(block.thinking));
  return { kind: "thinking", block, writer };
}

/** The handling of a delta: written as an event, kept until the end of its block, or unknown for its kind of block. */
export type DeltaHandling = "written" | "kept" | "unknown";

/** Adds a delta to its block. */
export function addDelta(open: OpenBlock, delta: Untrusted<ContentBlockDelta>): DeltaHandling {
  switch (delta.type) {
    case "text_delta":
      return open.kind === "text" ? write(open.writer, delta.text) : "unknown";
    case "thinking_delta":
      return open.kind === "thinking" ? write(open.writer, delta.thinking) : "unknown";
    case "signature_delta":
      return open.kind === "thinking" ? change(open, { signature: textIn(delta.signature) }) : "unknown";
    case "citations_delta":
      return open.kind === "text" ? cite(open, objectIn<TextCitation>(delta.citation)) : "unknown";
    case "input_json_delta":
      return addInput(open, textIn(delta.partial_json));
    case "compaction_delta":
      // The delta has the final values of the block's fields.
      return open.kind === "whole" ? change(open, without(delta, "type")) : "unknown";
    default:
      return "unknown";
  }
}

function write(writer: TextBlock | ReasoningBlock | ToolCallBlock, text: unknown): DeltaHandling {
  writer.append(textIn(text));
  return "written";
}

function cite({ citations }: OpenText, citation: Untrusted<TextCitation>): DeltaHandling {
  citations.push(citation);
  return "kept";
}

function change(open: OpenThinking | OpenWhole, fields: Block): DeltaHandling {
  // Not a copy, which would be repeated for each of many deltas with additional fields.
  Object.assign(open.block, fields);
  if (open.kind === "whole") open.source = undefined;
  return "kept";
}

function addInput(open: OpenBlock, json: string): DeltaHandling {
  if (open.kind === "call") return write(open.writer, json);
  if (open.kind !== "whole") return "unknown";
  open.input.append(json);
  return "kept";
}

/**
 * Ends the part of a block, with everything that is known only at the end.
 * @param isCut Whether the answer was stopped in this block.
 */
export function endBlock(open: OpenBlock, writer: StreamWriter, states: StateWriter, isCut: boolean): void {
  const { block } = open;
  switch (open.kind) {
    case "text":
      return open.writer.end({
        citations: toCitations(open.citations),
        providerState: states.ofText(block),
      });
    case "thinking":
      return block.type === "redacted_thinking"
        ? open.writer.end({ redacted: true, providerState: states.ofRedactedThinking(block) })
        : open.writer.end({ providerState: states.ofThinking(block) });
    case "call":
      if (open.writer.text === "")
        open.writer.append(isCut ? repairCutInput(open.source) : toInput(open.source));
      return open.writer.end({ providerState: states.ofToolUse(block), isUnfinished: isCut });
    case "whole":
      return writer.addPart(nativePart(states.provider, textIn(block.type), toSource(open)), open.partIndex);
  }
}

/** Returns a block that has ended in the form of a whole answer. */
export function wholeBlock(open: OpenBlock): Block {
  const { block } = open;
  switch (open.kind) {
    case "text": {
      const citations = open.citations.length === 0 ? {} : { citations: open.citations };
      return { ...block, text: open.writer.text, ...citations };
    }
    case "thinking":
      return block.type === "thinking" ? { ...block, thinking: open.writer.text } : block;
    case "call":
      return { ...block, input: inputValue(open.writer.text) };
    case "whole":
      return sourceObject(toSource(open));
  }
}

/** Returns the JSON text of a block, with the input of its deltas. */
function toSource({ block, source, input: { value: input } }: OpenWhole): string {
  if (source !== undefined && input === "") return source;
  return stringifyJson(input === "" ? block : { ...block, input: inputValue(input) });
}

function inputValue(input: string): JsonObject {
  return isJson(input) ? sourceObject(input) : { invalid_arguments: input };
}
