/** Streams that break off before their response ends, since the events of the run can no longer be read. */
import { describe, expect, it } from "vitest";
import { NetworkError } from "../../../src/core/errors.ts";
import { getSettings } from "../../../src/endpoints/responses/settings.ts";
import {
  acceptedStreamResponse,
  type StreamSource,
  streamResponse,
} from "../../../src/endpoints/responses/write-stream.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { type RunEvent, RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { EndpointResponse } from "../../../src/http/endpoint.ts";
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
    checkpoints: undefined,
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

describe("An interrupted stream", () => {
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

describe("The reading of a run's events", () => {
  const failure = { kind: ErrorKind.SERVER, message: "down" };
  const failed = createRunEvents({
    created: run,
    calls: [],
    end: { status: RunStatus.FAILED, error: failure },
  });

  /** A source of batches that is noted when it is closed. */
  function createSource(batches: readonly (readonly RunEvent[])[], changes: Partial<StreamSource> = {}) {
    const seen: string[] = [];
    async function* read(): AsyncGenerator<readonly RunEvent[], undefined> {
      try {
        yield* batches;
        throw new NetworkError("the database is unavailable");
      } finally {
        seen.push("closed");
      }
    }
    const source: StreamSource = {
      run,
      events: read(),
      settings: getSettings(run),
      checkpoints: undefined,
      keepAliveMs: 60_000,
      signal: new AbortController().signal,
      startedRun: true,
      onFailure: ({ kindName }) => void seen.push(kindName),
      pads: false,
      startingAfter: -1,
      ...changes,
    };
    return { seen, source };
  }

  const getReader = ({ body }: EndpointResponse) =>
    (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();

  it("ends when the caller leaves", async () => {
    const { seen, source } = createSource(events.map((event) => [event]));
    const reader = getReader(streamResponse(source));
    await reader.next();
    await reader.return?.();
    expect(seen).toEqual(["closed"]);
  });

  it("ends when the run fails before the provider has accepted it", async () => {
    const { seen, source } = createSource([...failed.events.map((event) => [event]), []]);
    await expect(acceptedStreamResponse(source)).rejects.toThrow("down");
    expect(seen).toEqual(["closed"]);
  });

  it("fails the request by a failure of the run only if the request started it", async () => {
    for (const startedRun of [true, false]) {
      const { seen, source } = createSource([failed.events], { startedRun });
      const reader = getReader(streamResponse(source));
      while ((await reader.next()).done !== true);
      expect(seen).toEqual(startedRun ? ["closed", "SERVER"] : ["closed"]);
    }
  });

  it("is not a failure if the caller has left", async () => {
    const { seen, source } = createSource([], { signal: AbortSignal.abort() });
    await expect(getReader(streamResponse(source)).next()).rejects.toThrow("the database is unavailable");
    expect(seen).toEqual(["closed"]);
  });
});
