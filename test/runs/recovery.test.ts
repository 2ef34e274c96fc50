/** Tests of runs that a process has claimed and does not execute: what is written for them. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { toolCallsOf } from "outrigger";
import { describe, expect, it } from "vitest";
import { InternalError, ServerError } from "../../src/core/errors.ts";
import { AttemptSchema } from "../../src/gen/outrigger/v1/attempt_pb.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import { StepResultSchema } from "../../src/gen/outrigger/v1/generation_pb.ts";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import {
  StepRestart_Reason as Reason,
  type Run,
  RunEventSchema,
  RunSchema,
  RunStatus,
} from "../../src/gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { StoreFullError, StoreUnreachableError } from "../../src/runs/errors.ts";
import {
  cancelClaimedRun,
  failClaimedRun,
  recoverRun,
  releaseRun,
  requeueRun,
} from "../../src/runs/recovery.ts";
import type { ClaimedRun, RunStore, RunWrite } from "../../src/runs/store.ts";
import { getClaim } from "./contract/data.ts";
import { toolServer } from "./support/fake-server-tools.ts";

type EventInit = Exclude<MessageInitShape<typeof RunEventSchema>, { $typeName: string }>;
type Events = readonly NonNullable<EventInit["event"]>[];

const IN_PROGRESS = { case: "run" as const, value: { status: RunStatus.IN_PROGRESS } };
const LOST = { case: "stepRestart" as const, value: { reason: Reason.LOST } };
const STEP_1 = 1;

/** An answer with calls of tools, some with results. */
function stepWith(calls: readonly string[], answered: readonly string[] = []) {
  const content = calls.map((id) => ({
    part: { case: "toolCall" as const, value: { id, name: `tool_${id}` } },
  }));
  return create(StepResultSchema, {
    response: { message: { role: Role.ASSISTANT, content } },
    toolResults: answered.map((toolCallId) => ({ toolCallId })),
  });
}

interface Stored {
  readonly run?: MessageInitShape<typeof RunSchema>;
  readonly steps?: readonly ReturnType<typeof stepWith>[];
  readonly events?: Events;
  readonly step?: number;
  readonly server?: object;
  /** The failures of writes, in order. */
  readonly failures?: (Error | false)[];
}

/** A claimed run of a store that notes the writes, and who was notified of its end. */
function claim({
  run = {},
  steps = [],
  events = [IN_PROGRESS],
  step = 0,
  server,
  failures = [],
}: Stored = {}) {
  const all = events.map((event, sequence) => create(RunEventSchema, { sequence, step, event }));
  const writes: RunWrite[] = [];
  const ended: Run[] = [];
  const store = {
    readSteps: async () => steps,
    readEvents: async (_id: string, after: number, max: number) => all.slice(after + 1, after + 1 + max),
    write: async (write: RunWrite) => {
      writes.push(write);
      const failure = failures.shift();
      if (failure instanceof Error) throw failure;
      return failure !== false;
    },
  } as unknown as RunStore;
  const claimed: ClaimedRun = {
    claim: getClaim("run_1"),
    owner: "",
    run: create(RunSchema, {
      id: "run_1",
      status: RunStatus.IN_PROGRESS,
      background: true,
      stored: true,
      lastSequence: all.length - 1,
      model: "m",
      provider: "p",
      ...run,
    }),
    request: create(CreateRunRequestSchema, {
      mcpServers: server === undefined ? [] : [{ ...toolServer, ...server }],
    }),
  };
  return {
    claimed,
    writes,
    ended,
    parts: { store, observer: { runEnded: (over: Run) => void ended.push(over) } },
  };
}

/** The events of a write, with their numbers. */
function getEvents({ events = [] }: RunWrite) {
  return events.map(({ sequence, step, event }) => ({
    sequence,
    step,
    case: event.case,
    value: event.value,
  }));
}

const usage = { totalTokens: 5 };

