import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  AuthenticationError,
  attemptsOf,
  Client,
  ConfigurationError,
  ErrorKind,
  EventStream,
  FinalResponse,
  FinishReason_Reason,
  functionTool,
  type ModelClient,
  RateLimitError,
  SDKError,
  ServerError,
  textOf,
  toolCallsOf,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { AttemptSchema } from "../../../src/gen/outrigger/v1/attempt_pb.ts";
import {
  type GenerateResult,
  GenerateResultSchema,
  type StepResult,
  GenerateResult_StopReason as StopReason,
} from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { type ToolCall, ToolResultSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { StreamEventSchema } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { StepContext, ToolExecutor } from "../../../src/generation/loop/step-tools.ts";
import { type LoopItem, type LoopOptions, runToolLoop } from "../../../src/generation/loop/tool-loop.ts";
import { withAttempts } from "../../../src/middleware/attempts.ts";
import { ScriptedModel, type Turn } from "../support/scripted-model.ts";

const tools = ["a", "b", "ask_person"].map((name) => functionTool({ name }));

/** Executes every tool but `ask_person`, and records its calls. */
class NotingExecutor implements ToolExecutor {
  readonly executed: string[] = [];
  run: (call: ToolCall, context: StepContext) => Promise<string> = async ({ name }) => `result of ${name}`;

  isActive(name: string): boolean {
    return name === "a" || name === "b";
  }

  execute(calls: readonly ToolCall[], context: StepContext) {
    const outcomes = calls.map(async (call) => {
      this.executed.push(call.id);
      const text = await this.run(call, context);
      const result = create(ToolResultSchema, {
        toolCallId: call.id,
        content: [{ part: { case: "text", value: text } }],
      });
      return { result };
    });
    return Promise.all(outcomes);
  }
}

async function runLoop(turns: readonly Turn[], options: Partial<LoopOptions> = {}) {
  const model = new ScriptedModel(turns);
  const client = new Client({ providers: { scripted: model } });
  const executor = new NotingExecutor();
  const request = create(RequestSchema, { model: "m", messages: [userMessage("hi")], tools });
  const items: LoopItem[] = [];
  const loop = runToolLoop({
    client,
    request,
    executor,
    isStreamed: false,
    maxToolRounds: 5,
    ...options,
  });
  let next = await loop.next();
  for (; next.done !== true; next = await loop.next()) items.push(next.value);
  const result: GenerateResult = next.value;
  return { model, executor, items, result };
}

describe.each([false, true])("runToolLoop(), isStreamed: %s", (isStreamed) => {
  it("gives an answer without tools as one step", async () => {
    const { result, items } = await runLoop(["hello"], { isStreamed });
    expect(textOf(result.response)).toBe("hello");
    expect(result.stopReason).toBe(StopReason.COMPLETED);
    expect(items.filter(({ case: kind }) => kind === "stepFinish")).toHaveLength(1);
    expect(items.some(({ case: kind }) => kind === "events")).toBe(isStreamed);
    expect(result.attempts).toMatchObject([{ provider: "scripted", model: "m", step: 1 }]);
  });

  it("sends the results of all calls of a step in one request, in their order, and sums the usage", async () => {
    const { result, model } = await runLoop([[{ name: "a" }, { name: "b" }], "done"], { isStreamed });
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 4]);
    const answered = model.requests[1]?.messages.slice(2).map(({ toolCallId }) => toolCallId);
    expect(answered).toEqual(result.steps[0]?.toolResults.map(({ toolCallId }) => toolCallId));
    expect(result.totalUsage).toMatchObject({ inputTokens: 20, outputTokens: 10, totalTokens: 30 });
  });

  it.each([
    [0, 1, StopReason.TOOL_CALLS, 0],
    [1, 2, StopReason.MAX_TOOL_ROUNDS, 1],
    [3, 4, StopReason.MAX_TOOL_ROUNDS, 3],
  ])("executes tools in at most %i rounds", async (maxToolRounds, steps, stopReason, executed) => {
    const { result, executor } = await runLoop([[{ name: "a" }]], { isStreamed, maxToolRounds });
    expect(result.steps).toHaveLength(steps);
    expect(result.stopReason).toBe(stopReason);
    expect(executor.executed).toHaveLength(executed);
    expect(result.steps.at(-1)?.toolResults).toEqual([]);
  });

  it("executes the active tools of a step with passive ones, and leaves the rest to the caller", async () => {
    const calls = [{ name: "ask_person" }, { name: "a" }];
    const { result, executor } = await runLoop([calls], { isStreamed });
    expect(result.stopReason).toBe(StopReason.TOOL_CALLS);
    expect(executor.executed).toHaveLength(1);
    expect(result.steps[0]?.toolResults).toHaveLength(1);
  });

  it("continues an earlier result after its open calls were answered", async () => {
    const first = await runLoop([[{ name: "ask_person" }]], { isStreamed });
    const [step] = first.result.steps;
    if (step === undefined) throw new Error("no step");
    step.toolResults.push(create(ToolResultSchema, { toolCallId: "call_1_0" }));
    const previous = { previousSteps: [step], previousAttempts: first.result.attempts };
    const { result, model, items } = await runLoop(["thanks"], { isStreamed, ...previous });
    expect(model.requests[0]?.messages).toHaveLength(3);
    expect(result.steps).toHaveLength(2);
    expect(items.at(-1)).toMatchObject({ case: "stepFinish", step: 2 });
    expect(result.totalUsage?.totalTokens).toBe(30);
    expect(result.attempts.map(({ step }) => step)).toEqual([1, 2]);
  });

  it.each([
    ["maxSteps", { maxSteps: 2 }, StopReason.MAX_STEPS, 2],
    ["maxTotalTokens", { maxTotalTokens: 40 }, StopReason.MAX_TOTAL_TOKENS, 3],
    ["maxTotalTokens as a bigint", { maxTotalTokens: 45n }, StopReason.MAX_TOTAL_TOKENS, 3],
    ["maxCostNanoUsd", { maxCostNanoUsd: 2000n }, StopReason.MAX_COST, 2],
    ["maxToolCalls", { maxToolCalls: 3 }, StopReason.MAX_TOOL_CALLS, 4],
  ])("executes no further tool once %s is reached", async (_name, limits, stopReason, steps) => {
    const { result, executor } = await runLoop([[{ name: "a" }]], { isStreamed, maxToolRounds: 9, limits });
    expect(result.stopReason).toBe(stopReason);
    expect(result.steps).toHaveLength(steps);
    expect(executor.executed).toHaveLength(steps - 1);
    expect(result.steps.at(-1)?.toolResults).toEqual([]);
  });

  it("asks stopWhen after each round, with all steps so far", async () => {
    const seen: number[] = [];
    const stopWhen = async (steps: readonly StepResult[]) => {
      seen.push(steps.at(-1)?.toolResults.length ?? -1);
      return steps.length === 2;
    };
    const { result, model } = await runLoop([[{ name: "a" }, { name: "b" }]], { isStreamed, stopWhen });
    expect(result.stopReason).toBe(StopReason.STOP_WHEN);
    expect([seen, model.requests.length]).toEqual([[2, 2], 2]);
    const finished = await runLoop(["done"], { isStreamed, stopWhen: () => expect.fail("was asked") });
    expect(finished.result.stopReason).toBe(StopReason.COMPLETED);
  });

  it.each([
    [{ name: "a" }, "done", StopReason.COMPLETED, 2],
    [{ name: "ask_person" }, "never", StopReason.TOOL_CALLS, 1],
  ])("concludes a step that was answered before: %o", async (call, next, stopReason, steps) => {
    const first = await runLoop([[call]], { isStreamed, maxToolRounds: 0 });
    const [answeredStep] = first.result.steps;
    const { result, items, model } = await runLoop([next], { isStreamed, answeredStep });
    expect(result.stopReason).toBe(stopReason);
    expect(result.steps).toHaveLength(steps);
    expect(items[0]).toMatchObject({ case: "stepFinish", step: 1 });
    expect(model.requests).toHaveLength(steps - 1);
    expect(result.totalUsage?.totalTokens).toBe(15 * steps);
  });

  it("asks stopWhen about the steps of an earlier result first", async () => {
    const first = await runLoop([[{ name: "a" }]], { isStreamed, maxToolRounds: 1 });
    const previousSteps = first.result.steps.slice(0, 1);
    const { result, model } = await runLoop(["never"], { isStreamed, previousSteps, stopWhen: () => true });
    expect([result.stopReason, result.steps.length]).toEqual([StopReason.STOP_WHEN, 1]);
    expect(model.requests).toEqual([]);
  });

  it.each([
    ["rounds", { maxToolRounds: 1 }, StopReason.MAX_TOOL_ROUNDS],
    ["tool calls", { limits: { maxToolCalls: 1 } }, StopReason.MAX_TOOL_CALLS],
    ["steps", { limits: { maxSteps: 2 } }, StopReason.MAX_STEPS],
    ["cost", { limits: { maxCostNanoUsd: 2000n } }, StopReason.MAX_COST],
  ])("counts the %s of an earlier result for its limit", async (_name, limits, stopReason) => {
    const first = await runLoop([[{ name: "a" }]], { isStreamed, maxToolRounds: 1 });
    const previousSteps = first.result.steps.slice(0, 1);
    const { result, executor, model } = await runLoop([[{ name: "a" }]], {
      isStreamed,
      previousSteps,
      ...limits,
    });
    expect([result.stopReason, executor.executed, model.requests.length]).toEqual([stopReason, [], 1]);
  });

  it.each([FinishReason_Reason.LENGTH, FinishReason_Reason.CONTENT_FILTER, FinishReason_Reason.STOP])(
    "does not execute the calls of an answer that ended with finish reason %i",
    async (reason) => {
      const { result, executor } = await runLoop([{ calls: [{ name: "a" }], reason }], { isStreamed });
      expect(result.stopReason).toBe(StopReason.COMPLETED);
      expect([executor.executed, result.steps.length]).toEqual([[], 1]);
    },
  );

  it("answers unknown tools alongside active ones, in the order of the calls", async () => {
    const calls = [{ name: "x" }, { name: "a" }, { name: "y" }];
    const { result, executor } = await runLoop([calls, "done"], { isStreamed });
    const [step] = result.steps;
    expect(step?.toolResults.map(({ failed }) => failed)).toEqual([true, false, true]);
    expect(step?.toolResults.map(({ toolCallId }) => toolCallId)).toEqual(
      toolCallsOf(step?.response).map(({ id }) => id),
    );
    expect(executor.executed).toHaveLength(1);
  });

  it("gives the usage of all answers with a failure between steps, and lists the attempts", async () => {
    const failure = await runLoop([[{ name: "a" }], new AuthenticationError("revoked")], {
      isStreamed,
    }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AuthenticationError);
    expect(failure).toMatchObject({ outputStarted: true, usage: { totalTokens: 15 } });
    const attempts = failure instanceof SDKError ? attemptsOf(failure) : [];
    expect(attempts.map(({ step, error }) => [step, error?.message])).toEqual([
      [1, undefined],
      [2, "revoked"],
    ]);
  });

  it("gives the usage with a failure of the executor, too", async () => {
    const executor = new NotingExecutor();
    executor.run = async () => {
      throw new ConfigurationError("no such worker");
    };
    const failure = runLoop([[{ name: "a" }]], { isStreamed, executor });
    await expect(failure).rejects.toMatchObject({ name: "ConfigurationError", usage: { totalTokens: 15 } });
  });

  it("refuses an executor that does not answer every call", async () => {
    const executor = { isActive: () => true, execute: async () => [] };
    const failure = runLoop([[{ name: "a" }]], { isStreamed, executor });
    await expect(failure).rejects.toThrow("expected 1 tool results, found 0");
  });

  it("lists at most the latest 256 attempts", async () => {
    const { result } = await runLoop([[{ name: "a" }]], { isStreamed, maxToolRounds: 300 });
    expect(result.steps).toHaveLength(301);
    expect(result.attempts.map(({ step }) => step)).toEqual(
      Array.from({ length: 256 }, (_, index) => index + 46),
    );
  });

  it("sends the request itself first, and shares one list of messages between all later steps", async () => {
    const model = new ScriptedModel([[{ name: "a" }]]);
    const lists = new Set<unknown>();
    const noting: ModelClient = {
      complete(request, options) {
        lists.add(request.messages);
        return model.complete(request, options);
      },
      stream(request, options) {
        lists.add(request.messages);
        return model.stream(request, options);
      },
    };
    await runLoop([], { isStreamed, client: noting, maxToolRounds: 20 });
    expect(lists.size).toBe(2);
  });

  it("leaves the content out of the result's response if the request asks for it, but not out of steps", async () => {
    const request = create(RequestSchema, {
      model: "m",
      messages: [userMessage("hi")],
      tools,
      finalResponse: FinalResponse.WITHOUT_CONTENT,
    });
    const { result, model } = await runLoop([[{ name: "a" }], "done"], { isStreamed, request });
    expect(result.response?.message?.content).toEqual([]);
    expect(textOf(result.steps.at(-1)?.response)).toBe("done");
    expect(toolCallsOf(model.requests[1]?.messages[1])).toHaveLength(1);
  });

  it("passes the failed attempts of a middleware on, before the one that answered", async () => {
    const model = new ScriptedModel(["hello"]);
    const earlier = {
      startedAt: { seconds: 1000n },
      elapsed: { seconds: 2n },
      retryDelay: { seconds: 4n, nanos: 500_000_000 },
    };
    const client = new Client({
      providers: { scripted: model },
      middleware: [
        async (request, next) =>
          withAttempts(await next(request), [create(AttemptSchema, { provider: "other", ...earlier })]),
      ],
    });
    const { result } = await runLoop([], { isStreamed, client });
    expect(result.attempts).toMatchObject([
      { provider: "other", step: 1 },
      { provider: "scripted", step: 1, startedAt: { seconds: 1006n, nanos: 500_000_000 } },
    ]);
  });
});

