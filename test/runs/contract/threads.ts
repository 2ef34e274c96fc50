import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { type Message, MessageSchema, Role } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { ThreadMessage } from "../../../src/gen/outrigger/v1/thread_pb.ts";
import type { RunCreation } from "../../../src/runs/store.ts";
import type { StoreContext } from "../store-contract.ts";
import {
  collectTexts,
  createdResult,
  createdRun,
  createHistory,
  creation,
  endedRun,
  endRun,
  getClaim,
  message,
  newId,
  thread,
  threadTexts,
} from "./data.ts";

/** An answer with two tool calls. */
function calling(...ids: string[]): Message {
  const content = ids.map((id) => ({ part: { case: "toolCall", value: { id, name: "f" } } as const }));
  return create(MessageSchema, { role: Role.ASSISTANT, content });
}

/** Tests of the messages that runs read, and of forks of threads. */
export function threadTests(context: StoreContext): void {
  it("creates a thread with the input for a run that continues nothing", async () => {
    const { store } = context;
    const input = [message("one"), message("two")];
    const toCreate = { ...creation(), input: () => input };
    const { run } = await createdResult(store, toCreate);
    const found = await store.getThread("owner", run.threadId);
    expect(found).toEqual(
      thread({ id: run.threadId, createdAt: toCreate.run.createdAt, conversation: false }),
    );
    const query = { threadId: run.threadId, order: "oldest first", after: "", limit: 10 } as const;
    expect(await store.listMessages("owner", query)).toEqual({ elements: input, hasMore: false });
    expect(await createHistory(store, run.id)).toEqual([]);
  });

  it("stays on the thread if a run is continued for the first time", async () => {
    const { store } = context;
    const first = await endedRun(store, { input: ["q1"] }, RunStatus.COMPLETED, "a1");
    const second = await createdResult(store, creation({ previousRunId: first.id, input: ["q2"] }));
    expect(second.forked).toBe(false);
    expect(second.run.threadId).toBe(first.threadId);
    expect(await createHistory(store, second.run.id)).toEqual(["q1", "a1"]);
    await endRun(store, second.run, RunStatus.COMPLETED, "a2");
    const third = await createdRun(store, { previousRunId: second.run.id, input: ["q3"] });
    expect(await createHistory(store, third.id)).toEqual(["q1", "a1", "q2", "a2"]);
    expect(await createHistory(store, second.run.id)).toEqual(["q1", "a1"]);
    expect(await threadTexts(store, first.threadId)).toEqual(["q1", "a1", "q2", "a2", "q3"]);
  });

  it("forks the thread if a run was continued before, and no child sees the messages of another", async () => {
    const { store } = context;
    const root = await endedRun(store, { input: ["q"] }, RunStatus.COMPLETED, "a");
    const left = await createdResult(store, creation({ previousRunId: root.id, input: ["left"] }));
    const planned = creation({ previousRunId: root.id, input: ["right"] });
    const right = await createdResult(store, planned);
    const third = await createdResult(store, creation({ previousRunId: root.id, input: ["third"] }));
    expect([left.forked, right.forked, third.forked]).toEqual([false, true, true]);
    expect(left.run.threadId).toBe(root.threadId);
    expect(right.run.threadId).toBe(planned.run.threadId);
    await endRun(store, left.run, RunStatus.COMPLETED, "left answer");
    await endRun(store, right.run, RunStatus.COMPLETED, "right answer");
    const leftChild = await createdRun(store, { previousRunId: left.run.id });
    const rightChild = await createdRun(store, { previousRunId: right.run.id });
    expect(await createHistory(store, leftChild.id)).toEqual(["q", "a", "left", "left answer"]);
    expect(await createHistory(store, rightChild.id)).toEqual(["q", "a", "right", "right answer"]);
    expect(await createHistory(store, third.run.id)).toEqual(["q", "a"]);
    expect(await threadTexts(store, right.run.threadId)).toEqual([
      "q",
      "a",
      "right",
      "right answer",
      "hello",
    ]);
    expect((await store.getThread("owner", right.run.threadId))?.conversation).toBe(false);
  });

  it("forks after the run that is continued, not at the end of the thread", async () => {
    const { store } = context;
    const first = await endedRun(store, { input: ["q1"] }, RunStatus.COMPLETED, "a1");
    const second = await endedRun(
      store,
      { previousRunId: first.id, input: ["q2"] },
      RunStatus.COMPLETED,
      "a2",
    );
    const third = await endedRun(
      store,
      { previousRunId: second.id, input: ["q3"] },
      RunStatus.COMPLETED,
      "a3",
    );
    const branch = await createdRun(store, { previousRunId: second.id, input: ["other"] });
    expect(third.threadId).toBe(first.threadId);
    expect(branch.threadId).not.toBe(first.threadId);
    expect(await createHistory(store, branch.id)).toEqual(["q1", "a1", "q2", "a2"]);
  });

  it("forks a fork", async () => {
    const { store } = context;
    const root = await endedRun(store, { input: ["q"] }, RunStatus.COMPLETED, "a");
    await endedRun(store, { previousRunId: root.id }, RunStatus.COMPLETED);
    const fork = await endedRun(store, { previousRunId: root.id, input: ["f"] }, RunStatus.COMPLETED, "fa");
    await endedRun(store, { previousRunId: fork.id }, RunStatus.COMPLETED);
    const deep = await createdRun(store, { previousRunId: fork.id });
    expect(await createHistory(store, deep.id)).toEqual(["q", "a", "f", "fa"]);
    expect(new Set([root.threadId, fork.threadId, deep.threadId]).size).toBe(3);
  });

  it("forks even if the runs that continued added no messages", async () => {
    const { store } = context;
    const root = await endedRun(store, { input: ["q"] }, RunStatus.COMPLETED, "a");
    const first = await createdResult(store, creation({ previousRunId: root.id, input: [] }));
    const second = await createdResult(store, creation({ previousRunId: root.id, input: [] }));
    expect([first.forked, second.forked]).toEqual([false, true]);
  });

  it("writes the thread that a run got into the run and into its first events", async () => {
    const { store } = context;
    const root = await endedRun(store);
    const toCreate = creation({ previousRunId: root.id });
    const { run } = await createdResult(store, toCreate);
    expect(run).toEqual({ ...toCreate.run, threadId: root.threadId });
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
    const [first] = await store.readEvents(run.id, -1, 1);
    expect(first?.event).toEqual({ case: "run", value: run });
  });

  it("shows the messages that a run reads to the function that gives its input", async () => {
    const { store } = context;
    const shown: string[][] = [];
    const withInput = (toCreate: RunCreation, text: string): RunCreation => ({
      ...toCreate,
      input: (history) => {
        shown.push(collectTexts(history));
        return [message(text, { runId: toCreate.run.id })];
      },
    });
    const { run } = await createdResult(store, withInput(creation(), "q"));
    await endRun(store, run, RunStatus.COMPLETED, "a");
    await createdRun(store, { previousRunId: run.id, input: ["left"] });
    await createdResult(store, withInput(creation({ previousRunId: run.id }), "right"));
    expect(shown).toEqual([[], ["q", "a"]]);
  });

  it("creates nothing if the function that gives the input throws", async () => {
    const { store } = context;
    const waiting = await endedRun(store, {}, RunStatus.REQUIRES_ACTION, "call");
    const refuse = () => {
      throw new InvalidRequestError("a refusal of the test");
    };
    const toCreate = { ...creation({ previousRunId: waiting.id }), input: refuse };
    await expect(store.createRun(toCreate)).rejects.toThrow(InvalidRequestError);
    expect(await store.getRun("owner", toCreate.run.id)).toBeUndefined();
    expect((await store.getRun("owner", waiting.id))?.run).toEqual(waiting);
    expect(await threadTexts(store, waiting.threadId)).toEqual(["hello", "call"]);
    const first = { ...creation(), input: refuse };
    await expect(store.createRun(first)).rejects.toThrow(InvalidRequestError);
    expect(await store.getThread("owner", first.run.threadId)).toBeUndefined();
  });

  it("lists the input of a run without its output and without earlier messages", async () => {
    const { store } = context;
    const root = await endedRun(store, { input: ["q"] }, RunStatus.COMPLETED, "a");
    const toCreate = creation({ previousRunId: root.id });
    const input = [message("one"), message("two")].map((each) => ({ ...each, runId: toCreate.run.id }));
    const { run } = await createdResult(store, { ...toCreate, input: () => input });
    await endRun(store, run);
    const query = { inputRunId: run.id, order: "oldest first", after: "", limit: 10 } as const;
    expect((await store.listMessages("owner", query)).elements).toEqual(input);
    expect((await store.listMessages("someone", query)).elements).toEqual([]);
  });

  it("keeps the form in which an API received a message", async () => {
    const { store } = context;
    const original = { ...message("hello"), originJson: '{"type":"message"}' };
    const { run } = await createdResult(store, { ...creation(), input: () => [original] });
    expect(await store.getMessage("owner", original.id)).toEqual(original);
    expect(await store.getMessage("someone", original.id)).toBeUndefined();
    expect(await store.getMessage("owner", newId("msg"))).toBeUndefined();
    expect((await store.getRun("owner", run.id))?.run).toEqual(run);
  });

  it("finds the latest answer of an owner by the id of its first tool call", async () => {
    const { store } = context;
    const answers: ThreadMessage[] = [];
    for (const id of ["call_1", "call_1", ""]) {
      const run = await createdRun(store);
      await nextTurn();
      const answer = message("", { message: calling(id, "call_1b"), runId: run.id, output: true });
      await store.write({ claim: getClaim(run.id), messages: [answer] });
      answers.push(answer);
    }
    const found = await store.findCall("owner", "call_1");
    expect(found?.id).toBe(answers[1]?.id);
    expect(found?.message).toEqual(answers[1]?.message);
    expect(await store.findCall("someone", "call_1")).toBeUndefined();
    expect(await store.findCall("owner", "call_1b")).toBeUndefined();
    expect(await store.findCall("owner", "")).toBeUndefined();
    await store.deleteRun("owner", found?.runId ?? "");
    expect((await store.findCall("owner", "call_1"))?.id).toBe(answers[0]?.id);
  });

  it("stores answers whose call ids are too long or unusual for an index", async () => {
    const { store } = context;
    for (const id of ["c".repeat(100_000), "call\u0000"]) {
      const answer = message("", { message: calling(id), output: true });
      await store.createThread("owner", thread(), [answer]);
      expect(await store.getMessage("owner", answer.id)).toEqual(answer);
      expect(await store.findCall("owner", id)).toBeUndefined();
    }
  });

  it("reads thousands of messages in order", async () => {
    const { store } = context;
    const texts = Array.from({ length: 2500 }, (_, index) => `message ${index}`);
    const long = thread();
    await store.createThread(
      "owner",
      long,
      texts.map((text) => message(text)),
    );
    const run = await createdRun(store, { threadId: long.id });
    await nextTurn();
    expect(await createHistory(store, run.id)).toEqual(texts);
    await nextTurn();
    await store.write({
      claim: getClaim(run.id),
      messages: [message("late", { runId: run.id, output: true })],
    });
    expect(await createHistory(store, run.id)).toEqual(texts);
  });
}
