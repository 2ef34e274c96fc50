/** Parts and events in a short form that keeps all of their content. */

import type { Citation, ContentPart, ProviderState } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_ReasonSchema } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { ToolCallStart_InputKind } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";

/** The content of a part or an event; its state and citations as the JSON that they hold. */
export type Description = Readonly<Record<string, unknown>>;

/** A part of a message. */
export function describePart({ part, citations, providerState }: ContentPart): Description {
  return { ...describeContent(part), ...describeCitations(citations), ...describeState(providerState) };
}

function describeContent(part: ContentPart["part"]): Description {
  switch (part.case) {
    case "text":
      return { text: part.value };
    case "reasoning":
      return { reasoning: part.value.text, redacted: part.value.redacted };
    case "toolCall": {
      const { name, id, input, argumentsInvalid: invalid } = part.value;
      const type = input.case === "text" ? "custom" : "function";
      return { call: name, id, type, input: input.value, invalid };
    }
    case "image": {
      const { mediaType, source } = part.value;
      return { image: Buffer.from(source.value as Uint8Array).toString("base64"), mediaType };
    }
    case "native": {
      const { dataJson, kind, provider } = part.value;
      return { native: JSON.parse(dataJson), kind, provider };
    }
    default:
      throw new Error(`a ${part.case} part cannot come from the Responses API`);
  }
}

function describeCitations(citations: readonly Citation[]): Description {
  if (citations.length === 0) return {};
  return {
    citations: citations.map(({ $typeName: _, rawJson, ...citation }) => ({
      ...Object.fromEntries(Object.entries(citation).filter(([, value]) => value !== undefined)),
      raw: JSON.parse(rawJson),
    })),
  };
}

function describeState(state: ProviderState | undefined): Description {
  return state === undefined ? {} : { state: JSON.parse(state.dataJson) };
}

/** An event without its number and times, which the laws hold. */
export function describeEvent({ event }: StreamEvent): Description {
  switch (event.case) {
    case "streamStart":
      return { start: event.value.model };
    case "textStart":
      return { textStart: event.value.partIndex };
    case "reasoningStart":
      return { reasoningStart: event.value.partIndex };
    case "toolCallStart": {
      const { partIndex, id, name, inputKind } = event.value;
      const type = inputKind === ToolCallStart_InputKind.TEXT ? "custom" : "function";
      return { callStart: partIndex, id, name, type };
    }
    case "textDelta":
    case "reasoningDelta":
    case "toolCallDelta":
      return { delta: event.value.partIndex, text: event.value.delta };
    case "textEnd": {
      const { partIndex, text, citations, providerState } = event.value;
      return { textEnd: partIndex, text, ...describeCitations(citations), ...describeState(providerState) };
    }
    case "reasoningEnd": {
      const { partIndex, text, redacted, providerState } = event.value;
      return { reasoningEnd: partIndex, reasoning: text, redacted, ...describeState(providerState) };
    }
    case "toolCallEnd": {
      const { partIndex, toolCall, providerState } = event.value;
      const call = toolCall === undefined ? {} : describeContent({ case: "toolCall", value: toolCall });
      return { callEnd: partIndex, ...call, ...describeState(providerState) };
    }
    case "partAdded":
      return { added: event.value.partIndex, ...(event.value.part && describePart(event.value.part)) };
    case "providerEvent":
      return { event: event.value.type, data: JSON.parse(event.value.dataJson) };
    case "finish": {
      const { finishReason, usage } = event.value;
      const reason = FinishReason_ReasonSchema.value[finishReason?.reason ?? 0]?.localName;
      const finish = { finish: reason, raw: finishReason?.raw };
      return usage === undefined ? finish : { ...finish, tokens: usage.totalTokens };
    }
    case "error":
      return { error: event.value.message, outputStarted: event.value.outputStarted };
    default:
      throw new Error("an event without content");
  }
}

/** The event that opens a stream of `CREATED`. */
export const START: Description = { start: "gpt-5" };

/** The event that ends a stream of `completed()`. */
export const STOP: Description = { finish: "STOP", raw: "completed" };

/** The same if the caller has to run tools. */
export const TOOL_CALLS: Description = { finish: "TOOL_CALLS", raw: "completed" };

/** State of a text of `message()`. */
export const textState = (item: object = {}) => ({
  state: {
    item: { type: "message", id: "msg_1", role: "assistant", status: "completed", ...item },
    part: { type: "output_text" },
  },
});

/** State of `call()`. */
export const callState = (item: object = {}) => ({
  state: { item: { type: "function_call", id: "fc_1", ...item } },
});

/** The events of a text that is streamed in several deltas. */
export function textEvents(
  partIndex: number,
  pieces: readonly string[],
  end: object = textState(),
): Description[] {
  return [
    { textStart: partIndex },
    ...pieces.map((text) => ({ delta: partIndex, text })),
    { textEnd: partIndex, text: pieces.join(""), ...end },
  ];
}

/** The events of a call whose arguments are streamed in several deltas. */
export function callEvents(
  partIndex: number,
  pieces: readonly string[],
  head: object = {},
  end: object = callState(),
): Description[] {
  const named = { id: "call_1", type: "function", ...head };
  return [
    { callStart: partIndex, name: "look", ...named },
    ...pieces.map((text) => ({ delta: partIndex, text })),
    { callEnd: partIndex, call: "look", input: pieces.join(""), invalid: false, ...named, ...end },
  ];
}
