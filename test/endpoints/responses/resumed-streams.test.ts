/** Streams of stored responses that are read again, from any event on. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { anyCaller } from "../../../src/core/caller.ts";
import { toResponseId } from "../../../src/endpoints/openai/ids.ts";
import type { ResponsesParts } from "../../../src/endpoints/responses/parts.ts";
import { ReplayCheckpoints } from "../../../src/endpoints/responses/replay-checkpoints.ts";
import { getSettings } from "../../../src/endpoints/responses/settings.ts";
import { deleteResponse } from "../../../src/endpoints/responses/stored-responses.ts";
import { streamResponse } from "../../../src/endpoints/responses/write-stream.ts";
import type { RunEvent } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { EndpointRequest } from "../../../src/http/endpoint.ts";
import type { RunEngine } from "../../../src/runs/run-engine.ts";
import { openMemory } from "../../runs/store/sqlite/open-store.ts";
import { wrapStore } from "../../runs/support/wrapped-store.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { eventsIn } from "../support/events-in.ts";
import { callEvents, textEvents } from "./support/model-events.ts";
import { createRunEvents, toRun } from "./support/run-events.ts";

const servers = useTestServers();

/** Counts the events of runs that are read of an engine. */
class ReadEvents {
  count = 0;

  readonly wrap = (engine: RunEngine): RunEngine => {
    const counted = (batches: AsyncIterable<readonly RunEvent[]>) => this.#counted(batches);
    return new Proxy(engine, {
      get(target, name: keyof RunEngine) {
        if (name !== "streamRun") {
          const member = target[name];
          return typeof member === "function" ? member.bind(target) : member;
        }
        return (...args: Parameters<RunEngine["streamRun"]>) => counted(target.streamRun(...args));
      },
    });
  };

  async *#counted(batches: AsyncIterable<readonly RunEvent[]>): AsyncGenerator<readonly RunEvent[]> {
    for await (const batch of batches) {
      this.count += batch.length;
      yield batch;
    }
  }
}

/** Creates a long response, and returns its id and the body of its stream. */
async function createLong({ fetch }: ApiServer): Promise<{ id: string; body: string }> {
  const request = { model: "openai/sim-long:tokens=6000,rate=1000000", input: "a", stream: true };
  const init = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  };
  const body = await (await fetch("/v1/responses", init)).text();
  const [first] = eventsIn(body) as unknown as { response: { id: string } }[];
  if (first === undefined) throw new Error("the stream has no events");
  return { id: first.response.id, body };
}

async function resume({ fetch }: ApiServer, id: string, startingAfter: number): Promise<string> {
  return (await fetch(`/v1/responses/${id}?stream=true&starting_after=${startingAfter}`)).text();
}

describe("A stored response", () => {
  it("is read with its steps only if the whole response is returned", async () => {
    const memory = await openMemory();
    let reads = 0;
    const store = wrapStore(memory, {
      readSteps: (runId) => {
        reads += 1;
        return memory.readSteps(runId);
      },
    });
    const { openai, fetch } = await startApi(servers, { store });
    const { id } = await openai.responses.create({ model: "openai/sim-text", input: "a" });
    reads = 0;
    for (const path of ["?stream=true", "/input_items"])
      expect((await (await fetch(`/v1/responses/${id}${path}`)).text()).length).toBeGreaterThan(0);
    expect(reads).toBe(0);
    expect((await openai.responses.retrieve(id)).output).toHaveLength(1);
    expect(reads).toBe(1);
  });
});

describe("A stream of a long response that is resumed", () => {
  it("has the same bytes, and reads only the events near the last one that the caller has", async () => {
    const read = new ReadEvents();
    const api = await startApi(servers, { wrapEngine: read.wrap });
    const { id, body } = await createLong(api);
    const each = body.split(/(?<=\n\n)/);
    expect(each.length).toBeGreaterThan(4000);
    for (const startingAfter of [-1, 0, 700, 2500, each.length - 600, each.length - 3]) {
      read.count = 0;
      expect(await resume(api, id, startingAfter)).toBe(each.slice(startingAfter + 1).join(""));
      expect(read.count).toBeLessThan(each.length - startingAfter + 2100);
    }
    expect(read.count).toBeLessThan(1100);
  });

  it("has the same bytes if only the stored data of the run is known", async () => {
    const api = await startApi(servers);
    const { id, body } = await createLong(api);
    const restarted = await startApi(servers, { wrapEngine: () => api.engine });
    const each = body.split(/(?<=\n\n)/);
    for (const startingAfter of [3000, 3000, 10])
      expect(await resume(restarted, id, startingAfter)).toBe(each.slice(startingAfter + 1).join(""));
  });

  it("lets other work run while it skips events", async () => {
    const run = toRun();
    const { events } = createRunEvents({
      created: run,
      calls: [callEvents(textEvents(0, "a", "b", "c", "d"))],
    });
    let turns = 0;
    const counter = setInterval(() => (turns += 1), 0);
    /** A store in this process that is busy for longer than the loop may be. */
    async function* read(): AsyncGenerator<readonly RunEvent[], undefined> {
      for (const event of events) {
        const end = performance.now() + 20;
        while (performance.now() < end);
        yield [event];
      }
      return undefined;
    }
    const { body } = streamResponse({
      run,
      events: read(),
      settings: getSettings(run),
      checkpoints: undefined,
      keepAliveMs: 60_000,
      signal: new AbortController().signal,
      startedRun: false,
      onFailure: () => {},
      pads: false,
      startingAfter: 1000,
    });
    for await (const _ of body as AsyncIterable<Uint8Array>);
    clearInterval(counter);
    expect(turns).toBeGreaterThanOrEqual(events.length - 1);
  });
});

