import { expect, it } from "vitest";
import { objectFromEvents } from "../../../src/endpoints/responses/read-events.ts";
import { getSettings } from "../../../src/endpoints/responses/settings.ts";
import type { RunEvent } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { callEvents, textEvents } from "./support/model-events.ts";
import { createRunEvents, toRun } from "./support/run-events.ts";

it.each([1, 3, 100])(
  "The object of a run in progress has what the run knows, in batches of %i",
  async (size) => {
    const calls = [callEvents(textEvents(0, "One. ")), callEvents(textEvents(0, "Two."))];
    const { events } = createRunEvents({ calls });
    const end = events.findIndex(({ event }) => event.case === "stepFinish");
    const run = toRun({ lastSequence: end });
    async function* batches(): AsyncGenerator<readonly RunEvent[]> {
      for (let at = 0; at <= end; at += size) yield events.slice(at, at + size);
      expect.fail("was read after the latest event that the run knows");
    }
    const object = JSON.parse(await objectFromEvents(run, batches(), getSettings(run)));
    expect(object).toMatchObject({ status: "in_progress", output: [{ content: [{ text: "One. " }] }] });
  },
);
