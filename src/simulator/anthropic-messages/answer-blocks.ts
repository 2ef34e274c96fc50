import { type DeltaStyle, deltasOf } from "../script/deltas.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { ReasoningPart, TextPart, ToolCallPart, Turn, WebSearchPart } from "../script/turn.ts";
import type { ConversationPrint } from "./conversation-print.ts";
import { serverToolUseIdOf, toolUseIdOf } from "./ids.ts";
import { encryptSource, redactThinking, signThinking } from "./signatures.ts";
import type { AnswerBlock } from "./wire.ts";

/** What the blocks of one answer are made from. */
export interface BlockSettings {
  readonly requestNumber: number;
  /** The model, without its options. */
  readonly model: string;
  /** Fingerprint of the conversation before the answer. */
  readonly before: ConversationPrint;
  /** Whether thinking shows what it says. */
  readonly showsThinking: boolean;
}

/** A block of an answer, whole and as a stream brings it. */
export interface RenderedBlock {
  readonly whole: AnswerBlock;
  /** As it stands in `content_block_start`. */
  readonly opening: AnswerBlock;
  /** Tokens that it costs before any of it shows. */
  readonly hiddenTokens: number;
  readonly deltas: () => Iterable<BlockDelta>;
}

/** The `delta` of a `content_block_delta`. */
export interface BlockDelta {
  readonly delta: AnswerBlock;
  /** Tokens of the answer that it brings. */
  readonly tokens: number;
}

/** What the blocks of an answer are written with, and what was written so far. */
interface Writer extends BlockSettings {
  readonly turn: Turn;
  readonly blocks: RenderedBlock[];
  /** Fingerprint of the conversation before the next block. */
  here: ConversationPrint;
  /** Blocks of thinking so far. */
  thinking: number;
}

/** Renders what a model says as blocks. A refusal has none: it is told by the reason for which the answer ends. */
export function renderBlocks(turn: Turn, settings: BlockSettings): readonly RenderedBlock[] {
  const writer: Writer = { ...settings, turn, blocks: [], here: settings.before, thinking: 0 };
  for (const part of turn.parts) {
    switch (part.kind) {
      case "reasoning":
        writeThinking(writer, part);
        break;
      case "text":
        writeText(writer, part);
        break;
      case "tool_call":
        writeToolUse(writer, part);
        break;
      case "web_search":
        writeSearch(writer, part);
        break;
      case "refusal":
      case "image":
        break;
      default:
        part satisfies never;
    }
  }
  return writer.blocks;
}

function write(writer: Writer, block: Omit<RenderedBlock, "hiddenTokens"> & { hiddenTokens?: number }): void {
  writer.blocks.push({ hiddenTokens: 0, ...block });
  writer.here = writer.here.with("assistant", block.whole);
}

/** Thinking is one block, or where it is redacted one for each paragraph. */
function writeThinking(writer: Writer, part: ReasoningPart): void {
  const { model, showsThinking } = writer;
  if (part.redacted) {
    for (const [index, paragraph] of part.paragraphs.entries()) {
      const whole = { type: "redacted_thinking", data: redactThinking(model, writer.here, paragraph) };
      writer.thinking += 1;
      write(writer, { whole, opening: whole, hiddenTokens: index === 0 ? part.tokens : 0, deltas: () => [] });
    }
    return;
  }
  const thinking = showsThinking ? part.paragraphs.join("\n\n") : "";
  const signature = signThinking(model, writer.here, thinking);
  writer.thinking += 1;
  write(writer, {
    whole: { type: "thinking", thinking, signature },
    opening: { type: "thinking", thinking: "", signature: "" },
    hiddenTokens: part.tokens - countTokens(thinking),
    deltas: function* () {
      yield* textDeltas(writer.turn, thinking, 0, (delta) => ({ type: "thinking_delta", thinking: delta }));
      yield { delta: { type: "signature_delta", signature }, tokens: 0 };
    },
  });
}

