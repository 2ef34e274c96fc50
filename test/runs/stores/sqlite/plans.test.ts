import { expect, it } from "vitest";
import { RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import type { RunStore } from "../../../../src/runs/store.ts";
import {
  createdRun,
  endedRun,
  lease,
  message,
  otherLease,
  step,
  textEvent,
  thread,
} from "../../contract/data.ts";
import { databaseOf, openMemory } from "./open-store.ts";

/** Statements that read all of something small on purpose: the rows of a partial index, or the checks of keys. */
const READS_ALL = [/FROM key_checks$/, /WHERE status = [12]\b/];

it("finds every row by an index, without a scan and without sorting", async () => {
  const store = openMemory();
  await callEverything(store);
  const database = databaseOf(store);
  const statements = database.statements.filter((sql) => !sql.startsWith("INSERT INTO runs"));
  expect(statements.length).toBeGreaterThan(40);
  const slow = statements
    .filter((sql) => !READS_ALL.some((pattern) => pattern.test(sql)))
    .flatMap((sql) => planOf(sql).map((line) => ({ sql, line })))
    .filter(({ line }) => /\bSCAN (?!CONSTANT ROW)|TEMP B-TREE|rowid[<>]/.test(line));
  expect(slow).toEqual([]);
  for (const pattern of READS_ALL) expect(statements.some((sql) => pattern.test(sql))).toBe(true);
  for (const sql of statements.filter((each) => /WHERE status = [12]\b/.test(each))) {
    expect(planOf(sql).join()).toMatch(/USING (?:COVERING )?INDEX runs_(?:queued|in_progress)/);
  }
  await store.close();

  function planOf(sql: string): string[] {
    return database.all(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail));
  }
});

/** Calls the methods with all forms of their arguments. */
async function callEverything(store: RunStore): Promise<void> {
  const root = await endedRun(store);
  await endedRun(store, { previousRunId: root.id });
  const fork = await endedRun(store, { previousRunId: root.id }, RunStatus.REQUIRES_ACTION);
  const next = await createdRun(store, { previousRunId: fork.id });
  await store.write({ runId: next.id, lease, events: [textEvent(1, "x")] });
  await store.write({ runId: next.id, lease, latestStep: step("x"), messages: [message("x")] });
  await store.requestCancel("owner", next.id);
  const conversation = thread();
  const first = message("x");
  await store.createThread("owner", conversation, [first]);
  await store.appendMessages("owner", conversation.id, [message("y")]);
  await store.updateThread("owner", conversation);
  await store.deleteMessage("owner", conversation.id, first.id);
  await store.getMessage("owner", first.id);
  await store.findCall("owner", "call_1");
  const queued = await createdRun(store, { threadId: conversation.id, queued: true });
  await store.countQueued();
  let isDelivered = false;
  const stop = await store.deliverQueued(async () => {
    isDelivered = true;
  }, 1);
  await expect.poll(() => isDelivered).toBe(true);
  await stop();
  await store.take(queued.id, lease);
  await store.takeAbandoned(otherLease, 1);
  await readEverything(store, next.id, next.threadId);
  await store.deleteRun("owner", root.id);
  await store.removeOld(new Date(8.64e15), 10);
  await store.deleteThread("owner", conversation.id);
}

async function readEverything(store: RunStore, runId: string, threadId: string): Promise<void> {
  await store.getThread("owner", threadId);
  await store.readSteps(runId);
  await store.readHistory(runId);
  await store.readEvents(runId, -1, 10);
  for (const after of ["", runId]) {
    for (const statuses of [[], [RunStatus.COMPLETED, RunStatus.FAILED]]) {
      await store.listRuns("owner", { threadId: "", statuses, after, limit: 1 });
      await store.listRuns("owner", { threadId, statuses, after, limit: 1 });
    }
  }
  for (const query of [{ threadId }, { inputOfRunId: runId }]) {
    for (const order of ["oldest first", "latest first"] as const) {
      const { elements } = await store.listMessages("owner", { ...query, order, after: "", limit: 1 });
      await store.listMessages("owner", { ...query, order, after: elements[0]?.id ?? "", limit: 1 });
    }
  }
}