it("A stream sends a keep-alive after 15 s of silence by default, when it is created and when it is resumed", async () => {
  const { fetch } = await startApi(servers);
  const timers = vi.spyOn(globalThis, "setInterval");
  onTestFinished(() => timers.mockRestore());
  const body = JSON.stringify({ model: "openai/sim-text", input: "a", stream: true });
  const headers = { "content-type": "application/json" };
  const text = await (await fetch("/v1/responses", { method: "POST", headers, body })).text();
  const silences = () => timers.mock.calls.filter(([, milliseconds]) => milliseconds === 15_000).length;
  expect(silences()).toBe(1);
  const [first] = eventsIn(text) as unknown as { response: { id: string } }[];
  await (await fetch(`/v1/responses/${first?.response.id}?stream=true`)).text();
  expect(silences()).toBe(2);
});

describe("The checkpoints of a run", () => {
  const run = toRun();
  const settings = getSettings(run);
  const deltas = Array.from({ length: 40_000 }, (_, index) => `${index} `);
  const { events } = createRunEvents({ created: run, calls: [callEvents(textEvents(0, ...deltas))] });

  /** Replays the run as a reader does. */
  async function replay(checkpoints: ReplayCheckpoints): Promise<void> {
    async function* read(): AsyncGenerator<readonly RunEvent[], undefined> {
      for (let at = 0; at < events.length; at += 256) yield events.slice(at, at + 256);
      return undefined;
    }
    const { body } = streamResponse({
      run,
      events: read(),
      settings,
      checkpoints: checkpoints.open(run, settings),
      keepAliveMs: 60_000,
      signal: new AbortController().signal,
      startedRun: false,
      onFailure: () => {},
      pads: false,
      startingAfter: Number.POSITIVE_INFINITY,
    });
    for await (const _ of body as AsyncIterable<Uint8Array>);
  }

  it("are close to each other near the end, and take bounded memory", async () => {
    const checkpoints = new ReplayCheckpoints();
    await replay(checkpoints);
    const found = new Set(
      deltas.flatMap((_, number) => checkpoints.open(run, settings).find(number)?.sequence ?? []),
    );
    expect(found.size).toBeLessThanOrEqual(32);
    const last = checkpoints.open(run, settings).find(40_000);
    // A replay from a checkpoint has the event of its number.
    const number = last?.writer.nextNumber ?? 0;
    expect(checkpoints.open(run, settings).find(number - 1)).toBe(last);
    expect(checkpoints.open(run, settings).find(number - 2)?.sequence).toBeLessThan(last?.sequence ?? 0);
    expect(Math.max(...found)).toBeGreaterThan(events.length - 1100);
    expect(checkpoints.bytes).toBeLessThanOrEqual(4 * 1024 * 1024);
  });

  it("are as far apart as they may be, however many readers come by", async () => {
    const others = new ReplayCheckpoints();
    await replay(others);
    const { writer } = others.open(run, settings).find(40_000) ?? {};
    if (writer === undefined) throw new Error("there is no mark");
    const checkpoints = new ReplayCheckpoints();
    const [first, second] = [checkpoints.open(run, settings), checkpoints.open(run, settings)];
    const note = (reader: typeof first, sequence: number) => {
      reader.record(writer, events.slice(sequence, sequence + 1));
      return checkpoints.bytes > 0 ? checkpoints.bytes / (writer.units * 2) : 0;
    };
    expect([note(first, 511), note(first, 512), note(first, 1023)]).toEqual([0, 1, 1]);
    expect([note(second, 1023), note(second, 1024), note(first, 1535), note(first, 1536)]).toEqual([
      1, 2, 2, 3,
    ]);
  });

  it("belong to the runs that were read last, and never to a deleted run", async () => {
    const checkpoints = new ReplayCheckpoints(6 * 1024 * 1024);
    await replay(checkpoints);
    const size = checkpoints.bytes;
    const ids = Array.from({ length: 8 }, (_, index) => `run_${String(index).padStart(32, "0")}`);
    const mark = checkpoints.open(run, settings).find(40_000);
    for (const id of ids) {
      const other = checkpoints.open(toRun({ id }), settings);
      if (mark !== undefined) other.record(mark.writer, events.slice(-1));
    }
    expect(checkpoints.bytes).toBeLessThanOrEqual(6 * 1024 * 1024);
    expect(size).toBeGreaterThan(0);
    const last = toRun({ id: ids.at(-1) ?? "" });
    expect(checkpoints.open(last, settings).find(40_000)).toBeDefined();
    const parts = { engine: { deleteRun: async () => {} }, checkpoints } as unknown as ResponsesParts;
    const request = { caller: anyCaller } as EndpointRequest;
    await deleteResponse(request, parts, toResponseId(last.id));
    expect(checkpoints.open(last, settings).find(40_000)).toBeUndefined();
  });
});
