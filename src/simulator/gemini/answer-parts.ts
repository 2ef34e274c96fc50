import { type DeltaStyle, deltasOf } from "../script/deltas.ts";
import { countPartTokens } from "../script/limit-parts.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { ReasoningPart, TextPart, ToolCallPart, Turn } from "../script/turn.ts";
import { signPart } from "./thought-signatures.ts";
import type { AnswerPart, FunctionCall } from "./wire.ts";

/** What the parts of one answer are made from. */
export interface PartSettings {
  readonly requestNumber: number;
  /** Whether the model signs the thoughts that led to what it says. */
  readonly signs: boolean;
  /** Whether `thinkingConfig.includeThoughts` asks for what the thinking says. */
  readonly showsThoughts: boolean;
  /** Whether `responseModalities` asks for text. */
  readonly writes: boolean;
}

/** What one of the things that a model says or does becomes. */
interface RenderedPart {
  /** As a whole answer has it; nothing where it does not show. */
  readonly parts: readonly AnswerPart[];
  /** As a stream brings it, piece by piece. */
  readonly pieces: () => Iterable<Piece>;
}

/** Parts of an answer that come in one chunk of a stream; tokens alone where what they made does not show. */
export interface Piece {
  readonly parts: readonly AnswerPart[];
  /** Tokens of the answer that it brings. */
  readonly tokens: number;
  /** Those of them that count as the candidate's, and not as its thoughts. */
  readonly candidateTokens: number;
  /** Length that the chunk has at least, in characters. */
  readonly minimumLength?: number;
}

/** The parts of a whole answer. Where no call carries the signature, its last text does. */
export function wholeParts(turn: Turn, settings: PartSettings): readonly AnswerPart[] {
  const parts = renderParts(turn, settings).flatMap((rendered) => rendered.parts);
  const place = placeOfSignature(parts, settings);
  return parts.map((part, index) => (index === place ? sign(part, settings) : part));
}

/** The pieces in which a stream brings an answer. */
export function* streamedPieces(turn: Turn, settings: PartSettings): Generator<Piece> {
  for (const rendered of renderParts(turn, settings)) yield* rendered.pieces();
}

/** What ends a stream whose model signs: an empty text, with the signature where no call carried it. */
export function closingPart(turn: Turn, settings: PartSettings): AnswerPart {
  const parts = renderParts(turn, settings).flatMap((rendered) => rendered.parts);
  const empty = { text: "" };
  return placeOfSignature(parts, settings) === undefined ? empty : sign(empty, settings);
}

/** Whether a part is a call. */
export function isCall(part: AnswerPart): boolean {
  return part.functionCall !== undefined;
}

/** Place of the text that carries the signature. */
function placeOfSignature(parts: readonly AnswerPart[], { signs }: PartSettings): number | undefined {
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
        return settings.writes ? renderText(part, turn) : nothing;
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

/** Thoughts come paragraph by paragraph, or not at all. */
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
      for (const text of deltasOf(whole, style)) {
        const tokens = countDeltaTokens(text);
        yield { parts: [{ text }], tokens, candidateTokens: tokens };
      }
    },
  };
}

/** Calls come together, and the first of them carries the signature of them all. What the limit cut off does not come. */
function renderCalls(calls: readonly ToolCallPart[], turn: Turn, settings: PartSettings): RenderedPart {
  const parts = calls
    .filter(({ cut }) => !cut)
    .map((call, index) => {
      const part = { functionCall: functionCallOf(call, index, turn, settings) };
      return settings.signs && index === 0 ? sign(part, settings) : part;
    });
  const tokens = calls.reduce((sum, call) => sum + countPartTokens(call), 0);
  const minimumLength = Math.max(...calls.map(({ firstDelta }) => firstDelta));
  return { parts, pieces: () => [{ parts, tokens, candidateTokens: tokens, minimumLength }] };
}

function functionCallOf(
  { name, input }: ToolCallPart,
  index: number,
  { callIds }: Turn,
  { requestNumber }: PartSettings,
): FunctionCall {
  const args = JSON.parse(input) as Readonly<Record<string, unknown>>;
  if (callIds === "empty") return { name, args };
  const place = callIds === "repeated" ? 0 : index;
  return { name, args, id: `call_${requestNumber}${String(place).padStart(3, "0")}` };
}

function sign(part: AnswerPart, { requestNumber }: PartSettings): AnswerPart {
  return { ...part, thoughtSignature: signPart(requestNumber, part) };
}
