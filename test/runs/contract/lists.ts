import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { MessageQuery, Page, PageQuery, RunStore } from "../../../src/runs/store.ts";
import type { StoreContext } from "../store-contract.ts";
import { createdRun, creation, endedRun, message, newId, thread } from "./data.ts";

/** Pages of runs and messages. */
export function listTests(context: StoreContext): void {
  it("lists the runs of an owner in pages, the latest first", async () => {
    const { store } = context;
    const runs = [];
    for (let index = 0; index < 7; index += 1) {
      runs.unshift(await createdRun(store));
      await createdRun(store, { owner: "someone" });
    }
    expect(await allRuns(store, {}, 3)).toEqual(runs);
    expect(await allRuns(store, {}, 7)).toEqual(runs);
    const first = await store.listRuns("owner", { threadId: "", statuses: [], after: "", limit: 6 });
    expect(first).toEqual({ elements: runs.slice(0, 6), hasMore: true });
    expect(
      (await store.listRuns("nobody", { threadId: "", statuses: [], after: "", limit: 6 })).elements,
    ).toEqual([]);
  });

  it("lists runs in the order of their creation, whatever the clock said", async () => {
    const { store } = context;
    const ids: string[] = [];
    for (const second of [9, 3, 3, 7, 1]) {
      const createdAt = timestampFromMs(Date.UTC(2026, 5, 1, 0, 0, second));
      ids.unshift((await createdRun(store, { run: { createdAt } })).id);
    }
    expect((await allRuns(store, {}, 2)).map(({ id }) => id)).toEqual(ids);
  });

  it("finds the latest run of a thread by the order of creation, even after a step of the clock", async () => {
    const { store } = context;
    const root = await endedRun(store);
    const createdAt = timestampFromMs(Date.UTC(2020, 0, 1));
    const later = await createdRun(store, { previousRunId: root.id, run: { createdAt } });
    expect((await store.findLatestRun("owner", root.threadId))?.run.id).toBe(later.id);
    expect(await store.findLatestRun("someone", root.threadId)).toBeUndefined();
    const busy = { case: "busy", activeRunId: later.id };
    expect(await store.appendMessages("owner", root.threadId, [message("x")])).toEqual(busy);
    expect(await store.createRun(creation({ threadId: root.threadId }))).toEqual(busy);
  });

  it("lists runs of a thread, of several statuses, and of both", async () => {
    const { store } = context;
    const root = await endedRun(store);
    const failed = await endedRun(store, { previousRunId: root.id }, RunStatus.FAILED);
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION);
    const running = await createdRun(store, { previousRunId: failed.id });
    const collectIds = async (fields: { threadId?: string; statuses?: readonly RunStatus[] }) =>
      (await allRuns(store, fields, 1)).map(({ id }) => id);
    expect(await collectIds({ threadId: root.threadId })).toEqual([running.id, failed.id, root.id]);
    expect(await collectIds({ statuses: [RunStatus.COMPLETED, RunStatus.REQUIRES_ACTION] })).toEqual([
      waiting.id,
      root.id,
    ]);
    expect(await collectIds({ threadId: root.threadId, statuses: [RunStatus.FAILED] })).toEqual([failed.id]);
    expect(await collectIds({ threadId: newId("thread") })).toEqual([]);
    expect(await collectIds({ statuses: [RunStatus.QUEUED] })).toEqual([]);
  });

  it("lists messages in pages, the oldest or the latest first", async () => {
    const { store } = context;
    const messages = Array.from({ length: 7 }, (_, index) => message(`message ${index}`));
    const { id: threadId } = await createdThread(store, messages);
    for (const limit of [1, 3, 7, 10]) {
      expect(await allMessages(store, { threadId, order: "oldest first" }, limit)).toEqual(messages);
      const latest = await allMessages(store, { threadId, order: "latest first" }, limit);
      expect(latest).toEqual([...messages].reverse());
    }
    const page = await store.listMessages("owner", { threadId, order: "oldest first", after: "", limit: 7 });
    expect(page.hasMore).toBe(false);
  });

  it("lists the input of a run in pages", async () => {
    const { store } = context;
    const texts = Array.from({ length: 5 }, (_, index) => `message ${index}`);
    const run = await createdRun(store, { input: texts });
    const found = await allMessages(store, { inputRunId: run.id, order: "latest first" }, 2);
    expect(found.map(({ runId }) => runId)).toEqual(Array(5).fill(run.id));
    const reversed = await allMessages(store, { inputRunId: run.id, order: "oldest first" }, 2);
    expect(reversed).toEqual([...found].reverse());
  });

  it("refuses to continue after an element that the list does not have", async () => {
    const { store } = context;
    const run = await createdRun(store);
    const foreign = await createdRun(store, { owner: "someone" });
    const { id: threadId } = await createdThread(store, [message("x")]);
    const query = { threadId: "", statuses: [], limit: 10 };
    for (const after of [newId("run"), foreign.id, "nonsense"]) {
      const error = await store.listRuns("owner", { ...query, after }).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(error).toMatchObject({ violations: [{ field: "after" }] });
    }
    const listing = { threadId, order: "oldest first", after: newId("msg"), limit: 10 } as const;
    await expect(store.listMessages("owner", listing)).rejects.toThrow(InvalidRequestError);
    const input = { inputRunId: run.id, order: "oldest first", after: newId("msg"), limit: 10 } as const;
    await expect(store.listMessages("owner", input)).rejects.toThrow(InvalidRequestError);
  });

  it("lists nothing for a thread or a run that does not exist", async () => {
    const { store } = context;
    const empty = { elements: [], hasMore: false };
    const page = { order: "oldest first", after: "", limit: 10 } as const;
    expect(await store.listMessages("owner", { threadId: newId("thread"), ...page })).toEqual(empty);
    expect(await store.listMessages("owner", { inputRunId: newId("run"), ...page })).toEqual(empty);
  });
}

async function createdThread(store: RunStore, messages: Parameters<RunStore["createThread"]>[2]) {
  const created = thread();
  await store.createThread("owner", created, messages);
  return created;
}

function allRuns(
  store: RunStore,
  { threadId = "", statuses = [] }: { threadId?: string; statuses?: readonly RunStatus[] },
  limit: number,
) {
  return allPages((page) => store.listRuns("owner", { threadId, statuses, ...page }), limit);
}

function allMessages(store: RunStore, query: Omit<MessageQuery, keyof PageQuery>, limit: number) {
  return allPages((page) => store.listMessages("owner", { ...query, ...page }), limit);
}

/** All elements of a list, page by page. Every page but the last one has to be full. */
async function allPages<Element extends { readonly id: string }>(
  read: (page: PageQuery) => Promise<Page<Element>>,
  limit: number,
): Promise<Element[]> {
  const found: Element[] = [];
  for (let after = ""; ; ) {
    const { elements, hasMore } = await read({ after, limit });
    found.push(...elements);
    if (!hasMore) return found;
    expect(elements.length).toBe(limit);
    after = elements.at(-1)?.id ?? "";
  }
}