describe("a claimed run that ends", () => {
  it("is cancelled with one event, and its observer is notified", async () => {
    const { claimed, writes, ended, parts } = claim();
    await cancelClaimedRun(parts, claimed);
    expect(writes).toMatchObject([
      {
        claim: claimed.claim,
        run: {
          status: RunStatus.CANCELLED,
          cancelRequested: true,
          lastSequence: 1,
          requiredResults: [],
          endedAt: expect.anything(),
        },
      },
    ]);
    const [write] = writes;
    expect(getEvents(write ?? expect.fail())).toEqual([
      { sequence: 1, step: 0, case: "run", value: write?.run },
    ]);
    expect(ended).toEqual([write?.run]);
  });

  it("fails with what went wrong, and what it cost", async () => {
    const { claimed, writes, parts } = claim({ run: { usage } });
    await failClaimedRun(parts, claimed, new ServerError("broken", { retryable: true }));
    expect(writes).toMatchObject([
      {
        run: {
          status: RunStatus.FAILED,
          cancelRequested: false,
          error: { message: "broken", retryable: true, usage },
        },
      },
    ]);
    const free = claim();
    await failClaimedRun(free.parts, free.claimed, new TypeError("a secret"));
    expect(free.writes[0]?.run?.error).toMatchObject({ message: "internal error" });
    expect(free.writes[0]?.run?.error?.usage).toBeUndefined();
  });

  it("does not end here if another process has taken it", async () => {
    const { claimed, ended, parts } = claim({ failures: [false] });
    await cancelClaimedRun(parts, claimed);
    expect(ended).toEqual([]);
  });

  it("is released unchanged", async () => {
    const { claimed, writes, parts } = claim({ run: { status: RunStatus.QUEUED } });
    await releaseRun(parts, claimed);
    expect(writes).toEqual([{ claim: claimed.claim, run: claimed.run }]);
  });
});

describe("an abandoned run", () => {
  const recover = async (stored: Stored) => {
    const made = claim(stored);
    await recoverRun(made.parts, made.claimed);
    return made;
  };

  it("is cancelled if that was asked for", async () => {
    const { writes } = await recover({ run: { cancelRequested: true, background: false } });
    expect(writes[0]?.run?.status).toBe(RunStatus.CANCELLED);
  });

  it("fails if a caller waited for it, and can be tried again", async () => {
    const { writes } = await recover({ run: { background: false } });
    expect(writes[0]?.run).toMatchObject({
      status: RunStatus.FAILED,
      error: {
        kind: ErrorKind.SERVER,
        retryable: true,
        message: "the sidecar that executed the run stopped before the run ended",
      },
    });
  });

  it.each([{ authorization: "x" }, { headers: { "x-key": "" } }])(
    "fails if its servers need credentials: %o",
    async (server) => {
      const { writes } = await recover({ server });
      expect(writes[0]?.run).toMatchObject({
        status: RunStatus.FAILED,
        error: { retryable: true, message: expect.stringContaining("which are not stored") },
      });
    },
  );

  it("is queued again otherwise", async () => {
    const { writes, ended } = await recover({ server: {} });
    expect(writes[0]?.run?.status).toBe(RunStatus.QUEUED);
    expect(ended).toEqual([]);
  });

  it("waits while the store is unavailable", async () => {
    const away = new StoreUnreachableError("away");
    const { claimed, writes, parts } = claim({ failures: [away] });
    await expect(recoverRun(parts, claimed)).rejects.toBe(away);
    expect(writes).toHaveLength(1);
  });

  it.each([new StoreFullError("full"), new InternalError("unreadable")])(
    "fails if it cannot be put back for another reason: %s",
    async (failure) => {
      const { writes } = await recover({ failures: [failure] });
      expect(writes[1]?.run).toMatchObject({ status: RunStatus.FAILED, error: { message: failure.message } });
    },
  );
});

