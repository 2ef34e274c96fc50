/** Tests of one reader of a run, over a hub and a store that they play. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InternalError } from "../../src/core/errors.ts";
import { type RunEvent, RunSchema, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { EventHub, RunFeeds } from "../../src/runs/event-hub.ts";
import { createRunEvent, createStatusEvent } from "../../src/runs/run-log.ts";
import { type ReaderOptions, RunReader } from "../../src/runs/run-reader.ts";
import type { RunNotice, RunStore } from "../../src/runs/store.ts";

const RUN = create(RunSchema, { id: "run_1", status: RunStatus.IN_PROGRESS });

const eventsFrom = (first: number, count: number): RunEvent[] =>
  Array.from({ length: count }, (_, index) => createRunEvent(first + index, 1, { case: undefined }));

interface Setup {
  /** Stored events. */
  readonly stored?: readonly RunEvent[];
  readonly status?: RunStatus | undefined;
  readonly hub?: EventHub;
  readonly after?: number;
  readonly options?: ReaderOptions;
}

function open({ stored = [], hub, after = -1, options = {}, ...rest }: Setup = {}) {
  const state = {
    stored: [...stored],
    status: "status" in rest ? rest.status : RunStatus.IN_PROGRESS,
    reads: 0,
    failure: undefined as Error | undefined,
    subscriptions: new Set<(notice: RunNotice) => void>(),
    hub,
  };
  const store = {
    getRun: async () =>
      state.status === undefined
        ? undefined
        : { run: { status: state.status, lastSequence: state.stored.at(-1)?.sequence ?? -1 } },
    readEvents: async (_id: string, from: number, max: number) => {
      state.reads += 1;
      if (state.failure !== undefined) throw state.failure;
      return state.stored.filter(({ sequence }) => sequence > from).slice(0, max);
    },
    subscribe: (_id: string, listener: (notice: RunNotice) => void) => {
      state.subscriptions.add(listener);
      return () => state.subscriptions.delete(listener);
    },
  };
  const ended = Promise.resolve();
  const parts = {
    store: store as unknown as RunStore,
    feeds: new RunFeeds(),
    live: { get: () => state.hub && { owner: "", hub: state.hub, ended } },
  };
  return { reader: new RunReader(parts, { owner: "", runId: "run_1", after }, options), state, parts };
}

const getSequences = ({ value }: IteratorResult<readonly RunEvent[], undefined>) =>
  value?.map(({ sequence }) => sequence);

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

const DONE = { done: true, value: undefined };

describe("a reader of a run in this process", () => {
  it("gets the events of the hub as they come, and ends with it", async () => {
    const hub = new EventHub(0);
    hub.publish(eventsFrom(0, 2));
    const { reader, state } = open({ hub });
    expect([reader.cursor, reader.hasBegun]).toEqual([-1, false]);
    expect(getSequences(await reader.next())).toEqual([0, 1]);
    expect([reader.cursor, reader.hasBegun]).toEqual([1, true]);
    const next = reader.next();
    await settle();
    hub.publish(eventsFrom(2, 1));
    expect(getSequences(await next)).toEqual([2]);
    const end = reader.next();
    hub.close({ case: "over" });
    expect(await end).toEqual(DONE);
    expect(await reader.next()).toEqual(DONE);
    expect(state.reads).toBe(0);
  });

  it("gets nothing from the hub of another owner's run", async () => {
    const hub = new EventHub(0);
    hub.publish(eventsFrom(0, 1));
    const { parts } = open({ hub, status: undefined });
    const reader = new RunReader(parts, { owner: "other", runId: "run_1", after: -1 });
    expect(await reader.next()).toEqual(DONE);
  });

  it("fails once with the hub, then ends", async () => {
    const hub = new EventHub(0);
    const { reader } = open({ hub });
    const next = reader.next();
    hub.close({ case: "failed", error: new InternalError("broken") });
    await expect(next).rejects.toThrow("broken");
    expect(await reader.next()).toEqual(DONE);
  });

  it("reads from the store what the hub no longer has, and then from the hub", async () => {
    const hub = new EventHub(3);
    hub.publish(eventsFrom(3, 2));
    const { reader, state } = open({ hub, stored: eventsFrom(0, 3) });
    expect(getSequences(await reader.next())).toEqual([0, 1, 2]);
    expect(getSequences(await reader.next())).toEqual([3, 4]);
    expect(state.reads).toBe(1);
  });

  it("continues in the store if the run continues elsewhere", async () => {
    const hub = new EventHub(0);
    hub.publish(eventsFrom(0, 1));
    const { reader, state } = open({ hub, stored: eventsFrom(0, 1) });
    await reader.next();
    const next = reader.next();
    hub.close({ case: "elsewhere" });
    await settle();
    expect(state.subscriptions.size).toBe(1);
    state.stored = [...eventsFrom(0, 2), createStatusEvent(2, { ...RUN, status: RunStatus.COMPLETED })];
    state.status = RunStatus.COMPLETED;
    await reader.return();
    expect(await next).toEqual(DONE);
    expect(state.subscriptions.size).toBe(0);
  });

  it("is ended with an error, while it waits and at its next read", async () => {
    const hub = new EventHub(0);
    const { reader } = open({ hub });
    const next = reader.next();
    reader.fail(new InternalError("stalled"));
    expect(await next).toEqual(DONE);
    await expect(reader.next()).rejects.toThrow("stalled");
    expect(await reader.next()).toEqual(DONE);
    reader.fail(new InternalError("again"));
    expect(await reader.next()).toEqual(DONE);
    expect(hub.pace).toBeUndefined();
  });

  it("tells the hub what it has read, so that the run continues", async () => {
    const hub = new EventHub(0);
    const { reader } = open({ hub });
    hub.setCaller(reader);
    hub.publish(eventsFrom(0, 1));
    const { pace } = hub;
    let isResumed = false;
    void pace?.then(() => {
      isResumed = true;
    });
    await settle();
    expect(isResumed).toBe(false);
    await reader.next();
    await settle();
    expect(isResumed).toBe(true);
  });
});