describe("runToolLoop()", () => {
  it("passes the events of a step on in the batches in which they came", async () => {
    const { items } = await runLoop(["hello"], { isStreamed: true });
    const batches = items.flatMap((item) => (item.case === "events" ? [item.events] : []));
    expect(batches.map((events) => events.length)).toEqual(batches.map(() => 1));
    const cases = batches.flat().map(({ event }) => event.case);
    expect(cases).toEqual(["streamStart", "textStart", "textDelta", "textEnd", "finish"]);
  });

  it("retries a stream whose first batch already has the failure", async () => {
    let calls = 0;
    const model = new ScriptedModel(["hello"]);
    const client: ModelClient = {
      complete: (request, options) => model.complete(request, options),
      stream(request, options) {
        calls += 1;
        return calls === 1 ? brokenAtOnce() : model.stream(request, options);
      },
    };
    const retry = { baseDelay: 0, jitter: false };
    const { result, items } = await runLoop([], { isStreamed: true, client, retry });
    expect(textOf(result.response)).toBe("hello");
    expect(items.filter((item) => item.case === "events" && item.events[0]?.event.case === "error")).toEqual(
      [],
    );
    expect(result.attempts.map(({ error }) => error?.kind)).toEqual([ErrorKind.SERVER, undefined]);
  });

  it.each(["totalMs", "perStepMs"])("accepts a limit of %s that no timer can wait for", async (name) => {
    const model = new ScriptedModel(["hello"]);
    model.beforeAnswer = (signal) => sleep(20, undefined, { signal });
    const client = new Client({ providers: { scripted: model } });
    const { result } = await runLoop([], { client, timeouts: { [name]: 2 ** 31 } });
    expect(textOf(result.response)).toBe("hello");
  });

  it.each(["totalMs", "perStepMs"])("ends a call at a limit of %s of one millisecond", async (name) => {
    const model = new ScriptedModel(["hello"]);
    model.beforeAnswer = (signal) => sleep(60_000, undefined, { signal });
    const client = new Client({ providers: { scripted: model } });
    const running = runLoop([], { client, timeouts: { [name]: 1 } });
    await expect(running).rejects.toThrow("exceeded its time limit of 1 ms");
  });

  it("aborts the signal of tools that still run when another tool fails the generation", async () => {
    const executor = new NotingExecutor();
    const aborted = Promise.withResolvers<unknown>();
    const failure = new ConfigurationError("no such worker");
    executor.run = async ({ name }, { signal }) => {
      if (name === "b") throw failure;
      signal.addEventListener("abort", () => aborted.resolve(signal.reason), { once: true });
      return new Promise(() => {});
    };
    const running = runLoop([[{ name: "a" }, { name: "b" }]], { executor });
    await expect(running).rejects.toThrow("no such worker");
    expect(await aborted.promise).toMatchObject({ message: "no such worker" });
  });

  it("notes the wait for a retry with the attempt before it", async () => {
    const turns = [new ServerError("down"), new ServerError("down"), "hello"];
    const retry = { baseDelay: 0.01, backoffMultiplier: 3, jitter: false };
    const { result } = await runLoop(turns, { retry });
    const waits = result.attempts.map(({ retryDelay }) => retryDelay?.nanos);
    expect(waits).toEqual([10_000_000, 30_000_000, undefined]);
  });

  it("aborts nothing if it is closed after its end", async () => {
    const model = new ScriptedModel([[{ name: "a" }], "done"]);
    const executor = new NotingExecutor();
    const signals: AbortSignal[] = [];
    executor.run = async (_call, { signal }) => {
      signals.push(signal);
      return "fine";
    };
    const request = create(RequestSchema, { model: "m", messages: [userMessage("hi")], tools });
    const client = new Client({ providers: { scripted: model } });
    const loop = runToolLoop({ client, request, executor, isStreamed: false, maxToolRounds: 5 });
    let next = await loop.next();
    while (next.done !== true) next = await loop.next();
    await loop.return(next.value);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  it.each([
    [{ totalMs: 40_000 }, 40_000],
    [{ perStepMs: 30_000 }, 30_000],
    [{ totalMs: 40_000, perStepMs: 30_000 }, 30_000],
    [{ totalMs: 20_000, perStepMs: 30_000 }, 20_000],
    [{}, Infinity],
  ])("gives each call the deadline of the limits %o", async (timeouts, limitMs) => {
    const deadlines: (number | undefined)[] = [];
    const model = new ScriptedModel(["hello"]);
    const client: ModelClient = {
      complete(request, options) {
        deadlines.push(options?.deadline);
        return model.complete(request, options);
      },
      stream: () => expect.fail("was called"),
    };
    const since = performance.now();
    await runLoop([], { client, timeouts });
    expect(deadlines[0]).toBeGreaterThanOrEqual(since + limitMs);
    expect(deadlines[0]).toBeLessThanOrEqual(performance.now() + limitMs);
  });

  it("reports an answer before tools are executed, and none whose calls are left to the caller", async () => {
    const told: (readonly [step: number, executed: number])[] = [];
    const executor = new NotingExecutor();
    const onAnswer = async (step: number) => void told.push([step, executor.executed.length]);
    await runLoop([[{ name: "a" }], "done"], { executor, onAnswer });
    await runLoop([[{ name: "ask_person" }]], { executor, onAnswer });
    expect(told).toEqual([[1, 0]]);
  });

  it("fails if the stream of a client ends without its last event", async () => {
    async function* batches() {
      yield [create(StreamEventSchema, { sequence: 0, event: { case: "streamStart", value: {} } })];
    }
    const client: ModelClient = {
      complete: () => expect.fail("was called"),
      stream: () => new EventStream(batches()),
    };
    const failure = runLoop([], { isStreamed: true, client, retry: { maxRetries: 0 } });
    await expect(failure).rejects.toMatchObject({
      kind: ErrorKind.STREAM,
      message: "the stream ended without a finish event",
    });
  });

  it("yields no more events after its signal was aborted, even if the stream has some", async () => {
    async function* batches() {
      for (let sequence = 0; ; sequence += 1)
        yield [create(StreamEventSchema, { sequence, event: { case: "streamStart", value: {} } })];
    }
    const client: ModelClient = {
      complete: () => expect.fail("was called"),
      stream: () => new EventStream(batches()),
    };
    const request = create(RequestSchema, { model: "m", messages: [userMessage("hi")] });
    const controller = new AbortController();
    const executor = new NotingExecutor();
    const { signal } = controller;
    const loop = runToolLoop({ client, request, executor, isStreamed: true, maxToolRounds: 1, signal });
    expect(await loop.next()).toMatchObject({ value: { case: "events" } });
    controller.abort();
    await expect(loop.next()).rejects.toMatchObject({ kind: ErrorKind.ABORT });
  });

  it("closes a stream whose first batch breaks a law", async () => {
    let isClosed = false;
    async function* batches() {
      try {
        yield [create(StreamEventSchema, { sequence: 0, event: { case: "finish", value: {} } })];
        yield [];
      } finally {
        isClosed = true;
      }
    }
    const client: ModelClient = {
      complete: () => expect.fail("was called"),
      stream: () => new EventStream(batches()),
    };
    const failure = runLoop([], { isStreamed: true, client, retry: { maxRetries: 0 } });
    await expect(failure).rejects.toThrow("the finish event has no response");
    expect(isClosed).toBe(true);
  });

  it("has closed the stream of its call when the iteration was left", async () => {
    const model = new ScriptedModel(["hello"]);
    const client = new Client({ providers: { scripted: model } });
    const request = create(RequestSchema, { model: "m", messages: [userMessage("hi")] });
    const executor = new NotingExecutor();
    const loop = runToolLoop({ client, request, executor, isStreamed: true, maxToolRounds: 1 });
    await loop.next();
    expect(model.open).toBe(1);
    await loop.return(create(GenerateResultSchema));
    expect(model.open).toBe(0);
  });

  it("begins no wait for a retry that the total time does not allow", async () => {
    const turns = [new RateLimitError("slow down", { retryAfter: 30 })];
    const since = performance.now();
    const failure = runLoop(turns, { timeouts: { totalMs: 20_000 } });
    await expect(failure).rejects.toBeInstanceOf(RateLimitError);
    expect(performance.now() - since).toBeLessThan(10_000);
  });
});

/** A stream whose only batch is a start and the failure. */
function brokenAtOnce(): EventStream {
  const error = new ServerError("overloaded");
  async function* batches() {
    yield [
      create(StreamEventSchema, { sequence: 0, event: { case: "streamStart", value: {} } }),
      create(StreamEventSchema, { sequence: 1, event: { case: "error", value: error.toProto() } }),
    ];
    throw error;
  }
  return new EventStream(batches());
}
