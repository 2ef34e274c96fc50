import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { type BodyWriter, createBodyWriter, InjectedCut } from "./delivery/body-writer.ts";
import { deliverStream } from "./delivery/deliver-stream.ts";
import { deliverWhole } from "./delivery/deliver-whole.ts";
import { maxTimerMs } from "./delivery/pace.ts";
import { failedStatus } from "./failed-status.ts";
import type { FaultCounter } from "./fault-counter.ts";
import { chooseModel, isModelMistake, type ModelNaming } from "./model-choice.ts";
import type { ModelOptions } from "./model-options.ts";
import type { OpenRequest } from "./request-log.ts";
import { composeTurn } from "./script/compose-turn.ts";
import type { PromptCache } from "./script/prompt-cache.ts";
import type { Turn } from "./script/turn.ts";
import {
  type ModelCall,
  type PreparedCall,
  type ReceivedRequest,
  Rejection,
  type WholeAnswer,
  type WireFormat,
} from "./wire-format.ts";

/** The parts that the exchanges of one simulator share. */
export interface ExchangeContext {
  readonly naming: ModelNaming;
  readonly faults: FaultCounter;
  readonly cache: PromptCache;
}

/** One request and the response to it. */
export interface Exchange {
  readonly request: ReceivedRequest;
  readonly response: ServerResponse;
  /** The request's entry in the log, which the exchange updates. */
  readonly record: OpenRequest;
  /** Aborts when the response is closed, by either side. */
  readonly signal: AbortSignal;
}

/**
 * Answers a request in a wire format. `exceeded` is the limit, in bytes, that the body exceeded, if any. Throws an
 * AbortError if the caller closes the connection first, or an {@link InjectedCut}.
 */
export async function answerRequest(
  exchange: Exchange,
  format: WireFormat,
  context: ExchangeContext,
  exceeded: number | undefined,
): Promise<void> {
  try {
    if (exceeded !== undefined)
      throw new Rejection(format.reject({ kind: "oversized_body", limit: exceeded }, exchange.request));
    const found = format.read(exchange.request);
    if ("status" in found) await sendWhole(exchange, found, {});
    else await answerCall(exchange, format, context, found);
  } catch (error) {
    if (!(error instanceof Rejection)) throw error;
    await sendWhole(exchange, error.answer, {});
  }
}

async function answerCall(
  exchange: Exchange,
  format: WireFormat,
  context: ExchangeContext,
  call: ModelCall,
): Promise<void> {
  const { request, response, signal } = exchange;
  const choice = chooseModel(call.model, context.naming);
  if (isModelMistake(choice)) throw new Rejection(format.reject(choice, request));
  const options = context.faults.take(choice);
  if (options.delay_ms !== undefined) await sleep(options.delay_ms, undefined, { signal });
  if (options.drop === true) {
    response.destroy();
    throw new InjectedCut();
  }
  const failed = failedStatus(format, request, options);
  if (failed !== undefined) return sendWhole(exchange, failed, options);
  const prepared = call.prepare(choice);
  if ("status" in prepared) return sendWhole(exchange, prepared, options);
  const turn = composeTurn(prepared.prompt, { ...choice, options }, context.cache);
  if (prepared.stream) await sendStream(exchange, prepared, turn, options);
  else await sendTurn(exchange, prepared, turn, options);
}

async function sendTurn(
  exchange: Exchange,
  call: PreparedCall,
  turn: Turn,
  options: ModelOptions,
): Promise<void> {
  const { rate } = options;
  const writing = rate === undefined ? 0 : Math.min((turn.usage.outputTokens / rate) * 1000, maxTimerMs);
  if (writing > 0) await sleep(writing, undefined, { signal: exchange.signal });
  const fails = options.error_after !== undefined;
  const answer = fails ? call.renderFailed(turn, options.error_code) : call.renderWhole(turn);
  await sendWhole(exchange, answer, options);
}

async function sendWhole(exchange: Exchange, answer: WholeAnswer, options: ModelOptions): Promise<void> {
  const body = openBody(exchange, answer.status, answer.headers, options);
  await deliverWhole(answer.body, body, options, exchange.signal);
}

async function sendStream(
  exchange: Exchange,
  call: PreparedCall,
  turn: Turn,
  options: ModelOptions,
): Promise<void> {
  const { record, signal } = exchange;
  const answer = call.renderStream(turn);
  const body = openBody(exchange, 200, answer.headers, options);
  const onEvent = (): void => {
    record.events += 1;
  };
  await deliverStream({ answer, body, options, signal, onEvent });
}

/** Sends the headers at once, since the body may be delayed. */
function openBody(
  exchange: Exchange,
  status: number,
  headers: Readonly<Record<string, string>>,
  options: ModelOptions,
): BodyWriter {
  const { response, record, signal } = exchange;
  signal.throwIfAborted();
  record.status = status;
  response.writeHead(status, headers);
  response.flushHeaders();
  return createBodyWriter(response, options, signal);
}
