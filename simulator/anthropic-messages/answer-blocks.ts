import type { TextCitation } from "../../src/wire/anthropic-messages/response.ts";
import { type DeltaStyle, splitDeltas } from "../script/deltas.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { ReasoningPart, TextPart, ToolCallPart, Turn, WebSearchPart } from "../script/turn.ts";
import type { ConversationFingerprint } from "./conversation-fingerprint.ts";
import { toServerToolUseId, toToolUseId } from "./ids.ts";
import type { SentBlock, SentDelta } from "./sent-block.ts";
import { encryptSource, redactThinking, signThinking } from "./signatures.ts";

/** The inputs for the blocks of one answer. */
export interface BlockSettings {
  readonly requestNumber: number;
  /** The model, without its options. */
  readonly model: string;
  /** Fingerprint of the conversation before the answer. */
  readonly before: ConversationFingerprint;
  /** Whether the text of thinking is shown. */
  readonly showsThinking: boolean;
}

/** A block of an answer, both as a whole and as a stream. */
export interface RenderedBlock {
  readonly whole: SentBlock;
  /** The block in `content_block_start`. */
  readonly opening: SentBlock;
  /** Tokens that the block costs before its first delta. */
  readonly hiddenTokens: number;
  readonly deltas: () => Iterable<BlockDelta>;
}

/** The `delta` of a `content_block_delta`. */
export interface BlockDelta {
  readonly delta: SentDelta;
  /** Tokens of the answer in it. */
  readonly tokens: number;
}

/** The settings of an answer, and its blocks so far. */
interface Writer extends BlockSettings {
  readonly turn: Turn;
  readonly blocks: RenderedBlock[];
  /** Fingerprint of the conversation before the next block. */
  current: ConversationFingerprint;
  /** Number of thinking blocks so far. */
  thinking: number;
}

/** Renders an answer as blocks. A refusal has none: only the stop reason reports it. */
export function renderBlocks(turn: Turn, settings: BlockSettings): readonly RenderedBlock[] {
  const writer: Writer = { ...settings, turn, blocks: [], current: settings.before, thinking: 0 };
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
  writer.current = writer.current.with("assistant", block.whole);
}

/** Writes thinking as one block, or redacted thinking as one block for each paragraph. */
function writeThinking(writer: Writer, part: ReasoningPart): void {
  const { model, showsThinking } = writer;
  if (part.redacted) {
    for (const [index, paragraph] of part.paragraphs.entries()) {
      const data = redactThinking(model, writer.current, paragraph);
      const whole: SentBlock = { type: "redacted_thinking", data };
      writer.thinking += 1;
      write(writer, { whole, opening: whole, hiddenTokens: index === 0 ? part.tokens : 0, deltas: () => [] });
    }
    return;
  }
  const thinking = showsThinking ? part.paragraphs.join("\n\n") : "";
  const signature = signThinking(model, writer.current, thinking);
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

/** Writes a text: one block without citations, otherwise one block for each cited and each uncited passage. */
function writeText(writer: Writer, part: TextPart): void {
  let end = 0;
  for (const [index, source] of part.citations.entries()) {
    if (source.start > end)
      writePlainText(writer, part.text.slice(end, source.start), end === 0 ? part.firstDelta : 0);
    const citation: TextCitation = {
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

function writeCitedText(writer: Writer, text: string, citation: TextCitation): void {
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
  const head = { type: "tool_use", id: getCallId(writer), name: part.name } as const;
  const caller = { type: "direct" } as const;
  write(writer, {
    whole: { ...head, input: parseInput(part), caller },
    opening: { ...head, input: {}, caller },
    deltas: () => inputDeltas(turn, part.input, part.firstDelta),
  });
}

function getCallId(writer: Writer): string {
  const { turn, blocks, thinking } = writer;
  switch (turn.callIds) {
    case "unique":
      return toToolUseId(writer, blocks.length, thinking);
    case "repeated":
      return toToolUseId(writer, 0, thinking);
    case "empty":
      return "";
    default:
      return turn.callIds satisfies never;
  }
}

/** Parses the arguments to an object; empty if the token limit cut them off. */
function parseInput({ input, cut }: ToolCallPart): unknown {
  return cut ? {} : JSON.parse(input);
}

function writeSearch(writer: Writer, { query, sources }: WebSearchPart): void {
  const { requestNumber, turn } = writer;
  const id = toServerToolUseId(requestNumber, writer.blocks.length);
  const head = { type: "server_tool_use", id, name: "web_search" } as const;
  write(writer, {
    whole: { ...head, input: { query } },
    opening: { ...head, input: {} },
    deltas: () => inputDeltas(turn, JSON.stringify({ query }), 0),
  });
  const content = sources.map(({ url, title }, index) => ({
    type: "web_search_result" as const,
    title,
    url,
    encrypted_content: encryptSource(requestNumber, `source ${index}`),
    page_age: null,
  }));
  const result: SentBlock = {
    type: "web_search_tool_result",
    tool_use_id: id,
    content,
    caller: { type: "direct" },
  };
  write(writer, { whole: result, opening: result, deltas: () => [] });
}

/** Yields an empty delta and then the arguments. Without arguments, the empty delta is the only one. */
function* inputDeltas(turn: Turn, input: string, firstDelta: number): Generator<BlockDelta> {
  const toDelta = (partial_json: string): SentDelta => ({ type: "input_json_delta", partial_json });
  yield { delta: toDelta(""), tokens: 0 };
  if (input !== "{}") yield* textDeltas(turn, input, firstDelta, toDelta);
}

function* textDeltas(
  { halfSurrogates }: Turn,
  text: string,
  firstDelta: number,
  toDelta: (text: string) => SentDelta,
): Generator<BlockDelta> {
  const style: DeltaStyle = { firstDelta, halfSurrogates };
  for (const delta of splitDeltas(text, style))
    yield { delta: toDelta(delta), tokens: countDeltaTokens(delta) };
}
