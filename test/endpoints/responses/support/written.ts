/** Events of runs, written as events and items of the Responses API. */

import { MessageSink, SseSink } from "../../../../src/endpoints/responses/event-output.ts";
import {
  defaultSettings,
  getOrigin,
  getSettings,
  type ResponseSettings,
} from "../../../../src/endpoints/responses/settings.ts";
import { ResponseEvents } from "../../../../src/endpoints/responses/write-events.ts";
import type { RunEvent } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import type { RunWithOrigin } from "../../../../src/runs/engine.ts";
import type { ResponsesEvent } from "../../support/events-in.ts";
import { toRun } from "./run-events.ts";

/** The run of a request with these settings. */
export function runWith(
  echoed: Partial<ResponseSettings["echoed"]>,
  include: readonly string[] = [],
): RunWithOrigin {
  const settings = { ...defaultSettings, echoed: { ...defaultSettings.echoed, ...echoed }, include };
  return { ...toRun(), origin: getOrigin(settings) };
}

/** The events of a response. */
export function written(
  events: readonly RunEvent[],
  run: RunWithOrigin,
  startingAfter = -1,
): readonly ResponsesEvent[] {
  const sink = new MessageSink();
  const writer = ResponseEvents.create(run, sink, { startingAfter, pads: false }, getSettings(run));
  writer.push(events);
  writer.end();
  return sink.take().map((text) => JSON.parse(text));
}

/** The body of a stream. @param sizes Numbers of events in each push; the rest in a last one. */
export function writtenBody(
  events: readonly RunEvent[],
  run: RunWithOrigin,
  startingAfter = -1,
  size = events.length,
): string {
  const sink = new SseSink();
  const writer = ResponseEvents.create(run, sink, { startingAfter, pads: false }, getSettings(run));
  let body = "";
  for (let at = 0; at < events.length; at += size) {
    writer.push(events.slice(at, at + size));
    body += sink.take().toString();
  }
  writer.end();
  return body + sink.take().toString();
}

/** The body of a stream that a copy of its writer continues. @param place How many events the original takes before. */
export function writtenByCopy(events: readonly RunEvent[], run: RunWithOrigin, place: number): string {
  const options = { startingAfter: -1, pads: false };
  const [before, after] = [new SseSink(), new SseSink()];
  const original = ResponseEvents.create(run, before, options, getSettings(run));
  original.push(events.slice(0, place));
  const begun = before.take().toString();
  const copy = original.copy(after, options);
  // Later changes of the original must not change the copy.
  original.push(events.slice(place));
  copy.push(events.slice(place));
  copy.end();
  return begun + after.take().toString();
}
