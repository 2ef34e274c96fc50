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
  getHold,
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
export function holdTests(context: StoreContext): void {
  /** Waits until the short holder is dead. */
  const passTimeout = () => new Promise((resolve) => setTimeout(resolve, 20));

  it("lets one process take a queued run", async () => {
    const { store } = context;
    const toCreate = creation({ queued: true });
    await store.createRun(toCreate);
    const { id } = toCreate.run;
    const taken = await Promise.all([store.take(id, holder), store.take(id, otherHolder)]);
    const [run] = taken.filter((each) => each !== undefined);
    expect(taken.filter((each) => each !== undefined)).toHaveLength(1);
    expect(run).toMatchObject({ run: toCreate.run, owner: "owner", request: toCreate.request });
    expect(run?.hold).toEqual(getHold(id, 1, taken[0] === undefined ? otherHolder : holder));
    expect((await store.getRun("owner", id))?.run.status).toBe(RunStatus.QUEUED);
    expect(await store.take(id, holder)).toBeUndefined();
  });

  it("takes no run that is in progress or over", async () => {
    const { store } = context;
    const running = await createdRun(store);
    const over = await endedRun(store);
    expect(await store.take(running.id, otherHolder)).toBeUndefined();
    expect(await store.take(over.id, otherHolder)).toBeUndefined();
  });

  it("takes a run again if its process died before the run was in progress", async () => {
    const { store } = context;
    const queued = await createdRun(store, { queued: true });
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    for (const run of [queued, waiting]) {
      await store.beat(shortHolder);
      const first = await store.take(run.id, shortHolder);
      await passTimeout();
      const second = await store.take(run.id, otherHolder);
      expect(second?.run).toEqual(run);
      expect(second?.hold.fence).toBe((first?.hold.fence ?? 0) + 1);
      const late = getHold(run.id, first?.hold.fence, shortHolder);
      expect(await store.write({ hold: late, events: [textEvent(run.lastSequence + 1, "x")] })).toBe(false);
    }
  });

  it("writes until another process takes the run, even after the timeout", async () => {
    const { store } = context;
    const run = await createdRun(store, { holder: shortHolder });
    await store.beat(shortHolder);
    await passTimeout();
    const hold = getHold(run.id, 1, shortHolder);
    expect(await store.write({ hold, events: [textEvent(1, "x")] })).toBe(true);
    expect(await store.takeAbandoned(otherHolder, [], 10)).toMatchObject([{ run: { id: run.id } }]);
    expect(await store.write({ hold, events: [textEvent(2, "x")] })).toBe(false);
  });

  it("gives an abandoned run to one process, and the one that lost it writes nothing", async () => {
    const { store } = context;
    const toCreate = creation({ holder: shortHolder });
    await store.createRun(toCreate);
    const run = toCreate.run;
    const kept = await createdRun(store);
    const takers = [otherHolder, { id: "process-4", timeoutMs: 60_000 }];
    for (const taker of takers) await store.beat(taker);
    const taken = await Promise.all(takers.map((taker) => store.takeAbandoned(taker, [], 10)));
    const [abandoned] = taken.flat();
    expect(taken.flat()).toHaveLength(1);
    expect(abandoned).toMatchObject({ run, owner: "owner", request: toCreate.request });
    const failed = finished(run, RunStatus.FAILED);
    const late = { hold: getHold(run.id, 1, shortHolder), run: failed, events: [runEvent(1, failed)] };
    expect(await store.write({ ...late, steps: [step("late")], messages: [message("late")] })).toBe(false);
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    expect(await store.readSteps(run.id)).toEqual([]);
    expect(await threadTexts(store, run.threadId)).toEqual(["hello"]);
    expect(await store.write({ ...late, hold: abandoned?.hold ?? late.hold })).toBe(true);
    expect((await store.getRun("owner", run.id))?.run).toEqual(failed);
    expect(await store.write({ hold: getHold(kept.id), events: [textEvent(1, "x")] })).toBe(true);
  });

  it("takes at most the requested number of abandoned runs, the oldest first", async () => {
    const { store } = context;
    const ids = [];
    for (let index = 0; index < 5; index += 1)
      ids.push((await createdRun(store, { holder: shortHolder })).id);
    const first = await store.takeAbandoned(holder, [], 3);
    const known = first.map(({ run }) => run.id);
    const second = await store.takeAbandoned(holder, known, 3);
    expect([first.length, second.length]).toEqual([3, 2]);
    expect([...first, ...second].map(({ run }) => run.id)).toEqual(ids);
  });

  it("takes its runs again if it does not know them, with a new fence", async () => {
    const { store } = context;
    const known = await createdRun(store);
    const unknown = await createdRun(store);
    const [taken, ...more] = await store.takeAbandoned(holder, [known.id], 10);
    expect(more).toEqual([]);
    expect(taken?.hold).toEqual(getHold(unknown.id, 2));
    expect(await store.write({ hold: getHold(unknown.id), events: [textEvent(1, "x")] })).toBe(false);
    expect(await store.write({ hold: getHold(known.id), events: [textEvent(1, "x")] })).toBe(true);
    expect(await store.takeAbandoned(holder, [known.id, unknown.id], 10)).toEqual([]);
  });

  it("keeps the runs that a process knows if its sign of life is late", async () => {
    const { store } = context;
    const run = await createdRun(store, { holder: shortHolder });
    const queued = await createdRun(store, { queued: true });
    await store.beat(shortHolder);
    await store.take(queued.id, shortHolder);
    await passTimeout();
    expect(await store.takeAbandoned(shortHolder, [run.id, queued.id], 10)).toEqual([]);
    const hold = getHold(run.id, 1, shortHolder);
    expect(await store.write({ hold, events: [textEvent(1, "x")] })).toBe(true);
    expect(await store.write({ hold: getHold(queued.id, 1, shortHolder), run: queued })).toBe(true);
  });

  it("frees queued runs and runs that require action if their process does not know them", async () => {
    const { store } = context;
    const queued = await createdRun(store, { queued: true });
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    for (const run of [queued, waiting]) await store.take(run.id, holder);
    expect(await store.takeAbandoned(holder, [queued.id, waiting.id], 10)).toEqual([]);
    for (const run of [queued, waiting]) expect(await store.take(run.id, otherHolder)).toBeUndefined();
    expect(await store.takeAbandoned(holder, [], 10)).toEqual([]);
    for (const run of [queued, waiting]) expect(await store.take(run.id, otherHolder)).toBeDefined();
  });

  it("keeps all runs of a process that gives signs of life", async () => {
    const { store } = context;
    const run = await createdRun(store, { holder: shortHolder });
    const queued = await createdRun(store, { queued: true });
    await store.beat(shortHolder);
    await store.take(queued.id, shortHolder);
    await store.beat({ ...shortHolder, timeoutMs: 60_000 });
    await passTimeout();
    expect(await store.takeAbandoned(otherHolder, [], 10)).toEqual([]);
    expect(await store.take(queued.id, otherHolder)).toBeUndefined();
    const hold = getHold(run.id, 1, shortHolder);
    expect(await store.write({ hold, events: [textEvent(1, "x")] })).toBe(true);
  });

  it("abandons the runs of a process at once when it leaves", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const queued = await createdRun(store, { queued: true });
    await store.take(queued.id, holder);
    await store.leave(holder);
    expect(await store.takeAbandoned(otherHolder, [], 10)).toMatchObject([{ run: { id: run.id } }]);
    expect(await store.takeQueued(otherHolder, 10, [])).toMatchObject([{ run: { id: queued.id } }]);
  });

  it("names the runs of a process that are to be cancelled", async () => {
    const { store } = context;
    const mine = await createdRun(store);
    await createdRun(store);
    const theirs = await createdRun(store, { holder: otherHolder });
    await store.requestCancel("owner", mine.id);
    await store.requestCancel("owner", theirs.id);
    expect(await store.beat(holder)).toEqual([mine.id]);
    expect(await store.beat(otherHolder)).toEqual([theirs.id]);
    await endRun(store, mine, RunStatus.CANCELLED);
    expect(await store.beat(holder)).toEqual([]);
  });

  it("ends the hold with a status in which no process works on the run", async () => {
    const { store } = context;
    const waiting = await endedRun(store, { input: ["q"] }, RunStatus.REQUIRES_ACTION, "call");
    expect(await store.write({ hold: getHold(waiting.id), steps: [step("x")] })).toBe(false);
    const taken = await store.take(waiting.id, otherHolder);
    expect(taken?.run).toEqual(waiting);
    const queued = { ...waiting, status: RunStatus.QUEUED };
    expect(await store.write({ hold: getHold(waiting.id, 2, otherHolder), run: queued })).toBe(true);
    const again = await store.take(waiting.id, holder);
    expect(again?.run).toEqual(queued);
    const ended = await endRun(store, queued, RunStatus.COMPLETED, "answer", again?.hold);
    expect(await store.write({ hold: getHold(waiting.id, 3), run: ended })).toBe(false);
    expect(await threadTexts(store, waiting.threadId)).toEqual(["q", "call", "answer"]);
    expect(await store.readSteps(waiting.id)).toEqual([step("call"), step("answer")]);
    expect(await createHistory(store, waiting.id)).toEqual([]);
  });
}
