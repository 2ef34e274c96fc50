import { type DeltaStyle, deltasOf } from "../script/deltas.ts";
import { countDeltaTokens, countTokens } from "../script/tokens.ts";
import type { Part, ReasoningPart, RefusalPart, TextPart, Turn } from "../script/turn.ts";
import type { ChatCall } from "./chat-call.ts";
import { createLogprobs, type Logprobs } from "./logprobs.ts";
import { annotationsOf } from "./message.ts";
import { type ReasoningDialect, reasoningDialectOf } from "./reasoning-dialect.ts";
import { callPieces, type PlacedCall, placeCalls } from "./tool-calls.ts";
import type { Fields } from "./wire.ts";

/** What one chunk adds to a choice. */
export interface ChoiceDelta {
  readonly delta: Fields;
  readonly logprobs: Fields | null;
  /** Tokens of the answer that it brings. */
  readonly tokens: number;
}

/** One choice on its way. */
interface Saying {
  readonly turn: Turn;
  readonly call: ChatCall;
  readonly dialect: ReasoningDialect | undefined;
  readonly logprobs: Logprobs;
  readonly toolCalls: readonly PlacedCall[];
}

/** Yields the deltas of one choice, in order; the first one opens it. */
export function* choiceDeltas(turn: Turn, call: ChatCall, choice: number): Generator<ChoiceDelta> {
  const saying: Saying = {
    turn,
    call,
    dialect: reasoningDialectOf(call.options),
    logprobs: createLogprobs(call.request),
    toolCalls: placeCalls(turn, call.received.number, choice),
  };
  const fill = call.options.null_fields === true ? emptyFields(saying) : {};
  let isFirst = true;
  for (const each of plainDeltas(saying)) {
    const filled = { ...each, delta: { ...fill, ...each.delta } };
    yield filled;
    if (isFirst && turn.repeatsStart) yield filled;
    isFirst = false;
  }
}

/** The delta of a chunk that says nothing. */
export function silentDelta(call: ChatCall): Fields {
  const isFull = call.options.null_fields === true;
  return isFull ? { role: null, content: null, tool_calls: null } : {};
}

function emptyFields({ turn, call, dialect }: Saying): Fields {
  const thinks = turn.parts.some((part) => part.kind === "reasoning");
  return { ...silentDelta(call), ...(thinks ? dialect?.besideText : {}) };
}

function* plainDeltas(saying: Saying): Generator<ChoiceDelta> {
  const { turn, toolCalls, dialect } = saying;
  const parts = turn.parts.filter((part) => isSaid(part, dialect));
  const hidden = hiddenTokens(saying);
  const [only] = toolCalls;
  if (only !== undefined && parts.length === 1) return yield* lonelyCall(saying, only, hidden);
  yield { ...opening(saying, parts[0]), tokens: hidden };
  for (const part of parts) yield* partDeltas(saying, part);
}

/** Whether a part shows in the answer: what the provider's tools did does not, and thinking only in a dialect that has it. */
function isSaid(part: Part, dialect: ReasoningDialect | undefined): boolean {
  if (part.kind === "reasoning") return dialect !== undefined && part.paragraphs.length > 0;
  return part.kind !== "web_search" && part.kind !== "image";
}

/** Tokens of thinking that never shows: it takes its time all the same. */
function hiddenTokens({ turn, dialect }: Saying): number {
  const thoughts = turn.parts.filter((part) => part.kind === "reasoning");
  return thoughts.reduce((sum, part) => sum + part.tokens - countTokens(dialect?.shown(part) ?? ""), 0);
}

/** A call that is the whole answer comes with the role. */
function* lonelyCall(saying: Saying, call: PlacedCall, hidden: number): Generator<ChoiceDelta> {
  let isFirst = true;
  for (const each of callDeltas(saying, call)) {
    const opened = { role: "assistant", content: null, ...each.delta, refusal: null };
    yield isFirst ? { ...each, delta: opened, tokens: each.tokens + hidden } : each;
    isFirst = false;
  }
}

function opening({ dialect, logprobs }: Saying, first: Part | undefined): Omit<ChoiceDelta, "tokens"> {
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

function partDeltas(saying: Saying, part: Part): Iterable<ChoiceDelta> {
  switch (part.kind) {
    case "reasoning":
      return reasoningDeltas(saying, part);
    case "text":
      return textDeltas(saying, part);
    case "refusal":
      return refusalDeltas(saying, part);
    case "tool_call":
      return callDeltas(
        saying,
        saying.toolCalls.find((each) => each.part === part),
      );
    case "web_search":
    case "image":
      return [];
    default:
      return part satisfies never;
  }
}

function* reasoningDeltas({ turn, dialect }: Saying, part: ReasoningPart): Generator<ChoiceDelta> {
  if (dialect === undefined) return;
  for (const delta of dialect.before(part)) yield { delta, logprobs: null, tokens: 0 };
  for (const piece of deltasOf(dialect.shown(part), styleOf(turn)))
    yield { delta: dialect.delta(piece), logprobs: null, tokens: 1 };
  for (const delta of dialect.after(part)) yield { delta, logprobs: null, tokens: 0 };
}

function* textDeltas(saying: Saying, part: TextPart): Generator<ChoiceDelta> {
  const { turn, call, dialect, logprobs } = saying;
  const thinks = turn.parts.some((each) => each.kind === "reasoning");
  const beside = thinks ? dialect?.besideText : {};
  for (const piece of deltasOf(part.text, styleOf(turn, part.firstDelta))) {
    const delta = { content: piece, ...beside };
    yield { delta, logprobs: logprobs.of("content", [piece]), tokens: countDeltaTokens(piece) };
  }
  if (part.citations.length === 0) return;
  yield { delta: { annotations: annotationsOf(turn, call) }, logprobs: null, tokens: 0 };
}

function* refusalDeltas({ turn, logprobs }: Saying, { text }: RefusalPart): Generator<ChoiceDelta> {
  for (const refusal of deltasOf(text, styleOf(turn)))
    yield { delta: { refusal }, logprobs: logprobs.of("refusal", [refusal]), tokens: 1 };
}

function* callDeltas({ turn, call }: Saying, toolCall: PlacedCall | undefined): Generator<ChoiceDelta> {
  if (toolCall === undefined) return;
  for (const { fields, tokens } of callPieces(toolCall, call.options, turn.halfSurrogates))
    yield { delta: { tool_calls: [fields] }, logprobs: null, tokens };
}

function styleOf({ halfSurrogates }: Turn, firstDelta = 0): DeltaStyle {
  return { firstDelta, halfSurrogates };
}
