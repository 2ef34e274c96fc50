/** All readers of a run get the same events, after they were written, however fast or slow a reader is. */
import { functionTool, InternalError, NotFoundError, ServerError, userMessage } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { type RunEvent, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { RunEngine } from "../../src/runs/run-engine.ts";
import type { RunStore } from "../../src/runs/store.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { createTestEngine, getEvents, NEVER, replay, run, runRequest, start } from "./support/test-engine.ts";
import { WordyClient } from "./support/wordy-client.ts";
import { wrapStore } from "./support/wrapped-store.ts";

let open: RunEngine[] = [];

afterEach(async () => {
  await Promise.all(open.map((engine) => engine.close()));
  open = [];
});

async function getEngine(words: number, given?: RunStore) {
  const client = new WordyClient(words);
  const store = given ?? (await openMemory());
  const engine = new RunEngine({ client, store });
  open.push(engine);
  return { engine, client };
}

/** Reads slowly, and lets others continue between two batches. */
async function readSlowly(events: AsyncIterable<readonly RunEvent[]>): Promise<RunEvent[]> {
  const read: RunEvent[] = [];
  for await (const batch of events) {
    read.push(...batch);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return read;
}

describe("the events of a run", () => {
  it("are the same for the caller, for readers that start at any time, and for slow readers", async () => {
    const { engine } = await getEngine(2_000);
    const started = await start(engine, runRequest("hi", { background: true }));
    const { id } = started.run;
    const readers = [
      getEvents(started.events),
      replay(engine, id),
      readSlowly(engine.streamRun("", id, -1, NEVER)),
    ];
    for (let reader = 0; reader < 5; reader += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      readers.push(replay(engine, id));
    }
    const [first = [], ...others] = await Promise.all(readers);
    expect(first.length).toBeGreaterThan(2_000);
    expect(first.map(({ sequence }) => sequence)).toEqual(first.map((_, index) => index));
    for (const other of others) expect(other).toEqual(first);
  });

  it("can be resumed at any sequence number while the run is in progress", async () => {
    const { engine, client } = await getEngine(300);
    const parts: Promise<RunEvent[]>[] = [];
    const all: RunEvent[] = [];
    // The model stays close to the reader, so that there are many batches before its answer ends.
    client.beforeEvent = async () => {
      while (client.written > all.length + 8) await new Promise((resolve) => setImmediate(resolve));
    };
    const started = await start(engine, runRequest("hi"));
    const { id } = started.run;
    let batches = 0;
    for await (const batch of started.events) {
      all.push(...batch);
      batches += 1;
      if (batches % 4 === 0)
        parts.push(replay(engine, id, all.length - 1), replay(engine, id, all.length - 5));
    }
    expect(parts.length).toBeGreaterThan(10);
    for (const part of await Promise.all(parts)) expect(part).toEqual(all.slice(all.length - part.length));
  });

  it("are read from the store alone after the run, only for its owner", async () => {
    let reads = 0;
    const memory = await openMemory();
    const store = wrapStore(memory, {
      getRun: (owner, id) => {
        reads += 1;
        return memory.getRun(owner, id);
      },
    });
    const { engine } = await getEngine(300, store);
    const started = await start(engine, runRequest("hi"));
    const events = await getEvents(started.events);
    reads = 0;
    expect(await replay(engine, started.run.id)).toEqual(events);
    expect(reads).toBe(0);
    const last = events.length - 1;
    expect(await getEvents(engine.streamRun("", started.run.id, last, NEVER))).toEqual([]);
    for (const after of [-1, last])
      await expect(getEvents(engine.streamRun("other", started.run.id, after, NEVER))).rejects.toThrow(
        NotFoundError,
      );
  });

  it("are only for the owner of the run while it is in progress", async () => {
    const { engine } = await getEngine(300);
    const started = await start(engine, runRequest("hi"));
    for await (const _ of started.events) {
      await expect(replay(engine, started.run.id, -1, "other")).rejects.toThrow(NotFoundError);
      break;
    }
  });

  it("are written before they are published", async () => {
    const memory = await openMemory();
    let written = -1;
    const store = wrapStore(memory, {
      write: async (write) => {
        await new Promise((resolve) => setImmediate(resolve));
        const isClaimed = await memory.write(write);
        written = write.events?.at(-1)?.sequence ?? written;
        return isClaimed;
      },
    });
    const { engine } = await getEngine(50, store);
    const started = await start(engine, runRequest("hi"));
    for await (const batch of started.events) {
      const last = batch.at(-1);
      if (last !== undefined && last.sequence > 0) expect(written).toBeGreaterThanOrEqual(last.sequence);
      if (last?.event.case === "run" && last.event.value.status === RunStatus.COMPLETED)
        expect(await engine.getRun("", started.run.id)).toMatchObject({ ...last.event.value, steps: [{}] });
    }
  });

  it("travel in fewer writes than batches if a write is slow, and the last write has the messages too", async () => {
    const memory = await openMemory();
    const writes: (readonly [events: number, steps: number, messages: number])[] = [];
    const store = wrapStore(memory, {
      write: async (write) => {
        const { events = [], steps = [], messages = [] } = write;
        writes.push([events.length, steps.length, messages.length]);
        await new Promise((resolve) => setTimeout(resolve, 1));
        return memory.write(write);
      },
    });
    const { engine } = await getEngine(500, store);
    const { result } = await start(engine, runRequest("hi", { background: true }));
    await result();
    expect(writes.length).toBeLessThan(100);
    expect(writes.at(-1)?.slice(1)).toEqual([1, 1]);
    expect(writes.slice(0, -1).every(([, steps, messages]) => steps + messages === 0)).toBe(true);
  });

  it("can be read while the sidecar stops, also of a run that requires action", async () => {
    const { engine } = await createTestEngine([[{ name: "local" }]]);
    open.push(engine);
    const tools = [functionTool({ name: "local" })];
    const options = { request: { model: "m", messages: [userMessage("hi")], tools } };
    const waiting = await run(engine, runRequest("", { options }));
    await engine.drain();
    const events = await replay(engine, waiting.id);
    expect(events).toHaveLength(waiting.lastSequence + 1);
    expect(events.at(-1)?.event.value).toMatchObject({ status: RunStatus.REQUIRES_ACTION });
  });

  it("hold the model back if the caller of a foreground run does not read", async () => {
    const { engine, client } = await getEngine(1_000);
    const started = await start(engine, runRequest("hi"));
    const reader = started.events[Symbol.asyncIterator]();
    await reader.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    // As many as may wait for the first write, which takes long on a busy machine.
    expect(client.written).toBeLessThan(300);
    expect((await getEvents({ [Symbol.asyncIterator]: () => reader })).length).toBeGreaterThan(1_000);
  });
});

describe("a caller that stops reading", () => {
  const limits = { stallTimeoutMs: 100 };

  async function readOne(store: boolean) {
    const client = new WordyClient(300);
    const engine = new RunEngine({ client, store: await openMemory(), limits });
    open.push(engine);
    const started = await start(engine, runRequest("hi", { store }));
    const reader = started.events[Symbol.asyncIterator]();
    const { value: first = [] } = await reader.next();
    return {
      engine,
      client,
      started,
      first,
      rest: () => getEvents({ [Symbol.asyncIterator]: () => reader }),
    };
  }

  it("is dropped after the stall timeout, and the stored run continues and can be read", async () => {
    const { engine, started, first, rest } = await readOne(true);
    const { id } = started.run;
    const others = await replay(engine, id);
    expect(others.length).toBeGreaterThan(300);
    expect(await engine.getRun("", id)).toMatchObject({ status: RunStatus.COMPLETED });
    await expect(rest()).rejects.toMatchObject({
      kindName: "REQUEST_TIMEOUT",
      message: expect.stringContaining("the run continues without this reader"),
    });
    expect(await replay(engine, id, first.at(-1)?.sequence)).toEqual(others.slice(first.length));
    expect((await started.result()).status).toBe(RunStatus.COMPLETED);
  });

  it("ends a run that is not stored", async () => {
    const { client, started, rest } = await readOne(false);
    expect(await started.result()).toMatchObject({ status: RunStatus.CANCELLED });
    await expect(rest()).rejects.toThrow("the run was cancelled");
    expect(client.written).toBeLessThan(20);
  });

  it("is waited for as long as it reads now and then", async () => {
    const engine = new RunEngine({
      client: new WordyClient(8),
      store: await openMemory(),
      limits: { stallTimeoutMs: 400 },
    });
    open.push(engine);
    const started = await start(engine, runRequest("hi"));
    let batches = 0;
    for await (const batch of started.events) {
      batches += batch.length;
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    expect(batches).toBeGreaterThan(8);
  });
});

describe("a store that writes slowly", () => {
  it("lets a background run wait when 256 events are not written", async () => {
    const memory = await openMemory();
    const blocked = Promise.withResolvers<void>();
    let writes = 0;
    const store = wrapStore(memory, {
      write: async (write) => {
        writes += 1;
        // The first write says that the run is in progress.
        if (writes > 1) await blocked.promise;
        return memory.write(write);
      },
    });
    const { engine, client } = await getEngine(2_000, store);
    const started = await start(engine, runRequest("hi", { background: true }));
    await expect.poll(() => client.written).toBeGreaterThan(200);
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(client.written).toBeLessThan(300);
    blocked.resolve();
    expect(await started.result()).toMatchObject({ status: RunStatus.COMPLETED });
    expect(client.written).toBeGreaterThan(2_000);
  });

  it("gets a step and the events again that a failed write had", async () => {
    const memory = await openMemory();
    const lost: number[] = [];
    const store = wrapStore(memory, {
      write: async (write) => {
        const { steps = [], messages = [] } = write;
        if (steps.length > 0 && lost.length < 2) {
          lost.push(messages.length);
          throw new ServerError("the store cannot be reached");
        }
        return memory.write(write);
      },
    });
    const { engine } = await getEngine(3, store);
    const over = await (await start(engine, runRequest("hi"))).result();
    expect(lost).toEqual([1, 1]);
    expect(over).toMatchObject({ status: RunStatus.COMPLETED, steps: [{}] });
    expect(await engine.getRun("", over.id)).toEqual(over);
    const { elements } = await engine.threads.listMessages("", {
      threadId: over.threadId,
      after: "",
      limit: 10,
      order: "oldest first",
    });
    expect(elements).toHaveLength(2);
  });
});

describe("a store that fails", () => {
  /** A store whose writes fail at some times. */
  async function failing(fails: (write: number) => boolean) {
    const memory = await openMemory();
    let writes = 0;
    const store = wrapStore(memory, {
      write: async (write) => {
        writes += 1;
        if (fails(writes)) throw new ServerError("the store cannot be reached");
        return memory.write(write);
      },
    });
    return { memory, store };
  }

  it("makes the run fail, and no event is lost or sent twice", async () => {
    const { store } = await failing((write) => write === 5);
    const { engine, client } = await getEngine(500, store);
    const started = await start(engine, runRequest("hi"));
    const events = await getEvents(started.events);
    const failed = await started.result();
    expect(failed).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "the store cannot be reached" },
    });
    // The model is stopped, which may be 256 events ahead of a store that is slow.
    expect(client.written).toBeLessThan(300);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index));
    expect(await replay(engine, failed.id)).toEqual(events);
  });

  it("gives the caller its error if not even the end can be written", async () => {
    const { store, memory } = await failing((write) => write >= 20);
    const { engine } = await getEngine(500, store);
    const started = await start(engine, runRequest("hi"));
    const told: RunEvent[] = [];
    const read = async () => {
      for await (const batch of started.events) told.push(...batch);
    };
    await expect(read()).rejects.toThrow("the store cannot be reached");
    await expect(started.result()).rejects.toThrow("the store cannot be reached");
    expect(await memory.readEvents(started.run.id, -1, 1000)).toEqual(told);
    expect((await memory.getRun("", started.run.id))?.run.status).toBe(RunStatus.IN_PROGRESS);
  }, 20_000);

  it("refuses a run that it cannot create", async () => {
    const store = wrapStore(await openMemory(), {
      createRun: () => Promise.reject(new InternalError("no disk")),
    });
    const { engine } = await getEngine(1, store);
    await expect(start(engine, runRequest("hi"))).rejects.toThrow("no disk");
  });
});