describe("a reader of the store", () => {
  const over = createStatusEvent(300, { ...RUN, status: RunStatus.COMPLETED });

  it("reads pages of 256 events, and ends with the last event of the run", async () => {
    const { reader, state } = open({ stored: [...eventsFrom(0, 300), over], status: RunStatus.COMPLETED });
    expect(getSequences(await reader.next())).toHaveLength(256);
    expect(getSequences(await reader.next())?.at(-1)).toBe(300);
    expect(await reader.next()).toEqual(DONE);
    expect(state.reads).toBe(2);
  });

  it("continues after a status with which the run is not over", async () => {
    const stored = [createStatusEvent(0, RUN)];
    const { reader, state } = open({ stored, status: RunStatus.REQUIRES_ACTION });
    expect(getSequences(await reader.next())).toEqual([0]);
    expect(await reader.next()).toEqual(DONE);
    expect(state.reads).toBe(1);
  });

  it("joins the other readers after a page that is not full, though there are new events by then", async () => {
    const { reader, state, parts } = open({ stored: eventsFrom(0, 2) });
    const other = new RunReader(parts, { owner: "", runId: "run_1", after: -1 });
    expect(getSequences(await reader.next())).toEqual([0, 1]);
    expect(getSequences(await other.next())).toEqual([0, 1]);
    state.stored.push(...eventsFrom(2, 1));
    expect(state.subscriptions.size).toBe(1);
    for (const notify of state.subscriptions) notify("change");
    expect(getSequences(await reader.next())).toEqual([2]);
    expect(getSequences(await other.next())).toEqual([2]);
    expect(state.reads).toBe(3);
    await reader.return();
    await other.return();
    expect(state.subscriptions.size).toBe(0);
  });

  it("ends at once behind the last event of a run that is over", async () => {
    const stored = eventsFrom(0, 3);
    const { reader, state } = open({ stored, status: RunStatus.COMPLETED, after: 2 });
    expect(await reader.next()).toEqual(DONE);
    expect(state.subscriptions.size).toBe(0);
  });

  it("gets the events with which the run ended while they were read", async () => {
    const { reader, state, parts } = open({
      stored: eventsFrom(0, 1),
      status: RunStatus.COMPLETED,
      after: 0,
    });
    const { getRun } = parts.store;
    parts.store.getRun = async (...place) => {
      if (state.stored.length === 1) state.stored.push(...eventsFrom(1, 1));
      return getRun(...place);
    };
    expect(getSequences(await reader.next())).toEqual([1]);
    await reader.return();
  });

  it("fails if the run has to exist and the owner has none", async () => {
    const { reader } = open({ status: undefined, options: { mustExist: true } });
    await expect(reader.next()).rejects.toMatchObject({
      kindName: "NOT_FOUND",
      message: expect.stringContaining("run_1"),
    });
    expect(await reader.next()).toEqual(DONE);
    expect(await open({ status: undefined }).reader.next()).toEqual(DONE);
  });

  it("ends if the run is deleted", async () => {
    const { reader, state } = open({ status: undefined });
    expect(await reader.next()).toEqual(DONE);
    expect(state.subscriptions.size).toBe(0);
  });

  it("ends if the run that has to exist is deleted while it is read", async () => {
    const { reader, state } = open({ stored: eventsFrom(0, 256), options: { mustExist: true } });
    expect(getSequences(await reader.next())).toHaveLength(256);
    [state.stored, state.status] = [[], undefined];
    expect(await reader.next()).toEqual(DONE);
  });

  it("fails with the store, and is over then", async () => {
    const ends: string[] = [];
    const { reader, state } = open({ options: { onEnd: () => void ends.push("end") } });
    state.failure = new InternalError("unreadable");
    await expect(reader.next()).rejects.toThrow("unreadable");
    expect(await reader.next()).toEqual(DONE);
    expect(ends).toEqual(["end"]);
  });

  it("finds a hub that was opened meanwhile, unless it is behind it", async () => {
    const { reader, state } = open({ stored: eventsFrom(0, 256) });
    await reader.next();
    state.hub = new EventHub(256);
    const next = reader.next();
    await settle();
    expect(state.subscriptions.size).toBe(0);
    state.hub.publish(eventsFrom(256, 1));
    expect(getSequences(await next)).toEqual([256]);
    const late = open({ stored: [] });
    late.state.hub = new EventHub(5);
    const waiting = late.reader.next();
    await settle();
    expect(late.state.subscriptions.size).toBe(1);
    await late.reader.return();
    expect(await waiting).toEqual(DONE);
  });

  it("reads in a later turn, and then follows the hub of a run that this process began meanwhile", async () => {
    const queued = createStatusEvent(0, { ...RUN, status: RunStatus.QUEUED });
    const { reader, state } = open({ stored: [queued], status: RunStatus.QUEUED });
    const first = reader.next();
    // The end of this turn: promises that could be settled in it are settled.
    await new Promise(process.nextTick);
    const hub = new EventHub(1);
    state.hub = hub;
    expect(getSequences(await first)).toEqual([0]);
    expect(state.subscriptions.size).toBe(0);
    const next = reader.next();
    hub.publish(eventsFrom(1, 1));
    // The run is deleted at once.
    [state.stored, state.status] = [[], undefined];
    hub.close({ case: "over" });
    expect(getSequences(await next)).toEqual([1]);
    expect(await reader.next()).toEqual(DONE);
  });

  it("joins a feed if the hub says that the run continues elsewhere", async () => {
    const { reader, state } = open();
    state.hub = new EventHub(0);
    state.hub.close({ case: "elsewhere" });
    const next = reader.next();
    await settle();
    expect(state.subscriptions.size).toBe(1);
    await reader.return();
    expect(await next).toEqual(DONE);
    expect(state.subscriptions.size).toBe(0);
  });
});

