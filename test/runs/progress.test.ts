/** Tests of how far a run has come, as the store shows. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { StepResultSchema } from "../../src/gen/outrigger/v1/generation_pb.ts";
import {
  StepRestart_Reason as Reason,
  type RunEvent,
  RunEventSchema,
  RunSchema,
  RunStatus,
} from "../../src/gen/outrigger/v1/run_pb.ts";
import { CreateRunRequestSchema } from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { readProgress } from "../../src/runs/recovery.ts";
import type { RunStore } from "../../src/runs/store.ts";
import { toolServer } from "./support/fake-server-tools.ts";

type EventInit = Exclude<MessageInitShape<typeof RunEventSchema>, RunEvent>;

const status = (value: RunStatus): EventInit => ({ event: { case: "run", value: { status: value } } });
const model = (step: number, eventCase: "streamStart" | "textDelta" = "textDelta"): EventInit => ({
  step,
  event: {
    case: "modelEvent",
    value: {
      event:
        eventCase === "streamStart"
          ? { case: "streamStart", value: { inferenceId: `inference of ${step}` } }
          : { case: "textDelta", value: { delta: "x" } },
    },
  },
});
const finish = (step: number): EventInit => ({ step, event: { case: "stepFinish", value: {} } });
const lists: EventInit = { event: { case: "mcpToolList", value: {} } };
const toolStart = (step: number, id: string): EventInit => ({
  step,
  event: { case: "mcpToolStart", value: { call: { id } } },
});
const toolFinish = (step: number, toolCallId: string): EventInit => ({
  step,
  event: { case: "mcpToolFinish", value: { result: { toolCallId } } },
});
const restart = (reason: Reason): EventInit => ({ event: { case: "stepRestart", value: { reason } } });

interface Stored {
  readonly steps?: number;
  readonly events: readonly EventInit[];
  readonly servers?: boolean;
  readonly approvals?: boolean;
  /** The most events that the store gives at a time. */
  readonly pageSize?: number;
}

async function read({ steps = 0, events, servers = false, approvals = false, pageSize = 1000 }: Stored) {
  const reads: number[] = [];
  const all = events.map((event, sequence) => create(RunEventSchema, { ...event, sequence }));
  const store = {
    readSteps: async () => Array.from({ length: steps }, () => create(StepResultSchema)),
    readEvents: async (_runId: string, after: number, maxEvents: number) => {
      reads.push(maxEvents);
      return all.slice(after + 1, after + 1 + Math.min(maxEvents, pageSize));
    },
  };
  const run = create(RunSchema, { id: "run_1", lastSequence: all.length - 1 });
  const request = create(CreateRunRequestSchema, {
    mcpServers: servers ? [toolServer] : [],
    approvals: approvals ? [{ toolCallId: "a" }] : [],
  });
  const progress = await readProgress(store as unknown as RunStore, { run, request, owner: "" });
  return {
    ...progress,
    steps: progress.steps.length,
    begun: progress.begun.map(({ step, start }) => [step, start.call?.id]),
    openCall: progress.openCall?.inferenceId,
    approvedResults: progress.approvedResults.map(({ toolCallId }) => toolCallId),
    reads,
  };
}

const BEGIN = [status(RunStatus.QUEUED), status(RunStatus.IN_PROGRESS)];

describe("a run that has begun", () => {
  it("may have called the model, if it has no servers or their tools are listed", async () => {
    expect(await read({ events: BEGIN })).toMatchObject({
      mayHaveCalled: true,
      isFinished: false,
      isSubmitted: false,
      losses: 0,
    });
    expect(await read({ events: BEGIN, servers: true })).toMatchObject({ mayHaveCalled: false });
    expect(await read({ events: [...BEGIN, lists], servers: true })).toMatchObject({ mayHaveCalled: true });
  });

  it("has not, by lists of an earlier process", async () => {
    const events = [...BEGIN, lists, restart(Reason.LOST), ...BEGIN];
    expect(await read({ events, servers: true })).toMatchObject({ mayHaveCalled: false, losses: 1 });
  });

  it("has an open call if the model began to answer", async () => {
    const events = [...BEGIN, model(1, "streamStart"), model(1), model(1)];
    expect(await read({ events })).toMatchObject({ openCall: "inference of 1", mayHaveCalled: true });
  });

  it("has the latest of several open calls, but none of an earlier process", async () => {
    const first = [...BEGIN, model(1, "streamStart")];
    expect(await read({ events: [...first, model(2, "streamStart")] })).toMatchObject({
      openCall: "inference of 2",
    });
    const events = [...first, restart(Reason.DRAINED), ...BEGIN];
    expect(await read({ events })).toMatchObject({ openCall: undefined, losses: 0 });
  });

  it("counts the processes that were lost, and not those that were drained", async () => {
    const lost = [restart(Reason.LOST), ...BEGIN];
    const events = [...BEGIN, ...lost, restart(Reason.DRAINED), ...BEGIN, ...lost, ...lost];
    expect(await read({ events })).toMatchObject({ losses: 3 });
  });
});

