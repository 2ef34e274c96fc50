import type { StreamEvent } from "../../src/wire/anthropic-messages/stream.ts";
import type { Untrusted } from "../../src/wire/untrusted.ts";
import type { Turn } from "../script/turn.ts";
import type { StreamedAnswer, WireEvent } from "../wire-format.ts";
import type { RenderedBlock } from "./answer-blocks.ts";
import { describeFailure } from "./failure.ts";
import { finalUsage, getStopFacts, openMessage, type TransformedInput } from "./message-object.ts";

/** The input for rendering a stream. */
export interface StreamSource {
  readonly requestNumber: number;
  /** The model string of the request. */
  readonly model: string;
  readonly turn: Turn;
  readonly blocks: readonly RenderedBlock[];
  readonly transformed: TransformedInput;
}

/** Renders an answer as the events of Anthropic's Messages API. A failure is always the event `error`. */
export function renderEvents(
  source: StreamSource,
  headers: Readonly<Record<string, string>>,
): StreamedAnswer {
  return {
    headers,
    events: () => messageEvents(source),
    failure: (_style, code) => {
      const { type, message } = describeFailure(code);
      return [event("error", { error: { details: null, type, message } })];
    },
    keepAlive: ping,
  };
}

function* messageEvents(source: StreamSource): Generator<WireEvent, undefined> {
  const { requestNumber, model, turn, blocks, transformed } = source;
  const message = { ...openMessage(requestNumber, model, turn), ...transformed };
  const start = event("message_start", { message });
  yield start;
  if (turn.repeatsStart) yield start;
  for (const [index, block] of blocks.entries()) {
    yield event("content_block_start", { index, content_block: block.opening }, block.hiddenTokens);
    if (index === 0) yield ping();
    for (const { delta, tokens } of block.deltas()) {
      yield event("content_block_delta", { index, delta }, tokens);
    }
    yield event("content_block_stop", { index });
  }
  yield event("message_delta", { delta: getStopFacts(turn), usage: finalUsage(turn) });
  yield event("message_stop", {});
}

function ping(): WireEvent {
  return event("ping", {});
}

function event<Type extends StreamEvent["type"]>(
  type: Type,
  fields: Untrusted<Extract<StreamEvent, { type: Type }>>,
  tokens = 0,
): WireEvent {
  const data = JSON.stringify({ type, ...fields });
  return { text: `event: ${type}\ndata: ${data}\n\n`, tokens, terminal: type === "message_stop" };
}
