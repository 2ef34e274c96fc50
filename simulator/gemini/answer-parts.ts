import type { FunctionCall, Part } from "../../src/wire/gemini/request.ts";
import { type DeltaStyle, splitDeltas } from "../script/deltas.ts";
import { countPartTokens } from "../script/limit-parts.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { ReasoningPart, TextPart, ToolCallPart, Turn } from "../script/turn.ts";
import { signPart } from "./thought-signatures.ts";

/** Settings for the parts of one answer. */
export interface PartSettings {
  readonly requestNumber: number;
  /** Whether the model returns thought signatures. */
  readonly signs: boolean;
  /** Whether `thinkingConfig.includeThoughts` is set. */
  readonly showsThoughts: boolean;
  /** Whether `responseModalities` includes text. */
  readonly allowsText: boolean;
}

/** A part of a simulated turn, rendered. */
interface RenderedPart {
  /** The parts in a whole answer; empty if the answer does not show them. */
  readonly parts: readonly Part[];
  /** Yields the pieces in a stream. */
  readonly pieces: () => Iterable<Piece>;
}

/** Parts of an answer that are sent in one chunk of a stream. Without parts, only the tokens are counted. */
export interface Piece {
  readonly parts: readonly Part[];
  /** Output tokens of the piece. */
  readonly tokens: number;
  /** Output tokens of the piece that are not thoughts. */
  readonly candidateTokens: number;
  /** Minimum length of the chunk, in characters. */
  readonly minimumLength?: number;
}

/** Returns the parts of a whole answer. The signature is on the first call, or on the last text if there is no call. */
export function wholeParts(turn: Turn, settings: PartSettings): readonly Part[] {
  const parts = renderParts(turn, settings).flatMap((rendered) => rendered.parts);
  const signed = signedTextIndex(parts, settings);
  return parts.map((part, index) => (index === signed ? sign(part, settings) : part));
}

/** Yields the pieces in which a stream sends an answer. */
export function* streamedPieces(turn: Turn, settings: PartSettings): Generator<Piece> {
  for (const rendered of renderParts(turn, settings)) yield* rendered.pieces();
}

/** Returns the last part of a stream with signatures: an empty text, with the signature if no call had it. */
export function closingPart(turn: Turn, settings: PartSettings): Part {
  const parts = renderParts(turn, settings).flatMap((rendered) => rendered.parts);
  const empty = { text: "" };
  return signedTextIndex(parts, settings) === undefined ? empty : sign(empty, settings);
}

/** Reports whether a part is a function call. */
export function isCall(part: Part): boolean {
  return part.functionCall !== undefined;
}

/** Returns the index of the text that has the signature. */
function signedTextIndex(parts: readonly Part[], { signs }: PartSettings): number | undefined {
  const last = parts.findLastIndex((part) => part.text !== undefined && part.thought !== true);
  return signs && last !== -1 && !parts.some(isCall) ? last : undefined;
}

function renderParts(turn: Turn, settings: PartSettings): readonly RenderedPart[] {
  const calls = turn.parts.filter((part) => part.kind === "tool_call");
  return turn.parts.map((part) => {
    switch (part.kind) {
      case "reasoning":
        return renderThoughts(part, settings);
      case "text":
        return settings.allowsText ? renderText(part, turn) : nothing;
      case "tool_call":
        return part === calls[0] ? renderCalls(calls, turn, settings) : nothing;
      case "image": {
        const parts = [{ inlineData: { mimeType: "image/png", data: part.data } }];
        return { parts, pieces: () => [{ parts, tokens: 0, candidateTokens: 0 }] };
      }
      case "refusal":
      case "web_search":
        return nothing;
      default:
        return part satisfies never;
    }
  });
}

const nothing: RenderedPart = { parts: [], pieces: () => [] };

/** Renders thoughts: paragraph by paragraph, or not at all. */
function renderThoughts(part: ReasoningPart, { showsThoughts }: PartSettings): RenderedPart {
  const paragraphs = showsThoughts && !part.redacted ? part.paragraphs.map((each) => `${each}\n\n\n`) : [];
  const shown = paragraphs.reduce((sum, paragraph) => sum + countTokens(paragraph), 0);
  const hidden = { parts: [], tokens: part.tokens - shown, candidateTokens: 0 };
  return {
    parts: paragraphs.length === 0 ? [] : [{ text: paragraphs.join(""), thought: true }],
    pieces: () => [
      hidden,
      ...paragraphs.map((text) => ({
        parts: [{ text, thought: true }],
        tokens: countTokens(text),
        candidateTokens: 0,
      })),
    ],
  };
}

function renderText({ text: whole, firstDelta }: TextPart, { halfSurrogates }: Turn): RenderedPart {
  const style: DeltaStyle = { firstDelta, halfSurrogates };
  return {
    parts: [{ text: whole }],
    pieces: function* () {
      for (const text of splitDeltas(whole, style)) {
        const tokens = countDeltaTokens(text);
        yield { parts: [{ text }], tokens, candidateTokens: tokens };
      }
    },
  };
}

/**
 * Renders calls, which are sent together; the first has the signature for all. Calls cut off by the token limit are not
 * sent.
 */
function renderCalls(calls: readonly ToolCallPart[], turn: Turn, settings: PartSettings): RenderedPart {
  const parts = calls
    .filter(({ cut }) => !cut)
    .map((call, index) => {
      const part = { functionCall: toFunctionCall(call, index, turn, settings) };
      return settings.signs && index === 0 ? sign(part, settings) : part;
    });
  const tokens = calls.reduce((sum, call) => sum + countPartTokens(call), 0);
  const minimumLength = Math.max(...calls.map(({ firstDelta }) => firstDelta));
  return { parts, pieces: () => [{ parts, tokens, candidateTokens: tokens, minimumLength }] };
}

function toFunctionCall(
  { name, input }: ToolCallPart,
  index: number,
  { callIds }: Turn,
  { requestNumber }: PartSettings,
): FunctionCall {
  const args = JSON.parse(input) as Readonly<Record<string, unknown>>;
  if (callIds === "empty") return { name, args };
  const number = callIds === "repeated" ? 0 : index;
  return { name, args, id: `call_${requestNumber}${String(number).padStart(3, "0")}` };
}

function sign(part: Part, { requestNumber }: PartSettings): Part {
  return { ...part, thoughtSignature: signPart(requestNumber, part) };
}
