import { describe, expect, it } from "vitest";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { watchFirstOutput } from "../../src/middleware/first-output.ts";
import { getEvents, START } from "../core/steps.ts";

describe("watchFirstOutput()", () => {
  it("calls back once, with the first output of the model, and passes every batch on", async () => {
    const delta = { case: "textDelta", value: { partIndex: 0, delta: "a" } } as const;
    const batches = [[START], [{ case: "textStart", value: { partIndex: 0 } }], [delta], [delta]] as const;
    let ended = 0;
    async function* source(): AsyncGenerator<readonly StreamEvent[]> {
      try {
        for (const batch of batches) yield getEvents(batch);
      } finally {
        ended += 1;
      }
    }
    const seen: string[] = [];
    for await (const batch of watchFirstOutput(source(), () => void seen.push("output")))
      seen.push(...batch.map(({ event }) => event.case ?? ""));
    expect(seen).toEqual(["streamStart", "textStart", "output", "textDelta", "textDelta"]);
    for await (const _ of watchFirstOutput(source(), () => {})) break;
    expect(ended).toBe(2);
  });
});
