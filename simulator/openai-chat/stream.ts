import { type ChunkChoice, type CompletionChunk, END_OF_STREAM } from "../../src/wire/openai-chat/stream.ts";
import { type ErrorShape, shapeError } from "../openai/error-shape.ts";
import { describeFailure, toStatus } from "../openai/failure.ts";
import { createObfuscator, type Obfuscator } from "../openai/obfuscation.ts";
import type { Turn } from "../script/turn.ts";
import type { FailureStyle, StreamedAnswer, WireEvent } from "../wire-format.ts";
import {
  type ChatCall,
  getChoiceCount,
  getFinishReason,
  getServiceFacts,
  logprobsField,
  toEnvelope,
} from "./chat-call.ts";
import { failureFacts } from "./completion.ts";
import { type ChoiceDelta, choiceDeltas, emptyDelta } from "./deltas.ts";
import { type Counts, countsSoFar, finalCounts, toUsage } from "./usage.ts";
import { chatWordings } from "./wordings.ts";

/** A stream that is being rendered. */
interface Rendering {
  readonly turn: Turn;
  readonly call: ChatCall;
  readonly obfuscate: Obfuscator;
  /** Token counts of the whole answer. */
  readonly final: Counts;
  /** Tokens in the chunks so far. */
  written: number;
}

/** The end marker of a stream. */
const done = `data: ${END_OF_STREAM}\n\n`;

/** The comment that OpenRouter sends while it waits for the model. */
const comment = ": OPENROUTER PROCESSING\n\n";

/** Renders an answer as the chunks of the Chat Completions API. */
export function renderChunks(
  turn: Turn,
  call: ChatCall,
  headers: Readonly<Record<string, string>>,
): StreamedAnswer {
  const obfuscates = call.request.stream_options?.include_obfuscation ?? true;
  const rendering: Rendering = {
    turn,
    call,
    obfuscate: createObfuscator(obfuscates),
    final: finalCounts(turn, getChoiceCount(call)),
    written: 0,
  };
  return {
    headers,
    events: () => chunkEvents(rendering),
    failure: (style, code) => failureEvents(rendering, style, code),
    keepAlive: () => choiceChunk(rendering, 0, { delta: emptyDelta(call), logprobs: null, tokens: 0 }),
  };
}

function* chunkEvents(rendering: Rendering): Generator<WireEvent, undefined> {
  const { turn, call } = rendering;
  const { options } = call;
  const choices = Array.from({ length: getChoiceCount(call) }, (_, index) => index);
  const streams = choices.map((choice) => choiceDeltas(turn, call, choice));
  for (const [choice, delta] of interleave(streams)) yield choiceChunk(rendering, choice, delta);
  if (options.no_finish !== true) for (const choice of choices) yield finishChunk(rendering, choice);
  if (options.trailing_chunk === true) yield trailingChunk(rendering);
  yield* usageChunks(rendering);
  if (options.no_done !== true) yield { text: done, tokens: 0, terminal: options.no_finish === true };
}

/** Takes the deltas of several choices in turn. */
function* interleave(streams: readonly Iterator<ChoiceDelta>[]): Generator<[choice: number, ChoiceDelta]> {
  let open = streams.map((stream, choice) => ({ stream, choice }));
  while (open.length > 0) {
    const still: typeof open = [];
    for (const each of open) {
      const next = each.stream.next();
      if (next.done === true) continue;
      yield [each.choice, next.value];
      still.push(each);
    }
    open = still;
  }
}

function choiceChunk(
  rendering: Rendering,
  index: number,
  { delta, logprobs, tokens }: ChoiceDelta,
): WireEvent {
  rendering.written += tokens;
  const choice = { index, delta, ...logprobsField(rendering.call, logprobs), finish_reason: null };
  return { text: frame(rendering, { choices: [choice] }), tokens, terminal: false };
}

