/** Each kind of work has a separate limit, and none starves another. */
import { afterEach, describe, expect, it } from "vitest";
import { MemoryAccount } from "../../src/core/memory-account.ts";
import { RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { openMemory } from "./store/sqlite/open-store.ts";
import { FakeServerTools, toolServer } from "./support/fake-server-tools.ts";
import {
  createTestEngine,
  getEvents,
  NEVER,
  replay,
  run,
  runRequest,
  start,
  type TestEngine,
  untilAborted,
} from "./support/test-engine.ts";
import { wrapStore } from "./support/wrapped-store.ts";

let open: TestEngine[] = [];

async function engineWith(...parameters: Parameters<typeof createTestEngine>): Promise<TestEngine> {
  const made = await createTestEngine(...parameters);
  open.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(open.map(({ engine }) => engine.close()));
  open = [];
});

const refusedBy = (limit: string) => ({
  kindName: "RATE_LIMIT",
  limit,
  message: expect.stringContaining(`runs.limits.${limit}`),
});

describe("the limits of runs", () => {
  it("refuse a foreground run, and accept one again when another has ended", async () => {
    const { engine, model } = await engineWith(["hello"], { limits: { maxForegroundRuns: 1 } });
    model.beforeAnswer = untilAborted;
    const first = await start(engine, runRequest("hi", { store: false }));
    const result = first.result();
    await expect(start(engine, runRequest("hi"))).rejects.toMatchObject(refusedBy("max_foreground_runs"));
    await expect(start(engine, runRequest("hi", { store: false }))).rejects.toMatchObject(
      refusedBy("max_foreground_runs"),
    );
    model.beforeAnswer = undefined;
    await first.events[Symbol.asyncIterator]().return?.();
    expect(await result).toMatchObject({ status: RunStatus.CANCELLED });
    expect(await run(engine, runRequest("hi"))).toMatchObject({ status: RunStatus.COMPLETED });
  });

  it("refuse to continue a conversation that does not fit alongside others, before it is read", async () => {
    const account = new MemoryAccount({ limits: { maxHistoryMemoryBytes: 2_000_000 } });
    const memory = await openMemory();
    let reads = 0;
    const store = wrapStore(memory, {
      getRun: (owner, id) => {
        reads += 1;
        return memory.getRun(owner, id);
      },
    });
    const { engine, model } = await engineWith(["hello"], { account, store });
    // It is so large that it is not compressed.
    const large = await run(engine, runRequest("x".repeat(1_400_000)));
    model.beforeAnswer = untilAborted;
    const first = await start(engine, runRequest("hi", { previousRunId: large.id }));
    reads = 0;
    const second = (id: string) =>
      start(engine, runRequest("hi", { previousRunId: id, inheritTools: true, store: true }));
    await expect(second(large.id)).rejects.toMatchObject({
      kindName: "RATE_LIMIT",
      message: expect.stringContaining("limits.max_history_memory"),
    });
    expect(reads).toBe(0);
    await first.events[Symbol.asyncIterator]().return?.();
    await first.result();
    const all = await Promise.allSettled(Array.from({ length: 5 }, () => second(large.id)));
    const started = all.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    expect([started.length, reads]).toEqual([1, 1]);
    model.beforeAnswer = undefined;
    await started[0]?.events[Symbol.asyncIterator]().return?.();
    await started[0]?.result();
  });

  it("name the field whose conversation never fits", async () => {
    const account = new MemoryAccount({ limits: { maxHistoryMemoryBytes: 2_000_000 } });
    const { engine } = await engineWith(["hello"], { account });
    const long = "x".repeat(1_200_000);
    const { id: previousRunId, threadId } = await run(engine, runRequest(long));
    const excess = /^(\S+): the conversation has \d+ bytes, expected at most 2000000/;
    const refusal = (request: ReturnType<typeof runRequest>) =>
      start(engine, request).then(
        () => "started",
        (error: Error) => excess.exec(error.message)?.[1] ?? error.message,
      );
    expect(await refusal(runRequest(long, { previousRunId }))).toBe("previous_run_id");
    expect(await refusal(runRequest(long, { threadId }))).toBe("thread_id");
    expect(await refusal(runRequest(long + long))).toBe("options.request.messages");
    expect(account.usedBytes).toBe(0);
  });

  it("give the memory of a conversation back when its run in the background is over", async () => {
    const account = new MemoryAccount();
    const { engine, model } = await engineWith(["hello"], { account });
    const blocked = Promise.withResolvers<void>();
    model.beforeAnswer = () => blocked.promise;
    const started = await start(engine, runRequest("x".repeat(100_000), { background: true }));
    await expect.poll(() => model.requests.length).toBe(1);
    expect(account.usedBytes).toBeGreaterThanOrEqual(100_000);
    blocked.resolve();
    await started.result();
    await expect.poll(() => account.usedBytes).toBe(0);
  });

  it("read the previous run once for an API and the engine, and give its memory back", async () => {
    const account = new MemoryAccount({ limits: { maxHistoryMemoryBytes: 100_000 } });
    const memory = await openMemory();
    const read: string[] = [];
    const store = wrapStore(memory, {
      getRun: (owner, id) => {
        read.push(id);
        return memory.getRun(owner, id);
      },
    });
    const { engine } = await engineWith(["hello"], { account, store });
    const first = await run(engine, runRequest("x".repeat(3000)));
    const continued = { previousRunId: first.id, threadId: "" };
    const conversation = await engine.openConversation("", continued);
    expect(conversation.previous?.run.steps).toHaveLength(1);
    expect(account.usedBytes).toBeGreaterThan(3000);
    const request = runRequest("hi", { previousRunId: first.id, inheritTools: true });
    const started = await engine.createRun({ request, conversation }, { owner: "", signal: NEVER });
    expect(account.usedBytes).toBeGreaterThan(3000);
    await started.result();
    expect([read, account.usedBytes]).toEqual([[first.id], 0]);
    const missing = { previousRunId: `run_${"0".repeat(32)}`, threadId: "" };
    await expect(engine.openConversation("", missing)).rejects.toThrow("previous_run_id");
    const refused = await engine.openConversation("", continued);
    const wrong = { request: runRequest("hi", { threadId: "thread_1", previousRunId: first.id }) };
    const options = { owner: "", signal: NEVER };
    await expect(engine.createRun({ ...wrong, conversation: refused }, options)).rejects.toThrow("thread_id");
    expect(account.usedBytes).toBe(0);
  });

  it("leave places for background runs of other access keys, however many one key has queued", async () => {
    const { engine, model } = await engineWith(["hello"], {
      limits: { maxBackgroundRuns: 4 },
      account: new MemoryAccount({ isShared: () => true }),
    });
    model.beforeAnswer = untilAborted;
    for (let count = 0; count < 6; count += 1)
      await start(engine, runRequest("hi", { background: true }), "greedy");
    await expect.poll(() => model.requests.length).toBe(3);
    model.beforeAnswer = undefined;
    const modest = await run(engine, runRequest("hi", { background: true }), "modest");
    expect(modest.status).toBe(RunStatus.COMPLETED);
    expect(model.requests).toHaveLength(4);
  });

  it("give the share of an access key back with each of its background runs", async () => {
    const { engine } = await engineWith(["hello"], {
      limits: { maxBackgroundRuns: 4 },
      account: new MemoryAccount({ isShared: () => true }),
    });
    for (let count = 0; count < 5; count += 1) {
      const { status } = await run(engine, runRequest("hi", { background: true }), "steady");
      expect(status).toBe(RunStatus.COMPLETED);
    }
  });

  it("leave places in the queue for runs of other access keys", async () => {
    const { engine } = await engineWith([], {
      limits: { maxBackgroundRuns: 0, maxQueuedRuns: 4 },
      account: new MemoryAccount({ isShared: () => true }),
    });
    const queue = (owner: string) => start(engine, runRequest("hi", { background: true }), owner);
    for (let count = 0; count < 3; count += 1) await queue("greedy");
    await expect(queue("greedy")).rejects.toMatchObject({
      ...refusedBy("max_queued_runs"),
      message: expect.stringContaining("queued runs of one access key"),
    });
    await queue("modest");
    await expect(queue("modest")).rejects.toMatchObject(refusedBy("max_queued_runs"));
  });

  it("release the place of a run that could not be created", async () => {
    const { engine } = await engineWith(["hello"], { limits: { maxForegroundRuns: 1 } });
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(start(engine, runRequest("hi", { previousRunId: "run_x" }))).rejects.toMatchObject({
        kindName: "NOT_FOUND",
        violations: [{ field: "previous_run_id" }],
      });
    expect(await run(engine, runRequest("hi"))).toMatchObject({ status: RunStatus.COMPLETED });
  });

  it("refuse a reader of events, and accept one again when another has left", async () => {
    const { engine } = await engineWith(["hello"], { limits: { maxStreamReaders: 1 } });
    const { id } = await run(engine, runRequest("hi"));
    const reader = engine.streamRun("", id, -1, NEVER)[Symbol.asyncIterator]();
    await reader.next();
    await expect(replay(engine, id)).rejects.toMatchObject(refusedBy("max_stream_readers"));
    await reader.return?.();
    expect(await replay(engine, id)).not.toEqual([]);
    expect(await replay(engine, id)).not.toEqual([]);
  });

  it("let calls of tools wait for each other", async () => {
    let [running, most] = [0, 0];
    const tools = new FakeServerTools(["a"], async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running -= 1;
      return "done";
    });
    const calls = Array.from({ length: 6 }, () => ({ name: "a" }));
    const limits = { maxToolExecutions: 2 };
    const { engine } = await engineWith([calls, "end"], { limits, serverTools: tools.serverTools });
    const over = await run(engine, runRequest("hi", { mcpServers: [toolServer] }));
    expect(over.steps[0]?.toolResults).toHaveLength(6);
    expect(most).toBe(2);
  });

  it("let runs in the foreground continue while the background, the tools and the readers are full", async () => {
    const tools = new FakeServerTools(["stuck"], () => new Promise(() => {}));
    const limits = { maxForegroundRuns: 3, maxBackgroundRuns: 1, maxToolExecutions: 1, maxStreamReaders: 1 };
    const { engine } = await engineWith(
      [(request) => (request.tools.length > 0 ? [{ name: "stuck" }] : "free")],
      {
        limits,
        serverTools: tools.serverTools,
      },
    );
    const stuck = runRequest("hi", { mcpServers: [toolServer], background: true });
    const { run: inBackground } = await start(engine, stuck);
    const queued = await start(engine, stuck);
    const reader = engine.streamRun("", inBackground.id, -1, NEVER)[Symbol.asyncIterator]();
    await reader.next();
    const caller = new AbortController();
    const waiting = await engine.createRun(
      { request: runRequest("hi", { mcpServers: [toolServer] }) },
      { owner: "", signal: caller.signal },
    );
    const waitingResult = waiting.result();
    expect(await run(engine, runRequest("hi"))).toMatchObject({ status: RunStatus.COMPLETED });
    caller.abort();
    expect(await waitingResult).toMatchObject({ status: RunStatus.CANCELLED });
    expect((await engine.getRun("", queued.run.id)).status).toBe(RunStatus.QUEUED);
    await reader.return?.();
    await engine.cancelRun("", inBackground.id);
  });

  it("bound how often a thread is tried that stays busy although the run named has ended", async () => {
    const memory = await openMemory();
    let tries = 0;
    let ended = "";
    const store = wrapStore(memory, {
      appendMessages: async () => {
        tries += 1;
        return { case: "busy", activeRunId: ended };
      },
      createRun: async (creation) => {
        if (ended === "") return memory.createRun(creation);
        tries += 1;
        return { case: "busy", activeRunId: ended };
      },
    });
    const { engine } = await engineWith(["hello"], { store, limits: { threadWaitMs: 300 } });
    ended = (await run(engine, runRequest("hi"))).id;
    await expect(engine.threads.appendMessages("", "thread_x", [])).rejects.toMatchObject({
      name: "ThreadBusyError",
    });
    await expect(start(engine, runRequest("hi", { threadId: "thread_x" }))).rejects.toMatchObject({
      name: "ThreadBusyError",
    });
    expect(tries).toBeLessThan(30);
  });

  it("say which run keeps a thread busy for too long", async () => {
    const { engine, model } = await engineWith(["hello"], { limits: { threadWaitMs: 20 } });
    model.beforeAnswer = untilAborted;
    const thread = await engine.threads.createThread("", { metadata: {}, messages: [] });
    const first = await start(engine, runRequest("hi", { threadId: thread.id }));
    const firstEvents = getEvents(first.events);
    const busy = {
      name: "ThreadBusyError",
      kindName: "RATE_LIMIT",
      message: expect.stringContaining(first.run.id),
    };
    await expect(start(engine, runRequest("hi", { threadId: thread.id }))).rejects.toMatchObject(busy);
    await expect(engine.threads.appendMessages("", thread.id, [])).rejects.toMatchObject(busy);
    await expect(start(engine, runRequest("hi", { previousRunId: first.run.id }))).rejects.toMatchObject({
      name: "RunStateError",
      violations: [{ field: "previous_run_id" }],
    });
    await engine.cancelRun("", first.run.id);
    await firstEvents;
  });
});
