/** Streams whose caller gets the provider's bytes: deltas that come together are one event. */
import { describe, expect, it } from "vitest";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { readers } from "../../providers/support/recorded-answers.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";

type Event = StreamEvent["event"];

/** The delta of an event. */
function getDelta(event: Event | undefined): { readonly partIndex: number; delta: string } | undefined {
  switch (event?.case) {
    case "textDelta":
    case "reasoningDelta":
    case "toolCallDelta":
      return event.value;
    default:
      return undefined;
  }
}

/** The events without their numbers, and neighbouring deltas of one part as one. */
function toContent(events: readonly StreamEvent[]): Event[] {
  const content: Event[] = [];
  for (const { event } of structuredClone(events)) {
    const [last, delta] = [getDelta(content.at(-1)), getDelta(event)];
    if (last !== undefined && last.partIndex === delta?.partIndex) last.delta += delta.delta;
    else content.push(event);
  }
  return content;
}

describe.each(Object.entries(readers))("A recorded stream of %s", (name, { folder, decoder }) => {
  it.each(getRecordings(folder, ".sse"))(
    "has the same content and answer with fewer events: $file",
    async (recording) => {
      const chunks = [toBytes(recording)];
      const facts = () => factsFor(name, { model: "m" });
      const single = await decode(chunks, facts(), decoder);
      const joined = await decode(chunks, facts(), (each, writer) => {
        writer.joinsDeltas = true;
        return decoder(each, writer);
      });
      expect(toContent(joined.events)).toEqual(toContent(single.events));
      expect(joined.events.length).toBeLessThanOrEqual(single.events.length);
      expect(String(joined.error)).toBe(String(single.error));
    },
  );
});