/** Creates the chunk that ends a choice. The last one completes the answer. */
function finishChunk(rendering: Rendering, index: number): WireEvent {
  const { turn, call } = rendering;
  const isLast = index === getChoiceCount(call) - 1;
  const choice = {
    index,
    delta: emptyDelta(call),
    ...logprobsField(call, null),
    finish_reason: getFinishReason(turn, call),
  };
  const fields = { choices: [choice], ...(isLast ? usageAtFinish(rendering) : {}) };
  return { text: frame(rendering, fields), tokens: 0, terminal: isLast };
}

/** Creates a further chunk, which OpenRouter sends when the server behind it has counted the tokens. */
function trailingChunk(rendering: Rendering): WireEvent {
  const choice: ChunkChoice = {
    index: 0,
    delta: { role: "assistant", content: "" },
    finish_reason: getFinishReason(rendering.turn, rendering.call),
  };
  return { text: frame(rendering, { choices: [choice] }), tokens: 0, terminal: false };
}

function usageAtFinish({ call, final }: Rendering): UsageField {
  const { usage_style, usage_fields } = call.options;
  const usage = toUsage(final, usage_fields);
  if (usage_style === "x_groq") return { x_groq: { id: call.received.requestId, usage } };
  return usage_style === "finish" ? { usage } : {};
}

/** Yields the last chunk, which has only the usage. */
function* usageChunks(rendering: Rendering): Generator<WireEvent> {
  const { usage_style: style = "last", usage_fields } = rendering.call.options;
  const usage = toUsage(rendering.final, usage_fields);
  if (style === "bare") yield { text: frame(rendering, { usage }), tokens: 0, terminal: false };
  if (style === "last" && wantsUsage(rendering.call))
    yield { text: frame(rendering, { choices: [], usage }), tokens: 0, terminal: false };
}

function wantsUsage({ request }: ChatCall): boolean {
  return request.stream_options?.include_usage === true;
}

/** Returns the usage in chunks that do not have the final usage. */
function interimUsage({ call, final, written }: Rendering): UsageField {
  const { usage_style: style = "last", usage_fields } = call.options;
  if (style === "every") return { usage: toUsage(countsSoFar(final, written), usage_fields) };
  return style === "finish" || (style === "last" && wantsUsage(call)) ? { usage: null } : {};
}

/** The fields of a chunk that may hold the usage. */
type UsageField = Partial<Pick<CompletionChunk, "usage" | "x_groq">>;

function frame(
  rendering: Rendering,
  fields: Partial<Pick<CompletionChunk, "choices" | "error">> & UsageField,
): string {
  const { call, obfuscate } = rendering;
  const chunk = {
    ...toEnvelope(call, "chat.completion.chunk"),
    ...getServiceFacts(call),
    ...fields,
    ...("usage" in fields ? {} : interimUsage(rendering)),
    ...obfuscate(JSON.stringify(fields)),
  };
  return `${call.options.comments === true ? comment : ""}data: ${JSON.stringify(chunk)}\n\n`;
}

/**
 * Renders the events of a failure. `event` is the bare error, as OpenAI sends it; `failed` and `nested` are chunks
 * whose finish reason is `error`, with the error next to the choices, as at OpenRouter, or in the choice.
 */
function failureEvents(
  rendering: Rendering,
  style: FailureStyle,
  code: string | undefined,
): readonly WireEvent[] {
  const { error_shape: shape = "openai", no_done } = rendering.call.options;
  const error = failureFacts(rendering.call, code);
  const choice = { index: 0, delta: { content: "" }, finish_reason: "error" };
  const textByStyle: Readonly<Record<FailureStyle, () => string>> = {
    event: () => bareError(code, shape),
    failed: () => frame(rendering, { error, choices: [choice] }),
    nested: () => frame(rendering, { choices: [{ ...choice, error }] }),
  };
  const texts = [textByStyle[style](), ...(no_done === true ? [] : [done])];
  return texts.map((text) => ({ text, tokens: 0, terminal: false }));
}

function bareError(code: string | undefined, shape: ErrorShape): string {
  const problem = describeFailure(code, chatWordings);
  return `data: ${JSON.stringify(shapeError(problem, toStatus(problem.code), shape))}\n\n`;
}
