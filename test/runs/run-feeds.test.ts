/** Tests of the reading of runs that other processes execute, over a store that they play. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { InternalError } from "../../src/core/errors.ts";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import type { HubReader } from "../../src/runs/event-hub.ts";
import { RunFeeds } from "../../src/runs/event-hub.ts";
import { createRunEvent } from "../../src/runs/run-log.ts";
import type { RunNotice, RunStore } from "../../src/runs/store.ts";

afterEach(() => void vi.useRealTimers());

const RUN = { owner: "", runId: "run_1" };

/** A store with one run, whose events are given out. */
function createStore(events: number, status: RunStatus | undefined = RunStatus.IN_PROGRESS) {
  const state = {
    events,
    status: status as RunStatus | undefined,
    reads: [] as (readonly [number, number])[],
    looks: 0,
    failure: undefined as Error | undefined,
    listeners: new Set<(notice: RunNotice) => void>(),
    notify: () => {
      for (const listener of state.listeners) listener("change");
    },
  };
  const store = {
    getRun: async () => {
      state.looks += 1;
      if (state.failure !== undefined) throw state.failure;
      const run = { lastSequence: state.events - 1, status: state.status };
      return state.status === undefined ? undefined : { run };
    },
    readEvents: async (_id: string, after: number, max: number) => {
      state.reads.push([after, max]);
      const count = Math.min(max, state.events - after - 1);
      return Array.from({ length: count }, (_, index) =>
        createRunEvent(after + 1 + index, 1, { case: undefined }),
      );
    },
    subscribe: (_id: string, listener: (notice: RunNotice) => void) => {
      state.listeners.add(listener);
      return () => state.listeners.delete(listener);
    },
  };
  return { state, store: store as unknown as RunStore };
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe("the feed of a run", () => {
  it("is one for all its readers, and ends with the last of them", async () => {
    const { state, store } = createStore(3);
    const feeds = new RunFeeds();
    const [first, second] = [feeds.join(store, RUN, -1), feeds.join(store, RUN, -1)];
    expect(second).toBe(first);
    await settle();
    expect([state.listeners.size, state.looks]).toEqual([1, 1]);
    expect(first.hub.eventsAfter(-1)).toHaveLength(3);
    feeds.leave(first);
    state.events = 4;
    state.notify();
    await settle();
    expect(first.hub.last).toBe(3);
    feeds.leave(second);
    expect(state.listeners.size).toBe(0);
    const again = feeds.join(store, RUN, 3);
    expect(again).not.toBe(first);
    feeds.leave(again);
    const other = feeds.join(store, { ...RUN, runId: "run_2" }, -1);
    const run = feeds.join(store, RUN, -1);
    expect(other).not.toBe(run);
    feeds.leave(other);
    feeds.leave(run);
  });

  it("waits for the next notice if an event that the run has cannot be read", async () => {
    const { state, store } = createStore(3);
    store.readEvents = async () => {
      state.reads.push([-1, 256]);
      return [];
    };
    const feeds = new RunFeeds();
    const feed = feeds.join(store, RUN, -1);
    await settle();
    expect(state.reads).toHaveLength(1);
    state.notify();
    await settle();
    expect(state.reads).toHaveLength(2);
    feeds.leave(feed);
  });

  it("publishes new events in pages of 256, from the first that its reader lacks", async () => {
    const { state, store } = createStore(600);
    const feeds = new RunFeeds();
    const feed = feeds.join(store, RUN, 9);
    await settle();
    expect(state.reads).toEqual([
      [9, 256],
      [265, 256],
      [521, 256],
    ]);
    expect(feed.hub.last).toBe(599);
    state.events = 601;
    state.notify();
    await settle();
    expect(state.reads.slice(3)).toEqual([[599, 256]]);
    feeds.leave(feed);
  });

  it.each([[RunStatus.COMPLETED], [RunStatus.REQUIRES_ACTION], [undefined]])(
    "ends when the run is no longer in progress (%s)",
    async (status) => {
      const { state, store } = createStore(2, status);
      if (status === undefined) state.status = undefined;
      const feed = new RunFeeds().join(store, RUN, -1);
      await settle();
      expect(feed.hub.end).toEqual({ case: "over" });
      expect(feed.hub.last).toBe(status === undefined ? -1 : 1);
      expect(state.listeners.size).toBe(0);
    },
  );

  it("is replaced by another one after its end", async () => {
    const { state, store } = createStore(2, RunStatus.REQUIRES_ACTION);
    const feeds = new RunFeeds();
    const ended = feeds.join(store, RUN, -1);
    await settle();
    state.status = RunStatus.IN_PROGRESS;
    const next = feeds.join(store, RUN, 1);
    expect(next).not.toBe(ended);
    feeds.leave(ended);
    expect(feeds.join(store, RUN, 1)).toBe(next);
    feeds.leave(next);
    feeds.leave(next);
  });

  it("fails with the store", async () => {
    const { state, store } = createStore(2);
    state.failure = new InternalError("unreadable");
    const feed = new RunFeeds().join(store, RUN, -1);
    await settle();
    expect(feed.hub.end).toMatchObject({ case: "failed", error: { message: "unreadable" } });
    expect(state.listeners.size).toBe(0);
  });

  it("stops reading when its readers have left, and waits for nothing", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { state, store } = createStore(2);
    const feeds = new RunFeeds();
    const feed = feeds.join(store, RUN, -1);
    await settle();
    expect(vi.getTimerCount()).toBe(1);
    feeds.leave(feed);
    await settle();
    expect(vi.getTimerCount()).toBe(0);
    expect(state.looks).toBe(1);
    const many = createStore(600);
    const early = feeds.join(many.store, RUN, -1);
    feeds.leave(early);
    await settle();
    expect(many.state.reads.length).toBeLessThanOrEqual(1);
  });

  it("reads again at once if a notice arrived during a read, and once for many notices", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { state, store } = createStore(2);
    const feeds = new RunFeeds();
    const feed = feeds.join(store, RUN, -1);
    for (let notice = 0; notice < 3; notice += 1) state.notify();
    await settle();
    expect(state.looks).toBe(2);
    for (let notice = 0; notice < 3; notice += 1) state.notify();
    await settle();
    expect(state.looks).toBe(3);
    feeds.leave(feed);
  });
});

describe("feeds that are closed", () => {
  it("end their readers, and accept no more", async () => {
    const { store } = createStore(2);
    const feeds = new RunFeeds();
    const feed = feeds.join(store, RUN, -1);
    await settle();
    const woken: string[] = [];
    const reader: HubReader = { cursor: 1, wake: () => void woken.push("wake"), fail: () => {} };
    feed.hub.wait(reader);
    const error = new InternalError("closing");
    feeds.close(error);
    expect(feed.hub.end).toEqual({ case: "failed", error });
    expect(woken).toEqual(["wake"]);
    expect(() => feeds.join(store, RUN, -1)).toThrow(error);
    feeds.leave(feed);
  });
});
