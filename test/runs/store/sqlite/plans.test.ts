import { expect, it } from "vitest";
import { RunStatus } from "../../../../src/gen/outrigger/v1/run_pb.ts";
import type { RunStore } from "../../../../src/runs/store.ts";
import {
  createdRun,
  endedRun,
  getClaim,
  holder,
  message,
  otherHolder,
  step,
  textEvent,
  thread,
} from "../../contract/data.ts";
import { getDriver, openMemory } from "./open-store.ts";

/** Statements that read all rows of a small table, or of a partial index. */
const READS_ALL = [/FROM :schema\.key_checks$/, /DELETE FROM :schema\.processes/];

/** Steps of a plan that read a whole table, or sort. Steps over a page that was selected before are small. */
const SLOW = /\bSCAN (?!CONSTANT ROW|page\b|measured\b|json_each\b|claimed\b|list\d|\(subquery)|TEMP B-TREE/;

/** How often statements sort a page of runs, the places of a page of messages, or rows that were named one by one. */
const SORTS = [
  { pattern: /UNION ALL/, times: 2 },
  { pattern: /OVER \(ORDER BY position|= :any_text.*ORDER BY number/, times: 1 },
];

/** Indexes that have few rows. */
const PARTIAL =
  /USING (?:COVERING )?INDEX (?:runs_queued|runs_in_progress|runs_to_cancel|runs_held_idle|runs_under_way)\b/;

it("finds every row by an index, without a scan and without sorting", async () => {
  const store = await openMemory();
  await callEverything(store);
  const driver = getDriver(store);
  const statements = [...driver.statements.keys()].filter((text) => /SELECT|UPDATE|DELETE/.test(text));
  expect(statements.length).toBeGreaterThan(40);
  const slow = [];
  for (const text of statements.filter((each) => !READS_ALL.some((pattern) => pattern.test(each)))) {
    const plan = await driver.read<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, []);
    let sorts = SORTS.find(({ pattern }) => pattern.test(text))?.times ?? 0;
    for (const { detail } of plan) {
      // A sort of bodies copies them.
      const isSmall = PARTIAL.test(detail) || (detail.includes("TEMP B-TREE") && sorts-- > 0);
      if (SLOW.test(detail) && !isSmall) slow.push({ text, detail });
    }
  }
  expect(slow).toEqual([]);
  await store.close();
});

/** Calls the methods with all forms of their arguments. */
async function callEverything(store: RunStore): Promise<void> {
  const root = await endedRun(store);
  await endedRun(store, { previousRunId: root.id });
  const fork = await endedRun(store, { previousRunId: root.id }, RunStatus.REQUIRES_ACTION);
  const next = await createdRun(store, { previousRunId: fork.id });
  await store.write({ claim: getClaim(next.id), events: [textEvent(1, "x")] });
  await store.write({ claim: getClaim(next.id), latestStep: step("x"), messages: [message("x")] });
  await store.requestCancel("owner", next.id);
  const conversation = thread();
  const first = message("x");
  await store.createThread("owner", conversation, [first]);
  await store.appendMessages("owner", conversation.id, [message("y")]);
  await store.updateThread("owner", conversation);
  await store.deleteMessage("owner", conversation.id, first.id);
  await store.getMessage("owner", first.id, conversation.id);
  await store.findCall("owner", "call_1");
  const queued = await createdRun(store, { threadId: conversation.id, queued: true });
  await store.countQueued("owner");
  await store.claimQueued(holder, 1, ["someone"]);
  await store.claim(queued.id, holder);
  await store.claimAbandoned(otherHolder, [], 1);
  await store.findLatestRun("owner", next.threadId);
  await store.renewLease(holder);
  await store.releaseLease(otherHolder);
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
  for (const query of [{ threadId }, { inputRunId: runId }]) {
    for (const order of ["oldest first", "latest first"] as const) {
      const { elements } = await store.listMessages("owner", { ...query, order, after: "", limit: 1 });
      await store.listMessages("owner", { ...query, order, after: elements[0]?.id ?? "", limit: 1 });
    }
  }
}
