/** Invented events of model calls, for tests of the events that are written for them. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FinishReason_Reason as Reason } from "../../../../src/gen/outrigger/v1/response_pb.ts";
import {
  ToolCallStart_InputKind as InputKind,
  type StreamEvent,
  StreamEventSchema,
} from "../../../../src/gen/outrigger/v1/stream_event_pb.ts";

/** An event of a model call. */
export type ModelEvent = NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>;

/** The events of a model call, from its start to its finish. */
export function callEvents(events: readonly ModelEvent[], reason: Reason = Reason.STOP): StreamEvent[] {
  const finish: ModelEvent = {
    case: "finish",
    value: {
      finishReason: { reason },
      response: { model: "m", finishReason: { reason }, message: { content: [] } },
    },
  };
  const all: ModelEvent[] = [{ case: "streamStart", value: { model: "m" } }, ...events, finish];
  return all.map((event, sequence) => create(StreamEventSchema, { sequence, event }));
}

/** The events of a text. */
export function textEvents(partIndex: number, ...deltas: string[]): ModelEvent[] {
  return [
    { case: "textStart", value: { partIndex } },
    ...deltas.map((delta): ModelEvent => ({ case: "textDelta", value: { partIndex, delta } })),
    { case: "textEnd", value: { partIndex } },
  ];
}

/** The events of a tool call. */
export function toolCallEvents(partIndex: number, name: string, argumentsJson: string): ModelEvent[] {
  const id = `call_${partIndex}`;
  return [
    {
      case: "toolCallStart",
      value: { partIndex, id, name, inputKind: InputKind.ARGUMENTS_JSON },
    },
    { case: "toolCallDelta", value: { partIndex, delta: argumentsJson } },
    {
      case: "toolCallEnd",
      value: { partIndex, toolCall: { id, name, input: { case: "argumentsJson", value: argumentsJson } } },
    },
  ];
}