describe("a run with a step", () => {
  const answered = [...BEGIN, model(1, "streamStart"), model(1)];

  it("has not finished it before its last event", async () => {
    expect(await read({ steps: 1, events: answered })).toMatchObject({
      steps: 1,
      isFinished: false,
      openCall: undefined,
    });
  });

  it("has finished it with that event, and what comes before is of no interest", async () => {
    const events = [...answered, restart(Reason.LOST), toolStart(1, "a"), finish(1)];
    expect(await read({ steps: 1, events })).toMatchObject({ isFinished: true, losses: 0, begun: [] });
    const next = [...events, restart(Reason.LOST), ...BEGIN, model(2, "streamStart")];
    expect(await read({ steps: 1, events: next })).toMatchObject({
      isFinished: true,
      losses: 1,
      openCall: "inference of 2",
    });
  });

  it("may have called the model for the next step if its latest process finished this one", async () => {
    const step = [...BEGIN, lists, model(1, "streamStart"), finish(1)];
    const stored = { steps: 1, servers: true };
    expect(await read({ ...stored, events: step })).toMatchObject({ mayHaveCalled: true, isFinished: true });
    // Another process took it up, and has not listed the tools yet.
    const again = [...step, restart(Reason.LOST), ...BEGIN];
    expect(await read({ ...stored, events: again })).toMatchObject({ mayHaveCalled: false });
    expect(await read({ ...stored, events: [...again, lists] })).toMatchObject({ mayHaveCalled: true });
  });

  it("has the calls of tools that were begun and have no result, the latest first", async () => {
    const calls = [toolStart(1, "a"), toolStart(1, "b"), toolStart(1, "c"), toolFinish(1, "b")];
    expect(await read({ steps: 1, events: [...answered, ...calls] })).toMatchObject({
      begun: [
        [1, "c"],
        [1, "a"],
      ],
      mayHaveCalled: false,
    });
    const again = [...answered, ...calls, restart(Reason.LOST), ...BEGIN, toolStart(1, "a")];
    expect((await read({ steps: 1, events: again })).begun).toEqual([
      [1, "a"],
      [1, "c"],
    ]);
  });

  it("has not called the model again while a tool is in progress, unless it has begun to answer", async () => {
    const events = [...BEGIN, lists, toolStart(0, "a")];
    expect(await read({ events, servers: true })).toMatchObject({ mayHaveCalled: false });
    expect(await read({ events: [...events, model(1, "streamStart")], servers: true })).toMatchObject({
      mayHaveCalled: true,
    });
  });

  it("was submitted if it required action since", async () => {
    const waiting = [...answered, finish(1), status(RunStatus.REQUIRES_ACTION), status(RunStatus.QUEUED)];
    expect(await read({ steps: 1, events: waiting })).toMatchObject({ isSubmitted: true, isFinished: true });
    const next = [...waiting, ...BEGIN, model(2), finish(2)];
    expect(await read({ steps: 2, events: next })).toMatchObject({ isSubmitted: false, isFinished: true });
  });
});

describe("the calls that were approved before a run", () => {
  const results = [toolFinish(0, "a"), toolFinish(0, "b")];
  const events = [...BEGIN, ...results, model(1), toolFinish(1, "c")];

  it("have the results from before the first call of the model", async () => {
    expect(await read({ events, approvals: true })).toMatchObject({ approvedResults: ["a", "b"] });
    expect(await read({ events, approvals: true, pageSize: 1 })).toMatchObject({
      approvedResults: ["a", "b"],
    });
    expect(await read({ events: [...BEGIN, ...results], approvals: true })).toMatchObject({
      approvedResults: ["a", "b"],
    });
  });

  it("are not looked for if there were none", async () => {
    expect(await read({ events })).toMatchObject({ approvedResults: [] });
  });
});

describe("the events of a run", () => {
  const many = [...BEGIN, restart(Reason.LOST), ...Array.from({ length: 700 }, () => model(1))];

  it("are read in pages of 256 at most, from the latest one on, and each once", async () => {
    const progress = await read({ events: many });
    expect(progress.losses).toBe(1);
    expect(progress.reads).toEqual([256, 256, 191]);
  });

  it("are read as far as the store gives them", async () => {
    expect(await read({ events: many, pageSize: 100 })).toMatchObject({ losses: 1 });
  });

  it("are read no further back than its progress requires", async () => {
    expect((await read({ steps: 1, events: many })).reads).toEqual([256]);
  });
});
