import type { Delta } from "../../src/wire/openai-chat/message.ts";
import type { Logprobs } from "../../src/wire/openai-chat/response.ts";
import { type DeltaStyle, splitDeltas } from "../script/deltas.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { Part, ReasoningPart, RefusalPart, TextPart, Turn } from "../script/turn.ts";
import type { ChatCall } from "./chat-call.ts";
import { createLogprobs, type LogprobsWriter } from "./logprobs.ts";
import { toAnnotations } from "./message.ts";
import { getReasoningDialect, type ReasoningDialect } from "./reasoning-dialect.ts";
import { callPieces, type NumberedCall, numberedCalls } from "./tool-calls.ts";

/** The content that one chunk adds to a choice. */
export interface ChoiceDelta {
  readonly delta: Delta;
  readonly logprobs: Logprobs | null;
  /** Tokens of the answer in the chunk. */
  readonly tokens: number;
}

/** One choice that is being streamed. */
interface ChoiceStream {
  readonly turn: Turn;
  readonly call: ChatCall;
  readonly dialect: ReasoningDialect | undefined;
  readonly logprobs: LogprobsWriter;
  readonly toolCalls: readonly NumberedCall[];
}

/** Yields the deltas of one choice, in order; the first one opens it. */
export function* choiceDeltas(turn: Turn, call: ChatCall, choice: number): Generator<ChoiceDelta> {
  const stream: ChoiceStream = {
    turn,
    call,
    dialect: getReasoningDialect(call.options),
    logprobs: createLogprobs(call.request),
    toolCalls: numberedCalls(turn, call.received.number, choice),
  };
  const fill = call.options.null_fields === true ? emptyFields(stream) : {};
  let isFirst = true;
  for (const each of plainDeltas(stream)) {
    const filled = { ...each, delta: { ...fill, ...each.delta } };
    yield filled;
    if (isFirst && turn.repeatsStart) yield filled;
    isFirst = false;
  }
}

/** Returns the delta of a chunk that adds nothing. */
export function emptyDelta(call: ChatCall): Delta {
  const isFull = call.options.null_fields === true;
  return isFull ? { role: null, content: null, tool_calls: null } : {};
}

function emptyFields({ turn, call, dialect }: ChoiceStream): Delta {
  return { ...emptyDelta(call), ...(hasReasoning(turn) ? dialect?.besideText : {}) };
}

function* plainDeltas(stream: ChoiceStream): Generator<ChoiceDelta> {
  const { turn, toolCalls, dialect } = stream;
  const parts = turn.parts.filter((part) => isShown(part, dialect));
  const hidden = hiddenTokens(stream);
  const [only] = toolCalls;
  if (only !== undefined && parts.length === 1) return yield* onlyCall(stream, only, hidden);
  yield { ...opening(stream, parts[0]), tokens: hidden };
  for (const part of parts) yield* partDeltas(stream, part);
}

/**
 * Reports whether the answer shows a part: it does not show the work of hosted tools, and shows reasoning only in a
 * dialect with reasoning.
 */
function isShown(part: Part, dialect: ReasoningDialect | undefined): boolean {
  if (part.kind === "reasoning") return dialect !== undefined && part.paragraphs.length > 0;
  return part.kind !== "web_search" && part.kind !== "image";
}

/** Returns the tokens of reasoning that is not shown, which takes time all the same. */
function hiddenTokens({ turn, dialect }: ChoiceStream): number {
  const reasoning = turn.parts.filter((part) => part.kind === "reasoning");
  return reasoning.reduce((sum, part) => sum + part.tokens - countTokens(dialect?.shown(part) ?? ""), 0);
}

/** Yields the delta of a call that is the whole answer, in the chunk with the role. */
function* onlyCall(stream: ChoiceStream, call: NumberedCall, hidden: number): Generator<ChoiceDelta> {
  let isFirst = true;
  for (const each of callDeltas(stream, call)) {
    const opened: Delta = { role: "assistant", content: null, ...each.delta, refusal: null };
    yield isFirst ? { ...each, delta: opened, tokens: each.tokens + hidden } : each;
    isFirst = false;
  }
}

function opening({ dialect, logprobs }: ChoiceStream, first: Part | undefined): Omit<ChoiceDelta, "tokens"> {
  const role = "assistant";
  switch (first?.kind) {
    case "reasoning":
      return { delta: { role, ...dialect?.opening }, logprobs: null };
    case "tool_call":
      return { delta: { role, content: null }, logprobs: null };
    case "refusal":
      return { delta: { role, content: null, refusal: "" }, logprobs: logprobs.of("refusal", []) };
    default:
      return { delta: { role, content: "", refusal: null }, logprobs: logprobs.of("content", []) };
  }
}

function partDeltas(stream: ChoiceStream, part: Part): Iterable<ChoiceDelta> {
  switch (part.kind) {
    case "reasoning":
      return reasoningDeltas(stream, part);
    case "text":
      return textDeltas(stream, part);
    case "refusal":
      return refusalDeltas(stream, part);
    case "tool_call":
      return callDeltas(
        stream,
        stream.toolCalls.find((each) => each.part === part),
      );
    case "web_search":
    case "image":
      return [];
    default:
      return part satisfies never;
  }
}

function* reasoningDeltas({ turn, dialect }: ChoiceStream, part: ReasoningPart): Generator<ChoiceDelta> {
  if (dialect === undefined) return;
  for (const delta of dialect.before(part)) yield { delta, logprobs: null, tokens: 0 };
  for (const piece of splitDeltas(dialect.shown(part), toStyle(turn)))
    yield { delta: dialect.delta(piece), logprobs: null, tokens: 1 };
  for (const delta of dialect.after(part)) yield { delta, logprobs: null, tokens: 0 };
}

function* textDeltas(stream: ChoiceStream, part: TextPart): Generator<ChoiceDelta> {
  const { turn, call, dialect, logprobs } = stream;
  const beside = hasReasoning(turn) ? dialect?.besideText : {};
  for (const piece of splitDeltas(part.text, toStyle(turn, part.firstDelta))) {
    const delta = { content: piece, ...beside };
    yield { delta, logprobs: logprobs.of("content", [piece]), tokens: countDeltaTokens(piece) };
  }
  if (part.citations.length === 0) return;
  yield { delta: { annotations: toAnnotations(turn, call) }, logprobs: null, tokens: 0 };
}

function hasReasoning({ parts }: Turn): boolean {
  return parts.some((part) => part.kind === "reasoning");
}

function* refusalDeltas({ turn, logprobs }: ChoiceStream, { text }: RefusalPart): Generator<ChoiceDelta> {
  for (const refusal of splitDeltas(text, toStyle(turn)))
    yield { delta: { refusal }, logprobs: logprobs.of("refusal", [refusal]), tokens: 1 };
}

function* callDeltas(
  { turn, call }: ChoiceStream,
  toolCall: NumberedCall | undefined,
): Generator<ChoiceDelta> {
  if (toolCall === undefined) return;
  for (const { entry, tokens } of callPieces(toolCall, call.options, turn.halfSurrogates))
    yield { delta: { tool_calls: [entry] }, logprobs: null, tokens };
}

function toStyle({ halfSurrogates }: Turn, firstDelta = 0): DeltaStyle {
  return { firstDelta, halfSurrogates };
}