/** A text is one block where nothing is cited, else one for each stretch that is cited or is not. */
function writeText(writer: Writer, part: TextPart): void {
  let end = 0;
  for (const [index, source] of part.citations.entries()) {
    if (source.start > end)
      writePlainText(writer, part.text.slice(end, source.start), end === 0 ? part.firstDelta : 0);
    const citation = {
      type: "web_search_result_location",
      cited_text: `${source.title} says so.`,
      url: source.url,
      title: source.title,
      encrypted_index: encryptSource(writer.requestNumber, `citation ${index}`),
    };
    writeCitedText(writer, part.text.slice(source.start, source.end), citation);
    end = source.end;
  }
  if (end < part.text.length) writePlainText(writer, part.text.slice(end), end === 0 ? part.firstDelta : 0);
}

function writePlainText(writer: Writer, text: string, firstDelta: number): void {
  write(writer, {
    whole: { type: "text", text },
    opening: { type: "text", text: "" },
    deltas: () => textDeltas(writer.turn, text, firstDelta, (delta) => ({ type: "text_delta", text: delta })),
  });
}

function writeCitedText(writer: Writer, text: string, citation: AnswerBlock): void {
  write(writer, {
    whole: { type: "text", text, citations: [citation] },
    opening: { type: "text", text: "", citations: [] },
    deltas: function* () {
      yield { delta: { type: "citations_delta", citation }, tokens: 0 };
      yield* textDeltas(writer.turn, text, 0, (delta) => ({ type: "text_delta", text: delta }));
    },
  });
}

function writeToolUse(writer: Writer, part: ToolCallPart): void {
  const { turn } = writer;
  const head = { type: "tool_use", id: callIdOf(writer), name: part.name };
  const caller = { type: "direct" };
  write(writer, {
    whole: { ...head, input: parseInput(part), caller },
    opening: { ...head, input: {}, caller },
    deltas: () => inputDeltas(turn, part.input, part.firstDelta),
  });
}

function callIdOf(writer: Writer): string {
  const { turn, blocks, thinking } = writer;
  switch (turn.callIds) {
    case "unique":
      return toolUseIdOf(writer, blocks.length, thinking);
    case "repeated":
      return toolUseIdOf(writer, 0, thinking);
    case "empty":
      return "";
    default:
      return turn.callIds satisfies never;
  }
}

/** The arguments as an object; what the limit of tokens cut off is none. */
function parseInput({ input, cut }: ToolCallPart): unknown {
  return cut ? {} : JSON.parse(input);
}

function writeSearch(writer: Writer, { query, sources }: WebSearchPart): void {
  const { requestNumber, turn } = writer;
  const id = serverToolUseIdOf(requestNumber, writer.blocks.length);
  const head = { type: "server_tool_use", id, name: "web_search" };
  write(writer, {
    whole: { ...head, input: { query } },
    opening: { ...head, input: {} },
    deltas: () => inputDeltas(turn, JSON.stringify({ query }), 0),
  });
  const content = sources.map(({ url, title }, index) => ({
    type: "web_search_result",
    title,
    url,
    encrypted_content: encryptSource(requestNumber, `source ${index}`),
    page_age: null,
  }));
  const result = { type: "web_search_tool_result", tool_use_id: id, content, caller: { type: "direct" } };
  write(writer, { whole: result, opening: result, deltas: () => [] });
}

/** Arguments come after an empty delta; no arguments are no more than that. */
function* inputDeltas(turn: Turn, input: string, firstDelta: number): Generator<BlockDelta> {
  const toDelta = (partial_json: string): AnswerBlock => ({ type: "input_json_delta", partial_json });
  yield { delta: toDelta(""), tokens: 0 };
  if (input !== "{}") yield* textDeltas(turn, input, firstDelta, toDelta);
}

function* textDeltas(
  { halfSurrogates }: Turn,
  text: string,
  firstDelta: number,
  toDelta: (text: string) => AnswerBlock,
): Generator<BlockDelta> {
  const style: DeltaStyle = { firstDelta, halfSurrogates };
  for (const delta of deltasOf(text, style)) yield { delta: toDelta(delta), tokens: countDeltaTokens(delta) };
}
