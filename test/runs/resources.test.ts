/** An engine and its store keep no process alive, and leave nothing behind. */
import { getEventListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { StoreUnreachableError } from "../../src/runs/errors.ts";
import { openWhenReachable } from "../../src/runs/lazy-engine.ts";
import { endedRun } from "./contract/data.ts";
import { openFile, openMemory } from "./store/sqlite/open-store.ts";
import { createTestEngine, run, runRequest, start, untilAborted } from "./support/test-engine.ts";
import { wrapStore } from "./support/wrapped-store.ts";

/** Returns a function that counts the timers since then that keep this process alive. */
function watchTimers(): () => number {
  const spies = [vi.spyOn(globalThis, "setTimeout"), vi.spyOn(globalThis, "setInterval")];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return () => {
    const timers = spies.flatMap((spy) => spy.mock.results.map(({ value }) => value as NodeJS.Timeout));
    return timers.filter((timer) => timer.hasRef()).length;
  };
}

it("An engine that is idle keeps no process alive", async () => {
  const countTimers = watchTimers();
  const { engine } = await createTestEngine(["hello"]);
  await run(engine, runRequest("hi"));
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
  expect(countTimers()).toBe(0);
  await engine.close();
});

it("A store that gives space back keeps no process alive", async () => {
  const countTimers = watchTimers();
  const store = await openFile();
  const { id } = await endedRun(store);
  await store.deleteRun("owner", id);
  expect(countTimers()).toBe(0);
  await store.close();
});

it("A store that waits for its database keeps no process alive", async () => {
  const countTimers = watchTimers();
  const open = () => Promise.reject(new StoreUnreachableError("away"));
  const store = await openWhenReachable(open, () => {});
  expect(countTimers()).toBe(0);
  await store.close();
});

it("A run leaves no listener on the signals of its callers and readers", async () => {
  const { engine, model } = await createTestEngine(["hello"]);
  const caller = new AbortController();
  const { signal } = caller;
  const options = { owner: "", signal };
  for (const background of [true, false]) {
    const started = await engine.createRun({ request: runRequest("hi", { background }) }, options);
    expect(await started.result()).toMatchObject({ status: RunStatus.COMPLETED });
    const reader = engine.streamRun("", started.run.id, -1, signal)[Symbol.asyncIterator]();
    await reader.next();
    await reader.return?.();
  }
  model.beforeAnswer = untilAborted;
  const { run: busy } = await start(engine, runRequest("hi", { background: true }));
  const reader = engine.streamRun("", busy.id, -1, signal)[Symbol.asyncIterator]();
  await reader.next();
  await reader.return?.();
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await engine.cancelRun("", busy.id);
  await engine.close();
});

it("A run that has waited for its turn leaves no listener on the signal of its caller", async () => {
  const { engine, model } = await createTestEngine(["one", "two"]);
  const { id: threadId } = await engine.threads.createThread("", { metadata: {}, messages: [] });
  const answered = Promise.withResolvers<void>();
  model.beforeAnswer = () => answered.promise;
  const first = await start(engine, runRequest("hi", { threadId }));
  const { signal } = new AbortController();
  const second = engine.createRun({ request: runRequest("and", { threadId }) }, { owner: "", signal });
  await vi.waitFor(() => expect(getEventListeners(signal, "abort")).not.toEqual([]));
  answered.resolve();
  await first.result();
  expect(await (await second).result()).toMatchObject({ status: RunStatus.COMPLETED });
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await engine.close();
});

it("A run that is over listens to no notices of its store", async () => {
  const listeners = new Set<string>();
  const store = await openMemory();
  const watched = wrapStore(store, {
    subscribe: (runId, listener) => {
      const unsubscribe = store.subscribe(runId, listener);
      listeners.add(runId);
      return () => {
        listeners.delete(runId);
        unsubscribe();
      };
    },
  });
  const { engine, model } = await createTestEngine(["hello"], { store: watched });
  model.beforeAnswer = async () => expect(listeners.size).toBe(1);
  await run(engine, runRequest("hi"));
  expect(listeners.size).toBe(0);
  await engine.close();
});
