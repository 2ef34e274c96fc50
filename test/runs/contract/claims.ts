import { expect, it } from "vitest";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { StoreContext } from "../store-contract.ts";
import {
  createdRun,
  createHistory,
  creation,
  endedRun,
  endRun,
  finished,
  getClaim,
  holder,
  message,
  otherHolder,
  runEvent,
  step,
  textEvent,
  threadTexts,
} from "./data.ts";

/** A process that renews its lease and is dead a moment later. */
const shortHolder = { id: "process-3", timeoutMs: 1 };

/** Tests of which process may change a run. */
export function claimTests(context: StoreContext): void {
  /** Waits until the short holder is dead. */
  const passTimeout = () => new Promise((resolve) => setTimeout(resolve, 20));

  it("lets one process claim a queued run", async () => {
    const { store } = context;
    const toCreate = creation({ queued: true });
    await store.createRun(toCreate);
    const { id } = toCreate.run;
    const taken = await Promise.all([store.claim(id, holder), store.claim(id, otherHolder)]);
    const [run] = taken.filter((each) => each !== undefined);
    expect(taken.filter((each) => each !== undefined)).toHaveLength(1);
    expect(run).toMatchObject({ run: toCreate.run, owner: "owner", request: toCreate.request });
    expect(run?.claim).toEqual(getClaim(id, 1, taken[0] === undefined ? otherHolder : holder));
    expect((await store.getRun("owner", id))?.run.status).toBe(RunStatus.QUEUED);
    expect(await store.claim(id, holder)).toBeUndefined();
  });

  it("claims no run that is in progress or has ended", async () => {
    const { store } = context;
    const running = await createdRun(store);
    const over = await endedRun(store);
    expect(await store.claim(running.id, otherHolder)).toBeUndefined();
    expect(await store.claim(over.id, otherHolder)).toBeUndefined();
  });

  it("claims a run again if its process died before the run was in progress", async () => {
    const { store } = context;
    const queued = await createdRun(store, { queued: true });
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    for (const run of [queued, waiting]) {
      await store.renewLease(shortHolder);
      const first = await store.claim(run.id, shortHolder);
      await passTimeout();
      const second = await store.claim(run.id, otherHolder);
      expect(second?.run).toEqual(run);
      expect(second?.claim.fence).toBe((first?.claim.fence ?? 0) + 1);
      const late = getClaim(run.id, first?.claim.fence, shortHolder);
      expect(await store.write({ claim: late, events: [textEvent(run.lastSequence + 1, "x")] })).toBe(false);
    }
  });

  it("writes until another process claims the run, even after the lease has expired", async () => {
    const { store } = context;
    const run = await createdRun(store, { holder: shortHolder });
    await store.renewLease(shortHolder);
    await passTimeout();
    const claim = getClaim(run.id, 1, shortHolder);
    expect(await store.write({ claim, events: [textEvent(1, "x")] })).toBe(true);
    expect(await store.claimAbandoned(otherHolder, [], 10)).toMatchObject([{ run: { id: run.id } }]);
    expect(await store.write({ claim, events: [textEvent(2, "x")] })).toBe(false);
  });

  it("lets one process claim an abandoned run, and the previous holder writes nothing", async () => {
    const { store } = context;
    const toCreate = creation({ holder: shortHolder });
    await store.createRun(toCreate);
    const run = toCreate.run;
    const kept = await createdRun(store);
    const takers = [otherHolder, { id: "process-4", timeoutMs: 60_000 }];
    for (const taker of takers) await store.renewLease(taker);
    const taken = await Promise.all(takers.map((taker) => store.claimAbandoned(taker, [], 10)));
    const [abandoned] = taken.flat();
    expect(taken.flat()).toHaveLength(1);
    expect(abandoned).toMatchObject({ run, owner: "owner", request: toCreate.request });
    const failed = finished(run, RunStatus.FAILED);
    const late = { claim: getClaim(run.id, 1, shortHolder), run: failed, events: [runEvent(1, failed)] };
    expect(await store.write({ ...late, steps: [step("late")], messages: [message("late")] })).toBe(false);
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    expect(await store.readSteps(run.id)).toEqual([]);
    expect(await threadTexts(store, run.threadId)).toEqual(["hello"]);
    expect(await store.write({ ...late, claim: abandoned?.claim ?? late.claim })).toBe(true);
    expect((await store.getRun("owner", run.id))?.run).toEqual(failed);
    expect(await store.write({ claim: getClaim(kept.id), events: [textEvent(1, "x")] })).toBe(true);
  });

  it("claims at most the requested number of abandoned runs, oldest first", async () => {
    const { store } = context;
    const ids = [];
    for (let index = 0; index < 5; index += 1)
      ids.push((await createdRun(store, { holder: shortHolder })).id);
    const first = await store.claimAbandoned(holder, [], 3);
    const known = first.map(({ run }) => run.id);
    const second = await store.claimAbandoned(holder, known, 3);
    expect([first.length, second.length]).toEqual([3, 2]);
    expect([...first, ...second].map(({ run }) => run.id)).toEqual(ids);
  });

  it("claims its runs again if it does not know them, with a new fence", async () => {
    const { store } = context;
    const known = await createdRun(store);
    const unknown = await createdRun(store);
    const [taken, ...more] = await store.claimAbandoned(holder, [known.id], 10);
    expect(more).toEqual([]);
    expect(taken?.claim).toEqual(getClaim(unknown.id, 2));
    expect(await store.write({ claim: getClaim(unknown.id), events: [textEvent(1, "x")] })).toBe(false);
    expect(await store.write({ claim: getClaim(known.id), events: [textEvent(1, "x")] })).toBe(true);
    expect(await store.claimAbandoned(holder, [known.id, unknown.id], 10)).toEqual([]);
  });

  it("keeps the runs that a process knows if its heartbeat is late", async () => {
    const { store } = context;
    const run = await createdRun(store, { holder: shortHolder });
    const queued = await createdRun(store, { queued: true });
    await store.renewLease(shortHolder);
    await store.claim(queued.id, shortHolder);
    await passTimeout();
    expect(await store.claimAbandoned(shortHolder, [run.id, queued.id], 10)).toEqual([]);
    const claim = getClaim(run.id, 1, shortHolder);
    expect(await store.write({ claim, events: [textEvent(1, "x")] })).toBe(true);
    expect(await store.write({ claim: getClaim(queued.id, 1, shortHolder), run: queued })).toBe(true);
  });

  it("frees queued runs and runs that require action if their process does not know them", async () => {
    const { store } = context;
    const queued = await createdRun(store, { queued: true });
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    for (const run of [queued, waiting]) await store.claim(run.id, holder);
    expect(await store.claimAbandoned(holder, [queued.id, waiting.id], 10)).toEqual([]);
    for (const run of [queued, waiting]) expect(await store.claim(run.id, otherHolder)).toBeUndefined();
    expect(await store.claimAbandoned(holder, [], 10)).toEqual([]);
    for (const run of [queued, waiting]) expect(await store.claim(run.id, otherHolder)).toBeDefined();
  });

  it("keeps all runs of a process that renews its lease", async () => {
    const { store } = context;
    const run = await createdRun(store, { holder: shortHolder });
    const queued = await createdRun(store, { queued: true });
    await store.renewLease(shortHolder);
    await store.claim(queued.id, shortHolder);
    await store.renewLease({ ...shortHolder, timeoutMs: 60_000 });
    await passTimeout();
    expect(await store.claimAbandoned(otherHolder, [], 10)).toEqual([]);
    expect(await store.claim(queued.id, otherHolder)).toBeUndefined();
    const claim = getClaim(run.id, 1, shortHolder);
    expect(await store.write({ claim, events: [textEvent(1, "x")] })).toBe(true);
  });

  it("abandons the runs of a process at once when it releases its lease", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const queued = await createdRun(store, { queued: true });
    await store.claim(queued.id, holder);
    await store.releaseLease(holder);
    expect(await store.claimAbandoned(otherHolder, [], 10)).toMatchObject([{ run: { id: run.id } }]);
    expect(await store.claimQueued(otherHolder, 10, [])).toMatchObject([{ run: { id: queued.id } }]);
  });

  it("returns the runs of a process that are to be cancelled", async () => {
    const { store } = context;
    const mine = await createdRun(store);
    await createdRun(store);
    const theirs = await createdRun(store, { holder: otherHolder });
    await store.requestCancel("owner", mine.id);
    await store.requestCancel("owner", theirs.id);
    expect(await store.renewLease(holder)).toEqual([mine.id]);
    expect(await store.renewLease(otherHolder)).toEqual([theirs.id]);
    await endRun(store, mine, RunStatus.CANCELLED);
    expect(await store.renewLease(holder)).toEqual([]);
  });

  it("ends the claim with a status in which no process works on the run", async () => {
    const { store } = context;
    const waiting = await endedRun(store, { input: ["q"] }, RunStatus.REQUIRES_ACTION, "call");
    expect(await store.write({ claim: getClaim(waiting.id), steps: [step("x")] })).toBe(false);
    const taken = await store.claim(waiting.id, otherHolder);
    expect(taken?.run).toEqual(waiting);
    const queued = { ...waiting, status: RunStatus.QUEUED };
    expect(await store.write({ claim: getClaim(waiting.id, 2, otherHolder), run: queued })).toBe(true);
    const again = await store.claim(waiting.id, holder);
    expect(again?.run).toEqual(queued);
    const ended = await endRun(store, queued, RunStatus.COMPLETED, "answer", again?.claim);
    expect(await store.write({ claim: getClaim(waiting.id, 3), run: ended })).toBe(false);
    expect(await threadTexts(store, waiting.threadId)).toEqual(["q", "call", "answer"]);
    expect(await store.readSteps(waiting.id)).toEqual([step("call"), step("answer")]);
    expect(await createHistory(store, waiting.id)).toEqual([]);
  });
}
