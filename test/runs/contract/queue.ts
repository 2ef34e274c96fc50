import { expect, it } from "vitest";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { StoreContext } from "../store-contract.ts";
import { createdRun, endedRun, endRun, finished, lease } from "./data.ts";

/** Deliveries of queued runs. */
export function queueTests(context: StoreContext): void {
  it("delivers each queued run once to one of several, those from before and those from later", async () => {
    const { store } = context;
    const before = [];
    for (let index = 0; index < 5; index += 1) before.push(await createdRun(store, { queued: true }));
    await createdRun(store);
    const delivered: string[] = [];
    const handle = async (runId: string) => {
      delivered.push(runId);
      await store.take(runId, lease);
    };
    const another = await context.openAnother?.();
    const stops = await Promise.all([
      store.deliverQueued(handle, 3),
      store.deliverQueued(handle, 3),
      ...(another === undefined ? [] : [another.deliverQueued(handle, 3)]),
    ]);
    const later = [];
    for (let index = 0; index < 20; index += 1) later.push(await createdRun(store, { queued: true }));
    const expected = [...before, ...later].map(({ id }) => id).sort();
    await expect.poll(() => delivered.length).toBe(expected.length);
    for (const stop of stops) await stop();
    expect([...delivered].sort()).toEqual(expected);
    await another?.close();
  });

  it("counts the queued runs of all owners", async () => {
    const { store } = context;
    expect(await store.countQueued()).toBe(0);
    const run = await createdRun(store, { queued: true });
    await createdRun(store, { queued: true, owner: "someone" });
    await createdRun(store);
    expect(await store.countQueued()).toBe(2);
    await store.take(run.id, lease);
    await endRun(store, run);
    expect(await store.countQueued()).toBe(1);
  });

  it("delivers a run that was put back into the queue", async () => {
    const { store } = context;
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    const delivered: string[] = [];
    const stop = await store.deliverQueued(async (runId) => {
      delivered.push(runId);
      await store.take(runId, lease);
    }, 2);
    await store.take(waiting.id, lease);
    const queued = { ...waiting, status: RunStatus.QUEUED };
    await store.write({ runId: waiting.id, lease, run: queued });
    await expect.poll(() => delivered).toEqual([waiting.id]);
    await stop();
  });

  it("delivers no more at a time than asked", async () => {
    const { store } = context;
    const runs = [];
    for (let index = 0; index < 12; index += 1) runs.push(await createdRun(store, { queued: true }));
    let underWay = 0;
    let most = 0;
    let handled = 0;
    const stop = await store.deliverQueued(async (runId) => {
      underWay += 1;
      most = Math.max(most, underWay);
      const taken = await store.take(runId, lease);
      await new Promise((resolve) => setTimeout(resolve, 5));
      if (taken !== undefined) await endRun(store, taken.run);
      underWay -= 1;
      handled += 1;
    }, 4);
    await expect.poll(() => handled).toBe(12);
    await stop();
    expect(most).toBe(4);
  });

  it("ends after the deliveries under way and delivers nothing more", async () => {
    const { store } = context;
    const run = await createdRun(store, { queued: true });
    let isOver = false;
    let deliveries = 0;
    const stop = await store.deliverQueued(async (runId) => {
      deliveries += 1;
      const taken = await store.take(runId, lease);
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (taken !== undefined) await endRun(store, taken.run);
      isOver = true;
    }, 1);
    await expect.poll(() => deliveries).toBe(1);
    await stop();
    expect(isOver).toBe(true);
    await createdRun(store, { queued: true });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(deliveries).toBe(1);
    expect((await store.getRun("owner", run.id))?.run.status).toBe(RunStatus.COMPLETED);
  });

  it("delivers a run again whose handling failed before it was taken", async () => {
    const { store } = context;
    const run = await createdRun(store, { queued: true });
    let deliveries = 0;
    const stop = await store.deliverQueued(async (runId) => {
      deliveries += 1;
      if (deliveries === 1) throw new Error("a failure of the test");
      await store.take(runId, lease);
    }, 1);
    await expect.poll(() => deliveries, { timeout: 30_000 }).toBe(2);
    await stop();
    expect(await store.take(run.id, lease)).toBeUndefined();
  }, 40_000);

  it("does not deliver a run that was cancelled or deleted in the queue", async () => {
    const { store } = context;
    const cancelled = await createdRun(store, { queued: true });
    const deleted = await createdRun(store, { queued: true });
    const kept = await createdRun(store, { queued: true });
    const taken = await store.take(cancelled.id, lease);
    const ended = finished(taken?.run ?? cancelled, RunStatus.CANCELLED);
    await store.write({ runId: cancelled.id, lease, run: { ...ended, lastSequence: 0 } });
    await store.deleteRun("owner", deleted.id);
    const taking: string[] = [];
    const stop = await store.deliverQueued(async (runId) => {
      if ((await store.take(runId, lease)) !== undefined) taking.push(runId);
    }, 2);
    await expect.poll(() => taking).toEqual([kept.id]);
    await stop();
  });
}
