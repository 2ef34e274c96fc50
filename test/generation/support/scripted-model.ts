import { create } from "@bufbuild/protobuf";
import { type CallOptions, EventStream, type ProviderAdapter, textPart } from "outrigger";
import {
  type ContentPart,
  ContentPartSchema,
  MessageSchema,
  Role,
} from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  FinishReason_Reason,
  FinishReasonSchema,
  type Response,
  ResponseSchema,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { isJson } from "../../../src/kit/json/json.ts";
import { replayResponse } from "../../../src/kit/stream/replay-response.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";

/** A call that a scripted model makes. */
export interface ScriptedCall {
  readonly name: string;
  readonly id?: string;
  /** JSON text. Default `{}`. */
  readonly args?: string;
  /** The input of a custom tool, in place of `args`. */
  readonly text?: string;
}

/** One turn of a scripted model: it answers a text, calls tools, or fails. */
export type Turn = string | readonly ScriptedCall[] | Error | ((request: Request) => Turn) | CustomTurn;

/** An answer with another finish reason than its content suggests, or without usage. */
export interface CustomTurn {
  readonly calls: readonly ScriptedCall[];
  readonly reason: FinishReason_Reason;
}

/** An adapter whose model follows a list of turns, the last one again and again. Each answer has
 * a usage of 10 + 5 tokens and costs 1000 nano-USD. */
export class ScriptedModel implements ProviderAdapter {
  readonly name: string;
  readonly #turns: Turn[];
  /** The requests that arrived, each with a copy of its messages. */
  readonly requests: Request[] = [];
  /** Called while a call is in progress, before its first event. */
  beforeAnswer: ((signal: AbortSignal | undefined) => Promise<void>) | undefined;
  /** Streams whose iteration has begun and not ended. */
  open = 0;

  constructor(turns: readonly Turn[], name = "scripted") {
    this.name = name;
    this.#turns = [...turns];
  }

  async complete(request: Request, options: CallOptions = {}): Promise<Response> {
    return this.#answer(request, options);
  }

  stream(request: Request, options: CallOptions = {}): EventStream {
    return new EventStream(this.#batches(request, options));
  }

  async *#batches(request: Request, options: CallOptions): AsyncGenerator<readonly StreamEvent[]> {
    this.open += 1;
    try {
      const response = await this.#answer(request, options);
      const { inferenceId = "" } = options;
      const facts = { ...NO_FACTS, request, provider: this.name, inferenceId };
      const writer = new StreamWriter(facts, () => 0);
      replayResponse(response, writer);
      for (const event of writer.take()) yield [event];
    } finally {
      this.open -= 1;
    }
  }

  async #answer(request: Request, options: CallOptions): Promise<Response> {
    this.requests.push({ ...request, messages: [...request.messages] });
    await this.beforeAnswer?.(options.signal);
    let turn: Turn | undefined = this.#turns.length > 1 ? this.#turns.shift() : this.#turns[0];
    while (typeof turn === "function") turn = turn(request);
    if (turn === undefined) throw new Error("the script is empty");
    if (turn instanceof Error) throw turn;
    return this.#createResponse(turn, options, this.requests.length);
  }

  #createResponse(
    turn: string | readonly ScriptedCall[] | CustomTurn,
    { inferenceId = "" }: CallOptions,
    turnNumber: number,
  ): Response {
    const calls = typeof turn === "string" ? [] : "calls" in turn ? turn.calls : turn;
    const content = calls.map((call, index) => callPart(call, `call_${turnNumber}_${index}`));
    if (typeof turn === "string") content.push(textPart(turn));
    const natural = calls.length > 0 ? FinishReason_Reason.TOOL_CALLS : FinishReason_Reason.STOP;
    const reason = typeof turn === "object" && "reason" in turn ? turn.reason : natural;
    return create(ResponseSchema, {
      id: `answer_${turnNumber}`,
      model: "m",
      provider: this.name,
      inferenceId,
      message: create(MessageSchema, { role: Role.ASSISTANT, content }),
      finishReason: create(FinishReasonSchema, { reason, raw: "scripted" }),
      usage: create(UsageSchema, { inputTokens: 10, outputTokens: 5, totalTokens: 15, costNanoUsd: 1000n }),
    });
  }
}

function callPart({ name, id: givenId, args = "{}", text }: ScriptedCall, id: string): ContentPart {
  const input =
    text === undefined
      ? ({ case: "argumentsJson", value: args } as const)
      : ({ case: "text", value: text } as const);
  const argumentsInvalid = text === undefined && args !== "" && !isJson(args);
  const value = { id: givenId ?? id, name, argumentsInvalid, input };
  return create(ContentPartSchema, { part: { case: "toolCall", value } });
}

const NO_FACTS = { warnings: [], acceptedAt: 0, rateLimit: undefined, providerRequestId: "" };
