/** The provider of these tests: answers by script, and records its calls. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "../../../src/core/adapter.ts";
import { EventStream } from "../../../src/core/event-stream.ts";
import { withTerminalEvent } from "../../../src/core/streamed-call.ts";
import { Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  FinishReason_Reason,
  type Response,
  ResponseSchema,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { ModelClient } from "../../../src/generation/loop/model-calls.ts";

type EventInit = NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>;

/** The parts of a call that a script gets. */
export interface ScriptedCall {
  readonly request: Request;
  readonly inferenceId: string;
  readonly signal: AbortSignal;
  /** Pays for the answer. */
  readonly memory: CallOptions["memory"];
  /** Tells of a request to a provider. */
  readonly onTarget: CallOptions["onTarget"];
  readonly beginParallel: CallOptions["beginParallel"];
}

/** The script. Methods that are left out must not be called. */
export interface Script {
  readonly complete?: (call: ScriptedCall) => Promise<Response>;
  readonly stream?: (call: ScriptedCall) => AsyncIterable<readonly StreamEvent[]>;
}

/** An ModelClient that follows a script and remembers its calls. */
export interface ScriptedInference extends ModelClient {
  readonly calls: ScriptedCall[];
}

export function scriptedInference(script: Script): ScriptedInference {
  const calls: ScriptedCall[] = [];
  const begin = (request: Request, options: CallOptions | undefined): ScriptedCall => {
    if (options?.signal === undefined || options.inferenceId === undefined)
      throw new Error("signal and inference id are missing");
    const { inferenceId, signal, memory, onTarget, beginParallel } = options;
    const call = { request, inferenceId, signal, memory, onTarget, beginParallel };
    calls.push(call);
    return call;
  };
  return {
    calls,
    async complete(request, options) {
      const call = begin(request, options);
      if (script.complete === undefined) throw new Error("complete is not scripted");
      return script.complete(call);
    },
    stream(request, options) {
      const call = begin(request, options);
      if (script.stream === undefined) throw new Error("stream is not scripted");
      return new EventStream(withTerminalEvent(script.stream(call)));
    },
  };
}

/** A whole answer of one text part. */
export function textResponse(call: ScriptedCall, text: string): Response {
  return create(ResponseSchema, {
    id: "resp_1",
    provider: "scripted",
    model: call.request.model,
    inferenceId: call.inferenceId,
    message: { role: Role.ASSISTANT, content: [{ part: { case: "text", value: text } }] },
    finishReason: { reason: FinishReason_Reason.STOP, raw: "stop" },
    usage: { inputTokens: 7, outputTokens: 5, totalTokens: 12 },
  });
}

/** The events of a text in pieces, in one list. They keep the laws. */
export function textEvents(call: ScriptedCall, deltas: readonly string[]): StreamEvent[] {
  const text = deltas.join("");
  const response = textResponse(call, text);
  return numbered([
    {
      case: "streamStart",
      value: { inferenceId: call.inferenceId, provider: "scripted", model: call.request.model },
    },
    { case: "textStart", value: { partIndex: 0 } },
    ...deltas.map((delta) => ({ case: "textDelta", value: { partIndex: 0, delta } }) as const),
    { case: "textEnd", value: { partIndex: 0, text } },
    {
      case: "finish",
      value: {
        response,
        ...(response.usage === undefined ? {} : { usage: response.usage }),
        ...(response.finishReason === undefined ? {} : { finishReason: response.finishReason }),
      },
    },
  ]);
}

/** Events with their numbers. */
export function numbered(events: readonly EventInit[]): StreamEvent[] {
  return events.map((event, sequence) => create(StreamEventSchema, { sequence, event }));
}

/** Batches of one event each. */
export async function* oneByOne(events: Iterable<StreamEvent>): AsyncGenerator<readonly StreamEvent[]> {
  for (const event of events) yield [event];
}

/** Never resolves; rejects with the signal's reason. Simulates a provider that sends nothing. */
export function silence(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