describe("the beginning and the end of a reader", () => {
  function watch(signal?: AbortSignal) {
    const calls: string[] = [];
    const options = {
      signal,
      onBegin: () => void calls.push("begin"),
      onEnd: () => void calls.push("end"),
      onLeave: async () => void calls.push("leave"),
    };
    return { calls, ...open({ hub: new EventHub(0), options }) };
  }

  it("are reported once", async () => {
    const { reader, calls, state } = watch();
    expect(calls).toEqual([]);
    state.hub?.publish(eventsFrom(0, 2));
    await reader.next();
    void reader.next();
    expect(calls).toEqual(["begin"]);
    expect(await reader.return()).toEqual(DONE);
    expect(await reader.return()).toEqual(DONE);
    expect(calls).toEqual(["begin", "end", "leave"]);
  });

  it("are notified of a reader that leaves before it reads, which has no end", async () => {
    const { reader, calls } = watch();
    await reader.return();
    expect(calls).toEqual(["leave"]);
  });

  it("do not count as leaving if it has read everything", async () => {
    const { reader, calls, state } = watch();
    state.hub?.close({ case: "over" });
    expect(await reader.next()).toEqual(DONE);
    await reader.return();
    expect(calls).toEqual(["begin", "end"]);
  });

  it("come with the signal, also one that was aborted before", async () => {
    const stop = new AbortController();
    const { reader, calls } = watch(stop.signal);
    const next = reader.next();
    stop.abort();
    expect(await next).toEqual(DONE);
    expect(calls).toEqual(["begin", "end"]);
    const late = watch(stop.signal);
    late.state.hub?.publish(eventsFrom(0, 1));
    expect(await late.reader.next()).toEqual(DONE);
    expect(late.calls).toEqual(["begin", "end"]);
  });

  it("may be refused", async () => {
    const ends: string[] = [];
    const { reader } = open({
      options: {
        onBegin: () => {
          throw new InternalError("no place");
        },
        onEnd: () => void ends.push("end"),
      },
    });
    await expect(reader.next()).rejects.toThrow("no place");
    expect(await reader.next()).toEqual(DONE);
    expect(ends).toEqual([]);
  });
});