describe("a run that is put back into the queue", () => {
  const requeue = async (
    stored: Stored,
    interruption: Parameters<typeof requeueRun>[2] = { reason: Reason.LOST },
  ) => {
    const made = claim(stored);
    await requeueRun(made.parts, made.claimed, interruption);
    const [write] = made.writes;
    if (write === undefined) expect.fail("expected a write");
    return { write, events: getEvents(write), ended: made.ended };
  };

  it("says that the call of its step may have been made", async () => {
    const started = {
      case: "modelEvent" as const,
      value: {
        event: { case: "streamStart" as const, value: { provider: "q", model: "n", inferenceId: "i" } },
      },
    };
    const { write, events } = await requeue({ events: [IN_PROGRESS, started], step: STEP_1 });
    expect(write.run).toMatchObject({
      status: RunStatus.QUEUED,
      lastSequence: 3,
      attempts: [
        {
          provider: "q",
          model: "n",
          inferenceId: "i",
          step: 1,
          error: { kind: ErrorKind.ABORT, outputStarted: true },
        },
      ],
    });
    expect(events).toMatchObject([
      {
        sequence: 2,
        step: 1,
        case: "stepRestart",
        value: {
          reason: Reason.LOST,
          continuesAnswer: false,
          interruptedToolCallIds: [],
          abandonedAttempt: { step: 1, inferenceId: "i" },
        },
      },
      { sequence: 3, step: 0, case: "run", value: { status: RunStatus.QUEUED, lastSequence: 3 } },
    ]);
    expect(write.latestStep).toBeUndefined();
    expect(write.messages).toEqual([]);
  });

  it("names the model of the run if no answer had begun", async () => {
    const { write } = await requeue({});
    expect(write.run?.attempts).toMatchObject([
      { provider: "p", model: "m", inferenceId: "", step: 1, error: { outputStarted: false } },
    ]);
  });

  it("says what its process knows of the call, if it was drained", async () => {
    const attempt = create(AttemptSchema, { step: 1, error: { kind: ErrorKind.ABORT } });
    const known = await requeue(
      { run: { attempts: [attempt] } },
      { reason: Reason.DRAINED, abandoned: { attempt } },
    );
    expect(known.write.run?.attempts).toEqual([attempt]);
    expect(known.events[0]?.value).toMatchObject({ reason: Reason.DRAINED, abandonedAttempt: { step: 1 } });
    const none = await requeue({}, { reason: Reason.DRAINED, abandoned: { attempt: undefined } });
    expect(none.write.run?.attempts).toEqual([]);
    expect(none.events[0]?.value).toMatchObject({ reason: Reason.DRAINED });
    expect(none.events[0]?.value).not.toHaveProperty("abandonedAttempt.step");
  });

  it("fails if its model was called twice for one step", async () => {
    const abandoned = (step: number) => create(AttemptSchema, { step, error: { kind: ErrorKind.ABORT } });
    const twice = await requeue({ run: { attempts: [abandoned(1)], usage } });
    expect(twice.write.run).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: expect.stringContaining("the model was called twice for step 1"), usage },
    });
    expect(twice.write.run?.attempts).toHaveLength(2);
    expect(twice.ended).toHaveLength(1);
    const another = await requeue({ run: { attempts: [abandoned(2)] } });
    expect(another.write.run?.status).toBe(RunStatus.QUEUED);
  });

  it("fails if its fourth process was lost in one step, and not if that was drained", async () => {
    const events = [IN_PROGRESS, LOST, LOST, LOST];
    const server = {};
    const lost = await requeue({ events, server });
    expect(lost.write.run).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "the sidecars that executed step 1 stopped 4 times before the run ended" },
    });
    const abandoned = { attempt: undefined };
    const drained = await requeue({ events, server }, { reason: Reason.DRAINED, abandoned });
    expect(drained.write.run?.status).toBe(RunStatus.QUEUED);
    expect((await requeue({ events: events.slice(1), server })).write.run?.status).toBe(RunStatus.FAILED);
    expect((await requeue({ events: events.slice(2), server })).write.run?.status).toBe(RunStatus.QUEUED);
  });

  const start = (id: string, toolName = `tool_${id}`) => ({
    case: "mcpToolStart" as const,
    value: { call: { id, name: `tool_${id}` }, serverLabel: "tools", toolName },
  });
  const tools = (annotations: Record<string, object>) => ({
    mcpTools: Object.entries(annotations).map(([toolName, value]) => ({
      serverLabel: "tools",
      toolName,
      annotationsJson: JSON.stringify(value),
    })),
  });

  it("keeps an answer whose tools were in progress, with results for those that are not repeated", async () => {
    const { write, events } = await requeue({
      run: tools({ tool_a: {}, tool_b: { readOnlyHint: true }, tool_c: { idempotentHint: true } }),
      steps: [stepWith(["a", "b", "c", "d"])],
      events: [IN_PROGRESS, start("a"), start("b"), start("c"), start("d")],
      step: STEP_1,
    });
    const interrupted = ["d", "a"];
    expect(events.map(({ sequence, step, case: name }) => [sequence, step, name])).toEqual([
      [5, 1, "mcpToolFinish"],
      [6, 1, "mcpToolFinish"],
      [7, 1, "stepRestart"],
      [8, 0, "run"],
    ]);
    expect(events[1]?.value).toMatchObject({
      serverLabel: "tools",
      toolName: "tool_a",
      result: { toolCallId: "a", failed: true },
    });
    expect(events[0]?.value).toMatchObject({ serverLabel: "", result: { toolCallId: "d" } });
    expect(events[2]?.value).toMatchObject({ continuesAnswer: true, interruptedToolCallIds: interrupted });
    expect(write.run).toMatchObject({ status: RunStatus.QUEUED, lastSequence: 8, attempts: [] });
    expect(write.latestStep?.toolResults.map(({ toolCallId, failed }) => [toolCallId, failed])).toEqual([
      ["a", true],
      ["d", true],
    ]);
    expect(toolCallsOf(write.latestStep?.response)).toHaveLength(4);
    expect(write.messages?.map(({ output, message }) => [output, message?.toolCallId])).toEqual(
      interrupted.map((id) => [true, id]),
    );
    expect(JSON.stringify(write.messages?.[0]?.message?.content.map(({ part }) => part.value))).toContain(
      "and was not repeated",
    );
  });

  it("keeps the answer as it is if all its tools may be repeated", async () => {
    const { write, events } = await requeue({
      run: tools({ tool_a: { readOnlyHint: true } }),
      steps: [stepWith(["a"])],
      events: [IN_PROGRESS, start("a")],
      step: STEP_1,
    });
    expect(write.latestStep).toBeUndefined();
    expect(events.map(({ case: name }) => name)).toEqual(["stepRestart", "run"]);
    expect(events[0]).toMatchObject({
      step: 1,
      value: { continuesAnswer: true, interruptedToolCallIds: [] },
    });
  });

  it("continues after a step that is finished, with the next call of the model", async () => {
    const finish = { case: "stepFinish" as const, value: {} };
    const { write, events } = await requeue({
      steps: [stepWith([])],
      events: [IN_PROGRESS, finish],
      step: STEP_1,
    });
    expect(events[0]).toMatchObject({ step: 2, case: "stepRestart", value: { continuesAnswer: false } });
    expect(write.run?.attempts).toMatchObject([{ step: 2 }]);
  });

  it("continues the calls of a finished step that its caller has approved", async () => {
    const waiting = { case: "run" as const, value: { status: RunStatus.REQUIRES_ACTION } };
    const events = [waiting, IN_PROGRESS];
    const open = await requeue({ steps: [stepWith(["a"])], events, step: 0 });
    expect(open.events[0]).toMatchObject({ step: 1, value: { continuesAnswer: true } });
    expect(open.write.run?.attempts).toEqual([]);
    const finish = { case: "stepFinish" as const, value: {} };
    const made = claim({ steps: [stepWith(["a"], ["a"])] });
    const all = [
      create(RunEventSchema, { sequence: 0, step: 1, event: finish }),
      create(RunEventSchema, { sequence: 1, event: waiting }),
      create(RunEventSchema, { sequence: 2, event: IN_PROGRESS }),
    ];
    made.parts.store.readEvents = async (_id, after, max) => all.slice(after + 1, after + 1 + max);
    await requeueRun(
      made.parts,
      { ...made.claimed, run: { ...made.claimed.run, lastSequence: 2 } },
      { reason: Reason.LOST },
    );
    expect(getEvents(made.writes[0] ?? expect.fail())[0]).toMatchObject({
      sequence: 3,
      step: 2,
      value: { continuesAnswer: false },
    });
  });
});
