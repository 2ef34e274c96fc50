import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { RunSchema, RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { StoreContext } from "../store-contract.ts";
import {
  createdResult,
  createdRun,
  creation,
  endedRun,
  endRun,
  finished,
  getClaim,
  holder,
  otherHolder,
  runEvent,
  step,
} from "./data.ts";

/** Creating, reading and changing runs. */
export function runTests(context: StoreContext): void {
  it("keeps a run as it was created, with its request and its owner", async () => {
    const { store } = context;
    const toCreate = creation({ run: { metadata: { topic: "weather" }, provider: "openai" } });
    const result = await createdResult(store, toCreate);
    expect(result).toEqual({
      case: "created",
      run: toCreate.run,
      forked: false,
      claim: getClaim(toCreate.run.id),
    });
    expect(await store.getRun("owner", toCreate.run.id)).toEqual({
      run: toCreate.run,
      owner: "owner",
      request: toCreate.request,
    });
    expect(await store.readSteps(toCreate.run.id)).toEqual([]);
  });

  it("does not show a run to another owner", async () => {
    const { store } = context;
    const run = await createdRun(store);
    expect(await store.getRun("", run.id)).toBeUndefined();
    expect(await store.getRun("someone", run.id)).toBeUndefined();
    expect(await store.requestCancel("someone", run.id)).toBeUndefined();
    expect(await store.deleteRun("someone", run.id)).toBe(false);
    const stolen = creation({ owner: "someone", previousRunId: run.id });
    expect(await store.createRun(stolen)).toEqual({ case: "missing", field: "previous_run_id" });
    expect(await store.getRun("owner", run.id)).toBeDefined();
  });

  it("finds no run that was never created", async () => {
    const { store } = context;
    const { run } = creation();
    expect(await store.getRun("owner", run.id)).toBeUndefined();
    expect(await store.readSteps(run.id)).toEqual([]);
    expect(await store.readEvents(run.id, -1, 10)).toEqual([]);
    expect(await store.readHistory(run.id)).toEqual([]);
    expect(await store.requestCancel("owner", run.id)).toBeUndefined();
    expect(await store.claim(run.id, holder)).toBeUndefined();
    expect(await store.deleteRun("owner", run.id)).toBe(false);
    expect(await store.write({ claim: getClaim(run.id), run })).toBe(false);
  });

  it("rejects a second run with the same id and keeps the first one", async () => {
    const { store } = context;
    const first = creation();
    await createdResult(store, first);
    await expect(store.createRun(creation({ run: { id: first.run.id } }))).rejects.toThrow();
    expect((await store.getRun("owner", first.run.id))?.run).toEqual(first.run);
  });

  it("shows the latest state and the steps in order after writes", async () => {
    const { store } = context;
    const run = await createdRun(store);
    await store.write({ claim: getClaim(run.id), steps: [step("one"), step("two")] });
    const ended = finished(run, RunStatus.COMPLETED);
    const last = {
      claim: getClaim(run.id),
      run: ended,
      events: [runEvent(1, ended)],
      steps: [step("three")],
    };
    expect(await store.write(last)).toBe(true);
    expect((await store.getRun("owner", run.id))?.run).toEqual(ended);
    expect(await store.readSteps(run.id)).toEqual([step("one"), step("two"), step("three")]);
  });

  it("replaces the latest step before it adds others", async () => {
    const { store } = context;
    const run = await createdRun(store);
    await store.write({ claim: getClaim(run.id), steps: [step("one"), step("two")] });
    await store.write({ claim: getClaim(run.id), latestStep: step("changed") });
    expect(await store.readSteps(run.id)).toEqual([step("one"), step("changed")]);
    await store.write({ claim: getClaim(run.id), latestStep: step("again"), steps: [step("three")] });
    expect(await store.readSteps(run.id)).toEqual([step("one"), step("again"), step("three")]);
    expect(await store.write({ claim: getClaim(run.id, 1, otherHolder), latestStep: step("x") })).toBe(false);
    expect(await store.readSteps(run.id)).toHaveLength(3);
  });

  it("gives the sequence number of the latest event even if the run itself was not written", async () => {
    const { store } = context;
    const run = await createdRun(store);
    await store.write({ claim: getClaim(run.id), events: [runEvent(1, run), runEvent(2, run)] });
    const expected = create(RunSchema, { ...run, lastSequence: 2 });
    expect((await store.getRun("owner", run.id))?.run).toEqual(expected);
    const { elements } = await store.listRuns("owner", { threadId: "", statuses: [], after: "", limit: 10 });
    expect(elements).toEqual([expected]);
  });

  it("records a cancellation once and keeps it through later writes", async () => {
    const { store } = context;
    const run = await createdRun(store);
    expect((await store.requestCancel("owner", run.id))?.run.cancelRequested).toBe(true);
    expect((await store.requestCancel("owner", run.id))?.run.cancelRequested).toBe(true);
    const ended = await endRun(store, run, RunStatus.CANCELLED);
    expect((await store.getRun("owner", run.id))?.run).toEqual({ ...ended, cancelRequested: true });
  });

  it("does not record a cancellation of a run that has ended", async () => {
    const { store } = context;
    const ended = await endedRun(store);
    expect((await store.requestCancel("owner", ended.id))?.run).toEqual(ended);
    expect((await store.getRun("owner", ended.id))?.run).toEqual(ended);
  });

  it("does not continue a run that is in progress", async () => {
    const { store } = context;
    const queued = await createdRun(store, { queued: true });
    const running = await createdRun(store);
    expect(await store.createRun(creation({ previousRunId: queued.id }))).toEqual({
      case: "unfinished",
      status: RunStatus.QUEUED,
    });
    expect(await store.createRun(creation({ previousRunId: running.id }))).toEqual({
      case: "unfinished",
      status: RunStatus.IN_PROGRESS,
    });
  });

  it("concludes the run that it continues if that one requires action", async () => {
    const { store } = context;
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    const next = await createdRun(store, { previousRunId: waiting.id });
    const previous = await store.getRun("owner", waiting.id);
    expect(previous?.run.status).toBe(RunStatus.COMPLETED);
    expect(previous?.run.lastSequence).toBe(waiting.lastSequence + 1);
    const [event] = await store.readEvents(waiting.id, waiting.lastSequence, 10);
    expect(event).toEqual(runEvent(waiting.lastSequence + 1, previous?.run ?? waiting));
    expect(next.threadId).toBe(waiting.threadId);
    expect(await store.claim(waiting.id, holder)).toBeUndefined();
  });

  it("does not continue a run that requires action while a process has claimed it", async () => {
    const { store } = context;
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    await store.claim(waiting.id, holder);
    expect(await store.createRun(creation({ previousRunId: waiting.id }))).toEqual({
      case: "unfinished",
      status: RunStatus.REQUIRES_ACTION,
    });
    expect((await store.getRun("owner", waiting.id))?.run).toEqual(waiting);
  });

  it("leaves a run that requires action alone if its continuation was not created", async () => {
    const { store } = context;
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    const taken = creation({ previousRunId: waiting.id, run: { id: waiting.id } });
    await expect(store.createRun(taken)).rejects.toThrow();
    expect((await store.getRun("owner", waiting.id))?.run).toEqual(waiting);
    expect(await store.readEvents(waiting.id, waiting.lastSequence, 10)).toEqual([]);
  });
}
