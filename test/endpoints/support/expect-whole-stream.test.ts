import { describe, expect, it } from "vitest";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { eventsIn, type ResponsesEvent } from "./events-in.ts";
import { expectWholeStream } from "./expect-whole-stream.ts";

const recordings = getRecordings("openai-responses", ".sse");

function recorded(name: string): ResponsesEvent[] {
  const recording = recordings.find(({ file }) => file.endsWith(`/${name}.sse`));
  if (recording === undefined) throw new Error(`there is no recording ${name}`);
  return eventsIn(toBytes(recording).toString("utf8"));
}

function numbered(events: readonly ResponsesEvent[]): ResponsesEvent[] {
  return events.map((event, index) => ({ ...event, sequence_number: index }));
}

describe("expectWholeStream", () => {
  const names = [
    "streaming-grammar-encrypted-reasoning-multi-part",
    "streaming-grammar-parallel-tool-calls",
    "refusal-responses-streaming-refusal-surfaces",
    "streaming-grammar-structured-output-stream",
  ];

  it.each(names)("accepts the recorded stream %s", (name) => {
    const events = recorded(name);
    expect(expectWholeStream(events)).toBe(events.at(-1)?.response);
  });

  it.each(names)("refuses the stream %s without any one of its events", (name) => {
    const events = recorded(name);
    const accepted = events.filter((_, left) => {
      const rest = numbered(events.filter((_, index) => index !== left));
      return isAccepted(rest);
    });
    expect(accepted.map(({ type }) => type)).toEqual([]);
  });

  it.each(names)("refuses the stream %s with any one of its events twice", (name) => {
    const events = recorded(name);
    const accepted = events.filter((event, at) => isAccepted(numbered(events.toSpliced(at, 0, event))));
    expect(accepted.map(({ type }) => type)).toEqual([]);
  });

  it("refuses a stream with a gap in its sequence numbers", () => {
    const events = recorded("streaming-grammar-parallel-tool-calls");
    expect(
      isAccepted(
        events.map((event, index) => (index < 5 ? event : { ...event, sequence_number: index + 1 })),
      ),
    ).toBe(false);
  });

  function isAccepted(events: readonly ResponsesEvent[]): boolean {
    try {
      expectWholeStream(events);
      return true;
    } catch {
      return false;
    }
  }
});
