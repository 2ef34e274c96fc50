import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { responseWithoutContent } from "../client/final-response.ts";
import type { ContentPart } from "../gen/outrigger/v1/message_pb.ts";
import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import {
  ToolCallStart_InputKind as InputKind,
  type StreamEvent,
  StreamEventSchema,
} from "../gen/outrigger/v1/stream_event_pb.ts";

/** The content of an event, of which `create` makes messages. */
type EventContent = NonNullable<MessageInitShape<typeof StreamEventSchema>["event"]>;

/**
 * Returns the events of an answer that was not streamed: each text is one delta. They obey the laws of a stream, and
 * repeat no content of the deltas (FINAL_RESPONSE_WITHOUT_CONTENT).
 */
export function toStreamEvents(response: Response): StreamEvent[] {
  const parts = response.message?.content ?? [];
  const contents = [toStart(response), ...parts.flatMap(toPartEvents), toFinish(response)];
  return contents.map((event, sequence) => create(StreamEventSchema, { sequence, event }));
}

function toStart({ inferenceId, provider, model, createdAt, warnings }: Response): EventContent {
  const startedAt = createdAt === undefined ? {} : { startedAt: createdAt };
  const fields = { inferenceId, provider, model, warnings, finalResponse: FinalResponse.WITHOUT_CONTENT };
  return { case: "streamStart", value: { ...fields, ...startedAt } };
}

function toFinish(response: Response): EventContent {
  const { finishReason, usage } = response;
  const known = { ...(finishReason && { finishReason }), ...(usage && { usage }) };
  return { case: "finish", value: { response: responseWithoutContent(response), ...known } };
}

function toPartEvents(whole: ContentPart, partIndex: number): EventContent[] {
  const { part, citations, providerState, refusal } = whole;
  const state = providerState === undefined ? {} : { providerState };
  switch (part.case) {
    case "text":
      return [
        { case: "textStart", value: { partIndex, refusal } },
        ...(part.value === ""
          ? []
          : [{ case: "textDelta", value: { partIndex, delta: part.value } } as const]),
        { case: "textEnd", value: { partIndex, citations, ...state } },
      ];
    case "reasoning": {
      const { text: delta, redacted } = part.value;
      return [
        { case: "reasoningStart", value: { partIndex } },
        ...(delta === "" ? [] : [{ case: "reasoningDelta", value: { partIndex, delta } } as const]),
        { case: "reasoningEnd", value: { partIndex, redacted, ...state } },
      ];
    }
    case "toolCall": {
      const { id, name, input } = part.value;
      const inputKind = input.case === "text" ? InputKind.TEXT : InputKind.ARGUMENTS_JSON;
      const delta = input.value ?? "";
      return [
        { case: "toolCallStart", value: { partIndex, id, name, inputKind } },
        ...(delta === "" ? [] : [{ case: "toolCallDelta", value: { partIndex, delta } } as const]),
        { case: "toolCallEnd", value: { partIndex, toolCall: part.value, ...state } },
      ];
    }
    default:
      return [{ case: "partAdded", value: { partIndex, part: whole } }];
  }
}
