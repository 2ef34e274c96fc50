/** Streams that break off before their response ends, since the events of the run cannot be read any more. */
import { describe, expect, it } from "vitest";
import { NetworkError } from "../../../src/core/errors.ts";
import { getSettings } from "../../../src/endpoints/responses/settings.ts";
import { streamResponse } from "../../../src/endpoints/responses/write-stream.ts";
import type { RunEvent } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { expectValidEvent, expectValidOpenResponses } from "../schemas/validate.ts";
import { eventsIn } from "../support/events-in.ts";
import { callEvents, textEvents } from "./support/model-events.ts";
import { createRunEvents, toRun } from "./support/run-events.ts";

const run = toRun();
const { events } = createRunEvents({
  created: run,
  calls: [callEvents([...textEvents(0, "One", " two", " three"), ...textEvents(1, "Four", " five")])],
});

interface Reading {
  /** How many events of the run can be read before the store fails. */
  readonly readable?: number;
  readonly startedRun?: boolean;
}

/** The chunks of a stream. */
async function getChunks(
  startingAfter: number,
  { readable = events.length, startedRun = false }: Reading = {},
): Promise<string[]> {
  async function* read(): AsyncGenerator<readonly RunEvent[], undefined> {
    for (const event of events.slice(0, readable)) yield [event];
    if (readable < events.length) throw new NetworkError("the database is unavailable");
    return undefined;
  }
  const { body } = streamResponse({
    run,
    events: read(),
    settings: getSettings(run),
    marks: undefined,
    keepAliveMs: 60_000,
    signal: new AbortController().signal,
    startedRun,
    onFailure: () => {},
    pads: false,
    startingAfter,
  });
  const chunks: string[] = [];
  for await (const chunk of body as AsyncIterable<Uint8Array>) chunks.push(Buffer.from(chunk).toString());
  return chunks;
}

/** The body of a stream. */
async function getBody(startingAfter: number, readable?: number): Promise<string> {
  return (await getChunks(startingAfter, readable === undefined ? {} : { readable })).join("");
}

describe("A stream that breaks off", () => {
  it.each(events.map((_, readable) => readable))(
    "loses nothing if it is resumed after the number of its error: after %i events of the run",
    async (readable) => {
      const whole = await getBody(-1);
      const broken = await getBody(-1, readable);
      const received = eventsIn(broken);
      const error = received.at(-1);
      const rest = eventsIn(await getBody(error?.sequence_number ?? -1));
      expect(error?.type).toBe("error");
      expect([...received.slice(0, -1), ...rest]).toEqual(eventsIn(whole));
    },
  );

  it("repeats the number that it was resumed after if it breaks off again before that event", async () => {
    expect(eventsIn(await getBody(7, 3))).toMatchObject([{ type: "error", sequence_number: 7 }]);
  });

  it("has no end marker", async () => {
    expect(await getBody(-1)).toContain("data: [DONE]");
    expect(await getBody(-1, 3)).not.toContain("[DONE]");
  });

  it("has an error in OpenAI's documented form and in the form that its API sends", async () => {
    const error = eventsIn(await getBody(-1, 3)).at(-1);
    const members = { code: "server_error", message: "the database is unavailable", param: null };
    expect(error).toEqual({
      type: "error",
      sequence_number: expect.any(Number),
      ...members,
      error: { type: "server_error", ...members },
    });
    expectValidEvent(error);
    expectValidOpenResponses("ErrorStreamingEvent", error);
  });
});

describe("A stream of a run that its request started", () => {
  it("has its last event and its end in one write", async () => {
    const chunks = await getChunks(-1, { startedRun: true });
    expect(chunks.at(-1)).toMatch(/^event: response\.completed\n.*\n\ndata: \[DONE\]\n\n$/);
    expect(chunks.join("")).toBe(await getBody(-1));
  });
});
