/** Tests of the log of a stored run, over a store that they claim up or fail. */
import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type StepResult, StepResultSchema } from "../../src/gen/outrigger/v1/generation_pb.ts";
import { type ToolResult, ToolResultSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { RunSchema, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { StoreFullError, StoreUnreachableError } from "../../src/runs/errors.ts";
import { EventHub } from "../../src/runs/event-hub.ts";
import { ClaimLostError, Journal } from "../../src/runs/run-log.ts";
import type { RunStore, RunWrite } from "../../src/runs/store.ts";
import { getClaim, step } from "./contract/data.ts";

// Node's timers with promises use the real clock.
vi.mock("node:timers/promises", async (importOriginal) => ({
  ...(await importOriginal<object>()),
  setTimeout: (ms: number) => new Promise((resolve) => setTimeout(resolve, ms)),
}));

afterEach(() => void vi.useRealTimers());

const running = create(RunSchema, { id: "run_1", status: RunStatus.IN_PROGRESS });
const over = create(RunSchema, { id: "run_1", status: RunStatus.COMPLETED });
const nothing = { case: undefined };

/** A journal from the event 5 on. Each write gets the next answer: true by default. */
function open(answers: (Error | boolean | Promise<boolean>)[] = [], steps: readonly StepResult[] = []) {
  const writes: RunWrite[] = [];
  const failures: Error[] = [];
  const store = {
    write: async (write: RunWrite) => {
      writes.push(write);
      const answer = answers.shift() ?? true;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  } as unknown as RunStore;
  const hub = new EventHub(5);
  const onFailure = (error: Error) => void failures.push(error);
  const run = create(RunSchema, { ...running, lastSequence: 4 });
  const stored = { store, claim: getClaim("run_1") };
  const journal = new Journal({ run, steps, live: { run: running }, stored, hub, onFailure });
  const published = () => hub.eventsAfter(4)?.map(({ sequence }) => sequence);
  return { journal, writes, failures, hub, published };
}

const getTexts = ({ messages = [] }: RunWrite) =>
  messages.map(({ message: sent }) => sent?.content[0]?.part.value);

/** A step that calls two tools, and that step with the first results. */
const calls = ["call_1", "call_2"].map((id) => ({ id, name: "look" }));
const results = calls.map(({ id }) => create(ToolResultSchema, { toolCallId: id })) as [
  ToolResult,
  ToolResult,
];
const calling = create(StepResultSchema, {
  response: {
    message: { content: calls.map((value) => ({ part: { case: "toolCall" as const, value } })) },
  },
});
const answered = (count: number) =>
  create(StepResultSchema, { ...calling, toolResults: results.slice(0, count) });

const getSequences = ({ events = [] }: RunWrite) => events.map(({ sequence }) => sequence);

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

describe("the log of a run", () => {
  it("numbers the events, and publishes them when they are written", async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { journal, writes, published } = open([promise]);
    journal.add(1, nothing);
    journal.add(2, nothing);
    expect(writes).toEqual([]);
    journal.flush();
    expect(writes.map(getSequences)).toEqual([[5, 6]]);
    expect(writes[0]?.events?.map((event) => event.step)).toEqual([1, 2]);
    await settle();
    expect(published()).toEqual([]);
    resolve(true);
    await journal.settle();
    expect(published()).toEqual([5, 6]);
  });

  it("makes one write at a time, and the next one with all changes since", async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { journal, writes } = open([promise]);
    for (let event = 0; event < 4; event += 1) {
      journal.add(1, nothing);
      journal.flush();
    }
    expect(writes.map(getSequences)).toEqual([[5]]);
    resolve(true);
    await journal.settle();
    expect(writes.map(getSequences)).toEqual([[5], [6, 7, 8]]);
  });

  it("writes nothing if there is nothing", async () => {
    const { journal, writes } = open();
    journal.flush();
    await journal.settle();
    journal.noteChange();
    await journal.settle();
    expect(writes).toEqual([]);
  });

  it("writes steps with their messages and the run, with the number of the last event", async () => {
    const { journal, writes } = open();
    journal.add(1, nothing);
    journal.addStep(step("first"));
    journal.addStep(step("second"));
    await journal.settle();
    expect(writes).toMatchObject([
      { claim: getClaim("run_1"), steps: [step("first"), step("second")], run: { lastSequence: 5 } },
    ]);
    expect(writes.map(getTexts)).toEqual([["first", "second"]]);
    journal.addStep(step("third"));
    await journal.settle();
    expect(writes[1]).toMatchObject({ events: [], steps: [step("third")], run: { lastSequence: 5 } });
    journal.add(3, nothing);
    await journal.settle();
    expect(writes[2]).not.toHaveProperty("run");
    expect(journal.steps).toEqual([step("first"), step("second"), step("third")]);
  });

  it("replaces the latest step, whether it is pending or written", async () => {
    const { journal, writes } = open();
    journal.addStep(calling);
    journal.replaceStep(answered(1));
    await journal.settle();
    expect(writes[0]).toMatchObject({ steps: [answered(1)], messages: [{}, {}] });
    expect(writes[0]?.latestStep).toBeUndefined();
    journal.addResult(results[1]);
    await journal.settle();
    expect(writes[1]).toMatchObject({ steps: [], latestStep: answered(2) });
    expect(writes[1]?.messages).toMatchObject([
      { message: { content: [{ part: { value: { toolCallId: "call_2" } } }] } },
    ]);
    expect(journal.steps).toEqual([answered(2)]);
  });

  it("adds the result of a call before the run to the thread alone", async () => {
    const { journal, writes } = open([], [step("a")]);
    journal.add(0, nothing);
    journal.addResult(results[0]);
    await journal.settle();
    expect(writes[0]).toMatchObject({ steps: [], messages: [{ runId: "run_1" }] });
    expect(writes[0]?.latestStep).toBeUndefined();
    expect(journal.steps).toEqual([step("a")]);
  });

  it("lets the run wait while 256 events or more are not written", async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { journal } = open([promise]);
    journal.add(1, nothing);
    journal.flush();
    for (let event = 0; event < 255; event += 1) journal.add(1, nothing);
    expect(journal.pace).toBeUndefined();
    journal.add(1, nothing);
    const { pace } = journal;
    expect(pace).toBeInstanceOf(Promise);
    resolve(true);
    await pace;
    expect(journal.pace).toBeUndefined();
  });
});

