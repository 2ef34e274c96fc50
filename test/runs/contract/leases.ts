import { expect, it } from "vitest";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { StoreContext } from "../store-contract.ts";
import {
  createdRun,
  creation,
  endedRun,
  endRun,
  finished,
  historyOf,
  lease,
  leasesRunOut,
  message,
  otherLease,
  runEvent,
  shortLease,
  step,
  textEvent,
  threadTexts,
} from "./data.ts";

/** Who may change a run. */
export function leaseTests(context: StoreContext): void {
  it("lets one process take a queued run", async () => {
    const { store } = context;
    const toCreate = creation({ queued: true });
    await store.createRun(toCreate);
    const { id } = toCreate.run;
    const [first, second] = await Promise.all([store.take(id, lease), store.take(id, otherLease)]);
    const taken = [first, second].filter((run) => run !== undefined);
    expect(taken).toEqual([{ run: toCreate.run, owner: "owner", request: toCreate.request }]);
    expect((await store.getRun("owner", id))?.run.status).toBe(RunStatus.QUEUED);
    expect(await store.take(id, lease)).toBeUndefined();
  });

  it("takes no run that is in progress or over", async () => {
    const { store } = context;
    const running = await createdRun(store);
    const over = await endedRun(store);
    expect(await store.take(running.id, otherLease)).toBeUndefined();
    expect(await store.take(over.id, otherLease)).toBeUndefined();
  });

  it("takes a run again whose lease ran out before it was in progress", async () => {
    const { store } = context;
    const queued = await createdRun(store, { queued: true });
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    for (const run of [queued, waiting]) {
      expect(await store.take(run.id, shortLease)).toBeDefined();
      await leasesRunOut();
      expect((await store.take(run.id, otherLease))?.run).toEqual(run);
      expect(await store.write({ runId: run.id, lease, events: [textEvent(1, "x")] })).toBe(false);
    }
  });

  it("writes while no other process has taken the run, even after the lease has expired", async () => {
    const { store } = context;
    const run = await createdRun(store, { lease: shortLease });
    await leasesRunOut();
    expect(await store.write({ runId: run.id, lease, events: [textEvent(1, "x")] })).toBe(true);
    expect(await store.takeAbandoned(otherLease, 10)).toEqual([]);
  });

  it("gives an abandoned run to one process, and nothing is written by the one that lost it", async () => {
    const { store } = context;
    const toCreate = creation({ lease: shortLease });
    await store.createRun(toCreate);
    const run = toCreate.run;
    await store.createRun(creation());
    await leasesRunOut();
    const third = { holder: "process-3", durationMs: 60_000 };
    const taken = await Promise.all([store.takeAbandoned(otherLease, 10), store.takeAbandoned(third, 10)]);
    expect(taken.flat()).toEqual([{ run, owner: "owner", request: toCreate.request }]);
    const failed = finished(run, RunStatus.FAILED);
    const late = { runId: run.id, lease, run: failed, events: [runEvent(1, failed)] };
    expect(await store.write({ ...late, steps: [step("late")], messages: [message("late")] })).toBe(false);
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    expect(await store.readSteps(run.id)).toEqual([]);
    expect(await threadTexts(store, run.threadId)).toEqual(["hello"]);
    const holder = taken[0]?.length === 1 ? otherLease : third;
    expect(await store.write({ ...late, lease: holder })).toBe(true);
    expect((await store.getRun("owner", run.id))?.run).toEqual(failed);
  });

  it("takes at most as many abandoned runs as asked", async () => {
    const { store } = context;
    const runs = [];
    for (let index = 0; index < 5; index += 1) runs.push(await createdRun(store, { lease: shortLease }));
    await leasesRunOut();
    const first = await store.takeAbandoned(otherLease, 3);
    const second = await store.takeAbandoned(otherLease, 3);
    expect([first.length, second.length]).toEqual([3, 2]);
    const ids = [...first, ...second].map(({ run }) => run.id);
    expect(ids.sort()).toEqual(runs.map(({ id }) => id).sort());
  });

  it("keeps the runs whose leases a process renews", async () => {
    const { store } = context;
    const run = await createdRun(store, { lease: shortLease });
    const queued = await createdRun(store, { queued: true });
    await store.take(queued.id, shortLease);
    await store.renewLeases(lease);
    await leasesRunOut();
    expect(await store.takeAbandoned(otherLease, 10)).toEqual([]);
    expect(await store.take(queued.id, otherLease)).toBeUndefined();
    expect(await store.write({ runId: run.id, lease, events: [textEvent(1, "x")] })).toBe(true);
  });

  it("tells a process which of its runs are to be cancelled", async () => {
    const { store } = context;
    const mine = await createdRun(store);
    await createdRun(store);
    const theirs = await createdRun(store, { lease: otherLease });
    await store.requestCancel("owner", mine.id);
    await store.requestCancel("owner", theirs.id);
    expect(await store.renewLeases(lease)).toEqual([mine.id]);
    expect(await store.renewLeases(otherLease)).toEqual([theirs.id]);
    await endRun(store, mine, RunStatus.CANCELLED);
    expect(await store.renewLeases(lease)).toEqual([]);
  });

  it("ends the lease with a state in which no process works on the run", async () => {
    const { store } = context;
    const waiting = await endedRun(store, { input: ["q"] }, RunStatus.REQUIRES_ACTION, "call");
    expect(await store.write({ runId: waiting.id, lease, steps: [step("x")] })).toBe(false);
    const taken = await store.take(waiting.id, otherLease);
    expect(taken?.run).toEqual(waiting);
    const queued = { ...waiting, status: RunStatus.QUEUED };
    expect(await store.write({ runId: waiting.id, lease: otherLease, run: queued })).toBe(true);
    expect((await store.take(waiting.id, lease))?.run).toEqual(queued);
    const ended = await endRun(store, queued, RunStatus.COMPLETED, "answer");
    expect(await store.write({ runId: waiting.id, lease, run: ended })).toBe(false);
    expect(await threadTexts(store, waiting.threadId)).toEqual(["q", "call", "answer"]);
    expect(await historyOf(store, waiting.id)).toEqual([]);
  });
}
