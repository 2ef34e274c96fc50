import { expect, it } from "vitest";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { StoreContext } from "../store-contract.ts";
import {
  createdResult,
  createdRun,
  createHistory,
  creation,
  endedRun,
  endRun,
  holder,
  message,
  newId,
  thread,
  threadTexts,
} from "./data.ts";

/** Threads that callers create. */
export function conversationTests(context: StoreContext): void {
  it("keeps a conversation with its metadata and its messages", async () => {
    const { store } = context;
    const conversation = thread({ metadata: { topic: "weather" } });
    await store.createThread("owner", conversation, [message("one"), message("two")]);
    expect(await store.getThread("owner", conversation.id)).toEqual(conversation);
    expect(await threadTexts(store, conversation.id)).toEqual(["one", "two"]);
  });

  it("finds a message in the thread that is named", async () => {
    const { store } = context;
    const [one, two, hello] = [thread(), thread(), message("hello")];
    await store.createThread("owner", one, [hello]);
    await store.createThread("owner", two, [message("x")]);
    expect(await store.getMessage("owner", hello.id, one.id)).toEqual(hello);
    expect(await store.getMessage("owner", hello.id, two.id)).toBeUndefined();
    expect(await store.getMessage("someone", hello.id, one.id)).toBeUndefined();
  });

  it("does not show a conversation to another owner", async () => {
    const { store } = context;
    const conversation = thread();
    const hello = message("hello");
    await store.createThread("owner", conversation, [hello]);
    expect(await store.getThread("someone", conversation.id)).toBeUndefined();
    expect(await store.updateThread("someone", conversation)).toBe(false);
    expect(await store.appendMessages("someone", conversation.id, [message("x")])).toEqual({
      case: "missing",
    });
    expect(await store.getMessage("someone", hello.id)).toBeUndefined();
    expect(await store.deleteMessage("someone", conversation.id, hello.id)).toBe(false);
    expect(await store.deleteThread("someone", conversation.id)).toBe(false);
    expect(await threadTexts(store, conversation.id, "someone")).toEqual([]);
    const stolen = creation({ owner: "someone", threadId: conversation.id });
    expect(await store.createRun(stolen)).toEqual({ case: "missing", field: "thread_id" });
    expect(await threadTexts(store, conversation.id)).toEqual(["hello"]);
  });

  it("measures what a run or a thread continues, for its owner", async () => {
    const { store } = context;
    const conversation = thread();
    // Texts that are not compressed.
    const text = "x".repeat(2000);
    await store.createThread("owner", conversation, [message(text), message(text)]);
    const measure = async (owner: string, previousRunId: string, threadId: string) =>
      store.measureConversation(owner, { previousRunId, threadId });
    const ofThread = async (owner: string) => (await measure(owner, "", conversation.id)).messages;
    const whole = await ofThread("owner");
    expect(whole).toBeGreaterThan(4000);
    expect(whole).toBeLessThan(5000);
    expect(await ofThread("someone")).toBe(0);
    const first = await endedRun(store, { threadId: conversation.id });
    await store.appendMessages("owner", conversation.id, [message(text)]);
    const ofRun = await measure("owner", first.id, "");
    expect(ofRun.messages).toBeGreaterThanOrEqual(whole);
    expect(ofRun.messages).toBeLessThan(await ofThread("owner"));
    expect((await measure("owner", "", conversation.id)).run).toBe(0);
    const none = { messages: 0, run: 0 };
    expect(await measure("someone", first.id, "")).toEqual(none);
    expect(await measure("owner", newId("run"), "")).toEqual(none);
  });

  it("measures a run with its request and its steps", async () => {
    const { store } = context;
    const measure = async (previousRunId: string) =>
      (await store.measureConversation("owner", { previousRunId, threadId: "" })).run;
    const small = creation();
    const large = creation();
    large.request.metadata = { text: "x".repeat(2000) };
    for (const created of [small, large]) await store.createRun(created);
    const base = await measure(small.run.id);
    expect(base).toBeGreaterThan(0);
    expect((await measure(large.run.id)) - base).toBeGreaterThan(1900);
  });

  it("replaces the metadata and nothing else", async () => {
    const { store } = context;
    const conversation = thread({ metadata: { a: "1", b: "2" } });
    await store.createThread("owner", conversation, [message("one")]);
    const changed = { ...conversation, metadata: { b: "3" } };
    expect(await store.updateThread("owner", changed)).toBe(true);
    expect(await store.getThread("owner", conversation.id)).toEqual(changed);
    expect(await threadTexts(store, conversation.id)).toEqual(["one"]);
    expect(await store.updateThread("owner", thread())).toBe(false);
  });

  it("appends the messages of runs and of callers in order", async () => {
    const { store } = context;
    const conversation = thread();
    await store.createThread("owner", conversation, [message("start")]);
    const first = await endedRun(
      store,
      { threadId: conversation.id, input: ["q1"] },
      RunStatus.COMPLETED,
      "a1",
    );
    expect(first.threadId).toBe(conversation.id);
    expect(await store.appendMessages("owner", conversation.id, [message("aside")])).toEqual({
      case: "appended",
    });
    const second = await createdRun(store, { threadId: conversation.id, input: ["q2"] });
    expect(await createHistory(store, second.id)).toEqual(["start", "q1", "a1", "aside"]);
    expect(await createHistory(store, first.id)).toEqual(["start"]);
    expect(await threadTexts(store, conversation.id)).toEqual(["start", "q1", "a1", "aside", "q2"]);
  });

  it("is busy while one of its runs is queued or in progress", async () => {
    const { store } = context;
    const conversation = thread();
    await store.createThread("owner", conversation, []);
    const queued = await createdRun(store, { threadId: conversation.id, queued: true });
    const busy = { case: "busy", activeRunId: queued.id };
    expect(await store.createRun(creation({ threadId: conversation.id }))).toEqual(busy);
    expect(await store.appendMessages("owner", conversation.id, [message("x")])).toEqual(busy);
    await store.claim(queued.id, holder);
    expect(await store.createRun(creation({ threadId: conversation.id }))).toEqual(busy);
    await endRun(store, queued);
    expect(await store.appendMessages("owner", conversation.id, [message("x")])).toEqual({
      case: "appended",
    });
    expect((await store.createRun(creation({ threadId: conversation.id }))).case).toBe("created");
  });

  it("concludes its latest run if that one requires action", async () => {
    const { store } = context;
    const conversation = thread();
    await store.createThread("owner", conversation, []);
    const waiting = await endedRun(store, { threadId: conversation.id }, RunStatus.REQUIRES_ACTION, "call");
    expect(await store.appendMessages("owner", conversation.id, [message("aside")])).toEqual({
      case: "appended",
    });
    const next = await createdRun(store, { threadId: conversation.id });
    expect((await store.getRun("owner", waiting.id))?.run.status).toBe(RunStatus.COMPLETED);
    expect(await createHistory(store, next.id)).toEqual(["hello", "call", "aside"]);
  });

  it("forks if one of its runs is continued after something was added", async () => {
    const { store } = context;
    const conversation = thread();
    await store.createThread("owner", conversation, []);
    const run = await endedRun(store, { threadId: conversation.id, input: ["q"] }, RunStatus.COMPLETED, "a");
    await store.appendMessages("owner", conversation.id, [message("aside")]);
    const fork = await createdResult(store, creation({ previousRunId: run.id, input: ["f"] }));
    expect(fork.forked).toBe(true);
    expect(await createHistory(store, fork.run.id)).toEqual(["q", "a"]);
    expect(await threadTexts(store, conversation.id)).toEqual(["q", "a", "aside"]);
  });

  it("says that a thread or a previous run is missing", async () => {
    const { store } = context;
    const threadId = newId("thread");
    expect(await store.createRun(creation({ threadId }))).toEqual({ case: "missing", field: "thread_id" });
    const previousRunId = newId("run");
    const missing = { case: "missing", field: "previous_run_id" };
    expect(await store.createRun(creation({ previousRunId }))).toEqual(missing);
    expect(await store.appendMessages("owner", threadId, [message("x")])).toEqual({ case: "missing" });
    expect(await store.getThread("owner", threadId)).toBeUndefined();
    expect(await store.deleteThread("owner", threadId)).toBe(false);
  });

  it("removes a message from a thread, and keeps it in its forks", async () => {
    const { store } = context;
    const secret = message("secret");
    const { run } = await createdResult(store, { ...creation(), input: () => [secret, message("kept")] });
    await endRun(store, run, RunStatus.COMPLETED, "a");
    await createdRun(store, { previousRunId: run.id });
    const fork = await createdRun(store, { previousRunId: run.id, input: [] });
    const secretId = secret.id;
    expect(await store.deleteMessage("owner", newId("thread"), secretId)).toBe(false);
    expect(await store.deleteMessage("owner", run.threadId, secretId)).toBe(true);
    expect(await store.deleteMessage("owner", run.threadId, secretId)).toBe(false);
    expect(await threadTexts(store, run.threadId)).toEqual(["kept", "a", "hello"]);
    expect(await threadTexts(store, fork.threadId)).toEqual(["secret", "kept", "a"]);
    expect(await store.getMessage("owner", secretId)).toEqual(secret);
    expect(await store.deleteMessage("owner", fork.threadId, secretId)).toBe(true);
    expect(await store.getMessage("owner", secretId)).toBeUndefined();
  });
}