describe("the log of a run whose store fails", () => {
  const away = new StoreUnreachableError("away");

  it("reports the failure once, writes nothing more by itself, and keeps unwritten changes for the end", async () => {
    const { journal, writes, failures, published } = open([away]);
    journal.add(1, nothing);
    journal.addStep(step("a"));
    await expect(journal.settle()).rejects.toBe(away);
    journal.add(2, nothing);
    journal.flush();
    await expect(journal.settle()).rejects.toBe(away);
    expect(failures).toEqual([away]);
    expect(writes).toHaveLength(1);
    await journal.end(over, () => expect.fail());
    expect(writes.map(getSequences)).toEqual([[5], [5, 6, 7]]);
    expect(writes[1]).toMatchObject({ steps: [step("a")], messages: [{}], run: { lastSequence: 7 } });
    expect(published()).toEqual([5, 6, 7]);
  });

  it("joins later changes with the unwritten ones", async () => {
    const { promise, reject } = Promise.withResolvers<boolean>();
    const { journal, writes } = open([promise]);
    journal.addStep(calling);
    journal.flush();
    journal.replaceStep(answered(1));
    journal.addStep(step("c"));
    reject(away);
    await expect(journal.settle()).rejects.toBe(away);
    await journal.end(over, () => expect.fail());
    expect(writes[1]).toMatchObject({
      steps: [answered(1), step("c")],
      messages: [{}, {}, {}],
      run: { status: RunStatus.COMPLETED },
    });
    expect(writes[1]?.latestStep).toBeUndefined();
  });

  it("keeps the version of the latest step that was not written, or a later one", async () => {
    for (const later of [undefined, answered(2)]) {
      const { promise, reject } = Promise.withResolvers<boolean>();
      const { journal, writes } = open([promise], [calling]);
      journal.replaceStep(answered(1));
      journal.flush();
      if (later !== undefined) journal.replaceStep(later);
      reject(away);
      await expect(journal.settle()).rejects.toBe(away);
      await journal.end(over, () => expect.fail());
      expect(writes[1]?.latestStep).toEqual(later ?? answered(1));
    }
  });

  it("has lost its claim if the store writes nothing, and ends nothing", async () => {
    const { journal, writes, failures } = open([false]);
    journal.add(1, nothing);
    await expect(journal.settle()).rejects.toBeInstanceOf(ClaimLostError);
    await expect(journal.end(over, () => expect.fail())).rejects.toThrow(
      "has lost its claim on the run run_1",
    );
    await expect(journal.finish(running)).rejects.toBeInstanceOf(ClaimLostError);
    expect(writes).toHaveLength(1);
    expect(failures).toHaveLength(1);
  });

  it("reports a failure that is not an error", async () => {
    const { journal, failures } = open([Promise.reject("a text")]);
    journal.add(1, nothing);
    await expect(journal.settle()).rejects.toThrow("a text");
    expect(failures).toMatchObject([{ message: "a text" }]);
  });
});

