import { FinalResponse } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import type { Finish, StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";

/**
 * Returns the event in the form for FINAL_RESPONSE_WITHOUT_CONTENT: no text in `text_end` and `reasoning_end`, no
 * content in the final message. Other events are returned unchanged.
 */
export function withoutContent(event: StreamEvent): StreamEvent {
  const { event: step } = event;
  switch (step.case) {
    case "streamStart": {
      const value = { ...step.value, finalResponse: FinalResponse.WITHOUT_CONTENT };
      return { ...event, event: { case: "streamStart", value } };
    }
    case "textEnd":
      return { ...event, event: { case: "textEnd", value: { ...step.value, text: "" } } };
    case "reasoningEnd":
      return { ...event, event: { case: "reasoningEnd", value: { ...step.value, text: "" } } };
    case "finish":
      return { ...event, event: { case: "finish", value: finishWithoutContent(step.value) } };
    default:
      return event;
  }
}

function finishWithoutContent(finish: Finish): Finish {
  const { response } = finish;
  return response === undefined ? finish : { ...finish, response: responseWithoutContent(response) };
}

/** Returns the response without the content of its message. */
export function responseWithoutContent(response: Response): Response {
  if (response.message === undefined) return response;
  return { ...response, message: { ...response.message, content: [] } };
}
