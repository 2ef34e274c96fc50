/** Adds warnings to answers. */
import type { Response, Warning } from "../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../gen/outrigger/v1/stream_event_pb.ts";

/** Returns the response with warnings before those it already has. */
export function withWarnings(response: Response, notes: readonly Warning[]): Response {
  return { ...response, warnings: [...notes, ...response.warnings] };
}

/** Returns the event with these warnings if it carries the warnings of a stream. */
export function addWarningsToEvent(event: StreamEvent, notes: readonly Warning[]): StreamEvent {
  const { event: step } = event;
  if (step.case === "streamStart") {
    const value = { ...step.value, warnings: [...notes, ...step.value.warnings] };
    return { ...event, event: { case: "streamStart", value } };
  }
  if (step.case !== "finish" || step.value.response === undefined) return event;
  const value = { ...step.value, response: withWarnings(step.value.response, notes) };
  return { ...event, event: { case: "finish", value } };
}
