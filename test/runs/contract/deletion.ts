import { timestampDate } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { RunStore } from "../../../src/runs/store.ts";
import type { StoreContext } from "../store-contract.ts";
import {
  createdResult,
  createdRun,
  createHistory,
  creation,
  endedRun,
  endRun,
  getClaim,
  holder,
  message,
  nextTime,
  step,
  textEvent,
  thread,
  threadTexts,
} from "./data.ts";

/** Tests that deleting leaves nothing behind. */
export function deletionTests(context: StoreContext): void {
  it("removes a run with its steps, events and messages, and the thread that it created", async () => {
    const { store } = context;
    const input = message("hello");
    const created = await createdResult(store, { ...creation(), input: () => [input] });
    const run = await endRun(store, created.run);
    expect(await store.deleteRun("owner", run.id)).toBe(true);
    expect(await store.deleteRun("owner", run.id)).toBe(false);
    expect(await store.getRun("owner", run.id)).toBeUndefined();
    expect(await store.readSteps(run.id)).toEqual([]);
    expect(await store.readEvents(run.id, -1, 10)).toEqual([]);
    expect(await store.getThread("owner", run.threadId)).toBeUndefined();
    expect(await store.getMessage("owner", input.id)).toBeUndefined();
    expect(await store.createRun(creation({ previousRunId: run.id }))).toEqual({
      case: "missing",
      field: "previous_run_id",
    });
    await expectNothingLeft(context);
  });

  it("keeps the messages of a deleted run for the runs that continued it, until the last one is deleted", async () => {
    const { store } = context;
    const root = await endedRun(store, { input: ["q"] }, RunStatus.COMPLETED, "a");
    const left = await endedRun(store, { previousRunId: root.id, input: ["l"] }, RunStatus.COMPLETED, "la");
    const right = await endedRun(store, { previousRunId: root.id, input: ["r"] }, RunStatus.COMPLETED, "ra");
    await store.deleteRun("owner", root.id);
    expect(await createHistory(store, left.id)).toEqual(["q", "a"]);
    expect(await createHistory(store, right.id)).toEqual(["q", "a"]);
    const next = await createdRun(store, { previousRunId: left.id, input: ["l2"] });
    expect(await createHistory(store, next.id)).toEqual(["q", "a", "l", "la"]);
    await store.deleteRun("owner", left.id);
    expect(await createHistory(store, next.id)).toEqual(["q", "a", "l", "la"]);
    await store.deleteRun("owner", next.id);
    expect(await threadTexts(store, left.threadId)).toEqual([]);
    expect(await createHistory(store, right.id)).toEqual(["q", "a"]);
    await store.deleteRun("owner", right.id);
    await expectNothingLeft(context);
  });

  it("removes messages that only later runs read when these are deleted before the runs that they continued", async () => {
    const { store } = context;
    const first = await endedRun(store, { input: ["q1"] }, RunStatus.COMPLETED, "a1");
    const second = await endedRun(
      store,
      { previousRunId: first.id, input: ["q2"] },
      RunStatus.COMPLETED,
      "a2",
    );
    await store.deleteRun("owner", second.id);
    expect(await threadTexts(store, first.threadId)).toEqual(["q1", "a1"]);
    const again = await createdResult(store, creation({ previousRunId: first.id }));
    expect(again.forked).toBe(false);
    await store.deleteRun("owner", again.run.id);
    await store.deleteRun("owner", first.id);
    await expectNothingLeft(context);
  });

  it("takes a run from the process that has claimed it", async () => {
    const { store } = context;
    const run = await createdRun(store);
    expect(await store.deleteRun("owner", run.id)).toBe(true);
    const late = { claim: getClaim(run.id), events: [textEvent(1, "x")] };
    expect(await store.write(late)).toBe(false);
    expect(await store.write({ ...late, steps: [step("x")], messages: [message("x")] })).toBe(false);
    expect(await store.renewLease(holder)).toEqual([]);
    await expectNothingLeft(context);
  });

  it("leaves the messages of a deleted run in its conversation, and removes them with the conversation", async () => {
    const { store } = context;
    const conversation = thread();
    await store.createThread("owner", conversation, [message("start")]);
    const run = await endedRun(store, { threadId: conversation.id, input: ["q"] }, RunStatus.COMPLETED, "a");
    await store.deleteRun("owner", run.id);
    expect(await threadTexts(store, conversation.id)).toEqual(["start", "q", "a"]);
    expect(await store.deleteThread("owner", conversation.id)).toBe(true);
    expect(await store.deleteThread("owner", conversation.id)).toBe(false);
    await expectNothingLeft(context);
  });

  it("continues a conversation whose latest run was deleted, whatever was created since", async () => {
    const { store } = context;
    const conversation = thread();
    await store.createThread("owner", conversation, []);
    const first = await endedRun(
      store,
      { threadId: conversation.id, input: ["q"] },
      RunStatus.COMPLETED,
      "a",
    );
    const latest = await createdRun(store, { threadId: conversation.id, input: ["q2"] });
    await store.deleteRun("owner", latest.id);
    await createdRun(store);
    const next = await createdResult(store, creation({ threadId: conversation.id, input: [] }));
    expect(await createHistory(store, next.run.id)).toEqual(["q", "a", "q2"]);
    expect(await store.createRun(creation({ threadId: conversation.id }))).toMatchObject({ case: "busy" });
    expect(await createHistory(store, first.id)).toEqual([]);
  });

  it("keeps the runs of a conversation that was deleted, and does not continue them", async () => {
    const { store } = context;
    const conversation = thread();
    const start = message("start");
    await store.createThread("owner", conversation, [start]);
    const run = await endedRun(store, { threadId: conversation.id }, RunStatus.COMPLETED, "a");
    const running = await createdRun(store, { threadId: conversation.id });
    await store.deleteThread("owner", conversation.id);
    expect(await store.getThread("owner", conversation.id)).toBeUndefined();
    expect(await store.getMessage("owner", start.id)).toBeUndefined();
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    expect(await store.readSteps(run.id)).toEqual([step("a")]);
    const missing = { case: "missing", field: "previous_run_id" };
    expect(await store.createRun(creation({ previousRunId: run.id }))).toEqual(missing);
    await endRun(store, running);
    expect(await threadTexts(store, conversation.id)).toEqual([]);
    await store.deleteRun("owner", run.id);
    await store.deleteRun("owner", running.id);
    await expectNothingLeft(context);
  });

  it("keeps the forks of a conversation that was deleted", async () => {
    const { store } = context;
    const conversation = thread();
    await store.createThread("owner", conversation, [message("start")]);
    const run = await endedRun(store, { threadId: conversation.id, input: ["q"] }, RunStatus.COMPLETED, "a");
    await store.appendMessages("owner", conversation.id, [message("aside")]);
    const fork = await createdRun(store, { previousRunId: run.id });
    await store.deleteThread("owner", conversation.id);
    expect(await createHistory(store, fork.id)).toEqual(["start", "q", "a"]);
    await store.deleteRun("owner", run.id);
    await store.deleteRun("owner", fork.id);
    await expectNothingLeft(context);
  });

  it("removes runs that ended before a time, in batches, and none that are in progress", async () => {
    const { store } = context;
    const old = [];
    for (let index = 0; index < 5; index += 1) old.push(await endedRun(store));
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    const running = await createdRun(store);
    const queued = await createdRun(store, { queued: true });
    const before = timestampDate(nextTime());
    const young = await endedRun(store);
    expect(await store.removeOld(before, 4)).toBe(4);
    expect(await store.removeOld(before, 4)).toBe(2);
    expect(await store.removeOld(before, 4)).toBe(0);
    for (const run of [...old, waiting]) expect(await store.getRun("owner", run.id)).toBeUndefined();
    for (const run of [running, queued, young]) expect(await store.getRun("owner", run.id)).toBeDefined();
  });

  it("removes conversations that nothing was added to since a time", async () => {
    const { store } = context;
    const [unused, appended, ran, empty] = [thread(), thread(), thread(), thread()];
    for (const conversation of [unused, appended, ran, empty]) {
      await store.createThread("owner", conversation, conversation === empty ? [] : [message("start")]);
    }
    const before = timestampDate(nextTime());
    await store.appendMessages("owner", appended.id, [message("later")]);
    const running = await createdRun(store, { threadId: ran.id });
    expect(await store.removeOld(before, 10)).toBe(2);
    expect(await store.removeOld(before, 10)).toBe(0);
    expect(await store.getThread("owner", unused.id)).toBeUndefined();
    expect(await store.getThread("owner", empty.id)).toBeUndefined();
    expect(await threadTexts(store, appended.id)).toEqual(["start", "later"]);
    expect(await createHistory(store, running.id)).toEqual(["start"]);
  });

  it("removes runs and conversations together up to the size of a batch", async () => {
    const { store } = context;
    await endedRun(store);
    for (let count = 0; count < 3; count += 1) await store.createThread("owner", thread(), []);
    const before = timestampDate(nextTime());
    expect(await store.removeOld(before, 2)).toBe(2);
    expect(await store.removeOld(before, 2)).toBe(2);
    expect(await store.removeOld(before, 2)).toBe(0);
  });

  it("removes old runs, forks and conversations completely", async () => {
    const { store } = context;
    await makeOldData(store);
    const after = timestampDate(nextTime());
    while ((await store.removeOld(after, 2)) > 0);
    await expectNothingLeft(context);
  });
}

/** Chains, forks and a conversation. */
async function makeOldData(store: RunStore): Promise<void> {
  const root = await endedRun(store);
  const left = await endedRun(store, { previousRunId: root.id });
  await endedRun(store, { previousRunId: root.id });
  await endedRun(store, { previousRunId: left.id });
  await endedRun(store, { previousRunId: left.id });
  const conversation = thread();
  await store.createThread("owner", conversation, [message("start")]);
  const run = await endedRun(store, { threadId: conversation.id });
  await endedRun(store, { threadId: conversation.id });
  await endedRun(store, { previousRunId: run.id });
}

async function expectNothingLeft({ store, countRows }: StoreContext): Promise<void> {
  const rows = (await countRows?.(store)) ?? {};
  expect(Object.entries(rows).filter(([, count]) => count > 0)).toEqual([]);
}