describe("the end of a run", () => {
  const away = () => new StoreUnreachableError("away");
  const full = () => new StoreFullError("full");

  it("is its last event, after everything else, and nothing is written after it", async () => {
    const { journal, writes, published } = open();
    journal.add(1, nothing);
    const ended = await journal.end(over, () => expect.fail());
    expect(ended).toEqual({ ...over, lastSequence: 6 });
    expect(writes).toHaveLength(1);
    expect(writes[0]).toMatchObject({
      run: ended,
      events: [{ sequence: 5 }, { event: { case: "run", value: ended } }],
    });
    expect(writes[0]?.events?.[1]?.step).toBe(0);
    journal.add(1, nothing);
    journal.flush();
    await settle();
    expect(writes).toHaveLength(1);
    expect(published()).toEqual([5, 6]);
  });

  it("waits for the write before it", async () => {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const { journal, writes } = open([promise]);
    journal.add(1, nothing);
    journal.flush();
    journal.add(1, nothing);
    const ended = journal.end(over, () => expect.fail());
    await settle();
    expect(writes).toHaveLength(1);
    resolve(true);
    await ended;
    expect(writes.map(getSequences)).toEqual([[5], [6, 7]]);
  });

  it("is tried four times, and only a lost claim ends that early", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { journal, writes } = open([away(), away(), away(), away()]);
    const failed = expect(journal.end(over, () => expect.fail())).rejects.toThrow("away");
    await vi.advanceTimersByTimeAsync(1_300);
    await failed;
    expect(writes.map(getSequences)).toEqual([[5], [5], [5], [5]]);
    const lost = open([away(), false]);
    const ended = expect(lost.journal.end(over, () => expect.fail())).rejects.toBeInstanceOf(ClaimLostError);
    await vi.advanceTimersByTimeAsync(50);
    await ended;
    expect(lost.writes).toHaveLength(2);
  });

  it("is written alone if the store is full", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { journal, writes, published } = open([full()]);
    journal.add(1, nothing);
    journal.add(1, nothing);
    journal.addStep(step("a"));
    const failed = { ...over, status: RunStatus.FAILED };
    const reasons: Error[] = [];
    const ended = journal.end(over, (error) => {
      reasons.push(error);
      return failed;
    });
    await vi.advanceTimersByTimeAsync(50);
    expect(await ended).toEqual({ ...failed, lastSequence: 5 });
    expect(reasons).toMatchObject([{ message: "full" }]);
    expect(writes[1]).toMatchObject({
      events: [{ sequence: 5 }],
      steps: [],
      messages: [],
      run: { lastSequence: 5 },
    });
    expect(published()).toEqual([5]);
  });

  it("is for another process to write if the run continues there", async () => {
    const { journal, writes, published } = open();
    journal.add(1, nothing);
    expect(await journal.finish(running)).toBe(5);
    expect(writes).toMatchObject([
      { events: [{ sequence: 5 }], run: { status: RunStatus.IN_PROGRESS, lastSequence: 5 } },
    ]);
    journal.add(1, nothing);
    journal.flush();
    await settle();
    expect(writes).toHaveLength(1);
    expect(published()).toEqual([5]);
  });

  it("does not continue elsewhere if the store is full, and is tried again if it is unavailable", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const refused = open([full()]);
    await expect(refused.journal.finish(running)).rejects.toThrow("full");
    expect(refused.writes).toHaveLength(1);
    const { journal, writes } = open([away()]);
    const finished = journal.finish(running);
    await vi.advanceTimersByTimeAsync(50);
    expect(await finished).toBe(4);
    expect(writes).toHaveLength(2);
  });
});
