/** Content blocks while their events arrive: how they begin, grow and end (provider documentation: "Streaming messages"). */
import { isJson, isObject, type JsonObject, objectIn, textIn, without } from "../../kit/json/json.ts";
import { sourceObject, stringifyJson } from "../../kit/json/json-source.ts";
import type {
  ReasoningBlock,
  StreamWriter,
  TextBlock,
  ToolCallBlock,
} from "../../kit/stream/stream-writer.ts";
import { citationOf, inputOf, nativePart, type SpelledBlock } from "./response.ts";
import type { StateWriter } from "./state.ts";
import type { Block } from "./wire.ts";

/** A block that has begun. */
export type OpenBlock = OpenText | OpenThinking | OpenCall | OpenWhole;

/** Text, with the citations that came for it. */
interface OpenText {
  readonly kind: "text";
  readonly block: Block;
  readonly writer: TextBlock;
  readonly citations: JsonObject[];
}

/** Thinking, shown or redacted. */
interface OpenThinking {
  readonly kind: "thinking";
  /** Its signature comes last. */
  block: Block;
  readonly writer: ReasoningBlock;
}

/** A tool call. */
interface OpenCall {
  readonly kind: "call";
  readonly block: Block;
  readonly writer: ToolCallBlock;
  /** Input that came with the start, for a call without deltas. */
  readonly input: string;
}

/** Any other block: its part comes when the block is done; its place is kept. */
interface OpenWhole {
  readonly kind: "whole";
  block: Block;
  /** The block as it is spelled; undefined once a delta has changed it. */
  source: string | undefined;
  readonly partIndex: number;
  /** Input that came in deltas. */
  input: string;
}

/** Begins what a block becomes, with what it already holds. */
export function beginBlock({ block, source }: SpelledBlock, writer: StreamWriter): OpenBlock {
  switch (block.type) {
    case "text":
      return beginText(block, writer.startText());
    case "thinking":
    case "redacted_thinking":
      return beginThinking(block, writer.startReasoning());
    case "tool_use": {
      const call = writer.startToolCall({ id: textIn(block.id), name: textIn(block.name) });
      return { kind: "call", block, writer: call, input: inputOf(source) };
    }
    default:
      return { kind: "whole", block, source, partIndex: writer.reserve(), input: "" };
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

/** What became of a delta: it was written as one of our events, it waits for the end of its block, or it has no place there. */
export type DeltaFate = "written" | "kept" | "unknown";

/** Adds a delta to its block. */
export function addDelta(open: OpenBlock, delta: JsonObject): DeltaFate {
  switch (delta.type) {
    case "text_delta":
      return open.kind === "text" ? write(open.writer, delta.text) : "unknown";
    case "thinking_delta":
      return open.kind === "thinking" ? write(open.writer, delta.thinking) : "unknown";
    case "signature_delta":
      return open.kind === "thinking" ? change(open, { signature: textIn(delta.signature) }) : "unknown";
    case "citations_delta":
      return open.kind === "text" ? cite(open, objectIn(delta.citation)) : "unknown";
    case "input_json_delta":
      return addInput(open, textIn(delta.partial_json));
    case "compaction_delta":
      // It tells the final values of the block's fields.
      return open.kind === "whole" ? change(open, without(delta, "type")) : "unknown";
    default:
      return "unknown";
  }
}

function write(writer: TextBlock | ReasoningBlock | ToolCallBlock, text: unknown): DeltaFate {
  writer.append(textIn(text));
  return "written";
}

function cite({ citations }: OpenText, citation: JsonObject): DeltaFate {
  citations.push(citation);
  return "kept";
}

function change(open: OpenThinking | OpenWhole, fields: JsonObject): DeltaFate {
  open.block = { ...open.block, ...fields };
  if (open.kind === "whole") open.source = undefined;
  return "kept";
}

function addInput(open: OpenBlock, json: string): DeltaFate {
  if (open.kind === "call") return write(open.writer, json);
  if (open.kind !== "whole") return "unknown";
  open.input += json;
  return "kept";
}

/** Ends what a block became, with everything that only the whole block tells. */
export function endBlock(open: OpenBlock, writer: StreamWriter, states: StateWriter): void {
  const { block } = open;
  switch (open.kind) {
    case "text":
      return open.writer.end({
        citations: open.citations.map(citationOf),
        providerState: states.ofText(block),
      });
    case "thinking":
      return block.type === "redacted_thinking"
        ? open.writer.end({ redacted: true, providerState: states.ofRedactedThinking(block) })
        : open.writer.end({ providerState: states.ofThinking(block) });
    case "call":
      if (open.writer.text === "") open.writer.append(open.input);
      return open.writer.end({ providerState: states.ofToolUse(block) });
    case "whole":
      return writer.addPart(nativePart(states.provider, textIn(block.type), sourceOf(open)), open.partIndex);
  }
}

/** A block that has ended as the API would have sent it in one piece. */
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
      return sourceObject(sourceOf(open));
  }
}

/** A block of the provider's own as it is spelled, with the input that came in deltas. */
function sourceOf({ block, source, input }: OpenWhole): string {
  if (source !== undefined && input === "") return source;
  return stringifyJson(input === "" ? block : { ...block, input: inputValue(input) });
}

function inputValue(input: string): JsonObject {
  return isJson(input) ? sourceObject(input) : { invalid_arguments: input };
}
