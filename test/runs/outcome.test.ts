import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { AbortError, RequestTimeoutError, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import {
  GenerateResultSchema,
  type StepResult,
  StepResultSchema,
  GenerateResult_StopReason as StopReason,
} from "../../src/gen/outrigger/v1/generation_pb.ts";
import { FinishReason_Reason as Reason } from "../../src/gen/outrigger/v1/response_pb.ts";
import { IncompleteReason, RunSchema, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import { UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";
import {
  isUnfinished,
  runAfter,
  runAfterContinuation,
  runAfterFailure,
  sumUsage,
} from "../../src/runs/status.ts";

const usage = { inputTokens: 2, outputTokens: 3, totalTokens: 5 };
const running = create(RunSchema, { id: "run_1", status: RunStatus.IN_PROGRESS });

type Response = NonNullable<Exclude<MessageInitShape<typeof StepResultSchema>["response"], undefined>>;

function stepWith(reason: Reason, raw = "", response: Partial<Response> = {}): StepResult {
  const init = { provider: "one", usage, finishReason: { reason, raw }, ...response };
  return create(StepResultSchema, { response: init as Response });
}

function calling(...names: string[]): StepResult {
  const content = names.map((name) => ({
    part: { case: "toolCall", value: { id: `call_${name}`, name } } as const,
  }));
  return stepWith(Reason.TOOL_CALLS, "", { message: { content } } as Partial<Response>);
}

function endAfter(stopReason: StopReason, ...steps: StepResult[]) {
  const result = create(GenerateResultSchema, { stopReason, steps, totalUsage: usage });
  return runAfter(running, result, (name) => name.startsWith("risky"));
}

describe("the run after its generation", () => {
  it("is complete, with the usage and the reason, if nothing is left to do", () => {
    expect(endAfter(StopReason.COMPLETED, stepWith(Reason.STOP))).toMatchObject({
      status: RunStatus.COMPLETED,
      stopReason: StopReason.COMPLETED,
      incompleteReason: IncompleteReason.UNSPECIFIED,
      usage: { totalTokens: 5 },
      endedAt: expect.anything(),
    });
  });

  it.each([
    StopReason.MAX_TOOL_ROUNDS,
    StopReason.MAX_STEPS,
    StopReason.MAX_TOTAL_TOKENS,
    StopReason.MAX_COST,
    StopReason.MAX_TOOL_CALLS,
  ])("is incomplete if a limit ended it (stop reason %i)", (stopReason) => {
    expect(endAfter(stopReason, calling("a"))).toMatchObject({
      status: RunStatus.INCOMPLETE,
      incompleteReason: IncompleteReason.LIMIT,
      requiredResults: [],
    });
  });

  it.each([
    [Reason.LENGTH, "length", RunStatus.INCOMPLETE, IncompleteReason.MAX_TOKENS],
    [Reason.CONTENT_FILTER, "SAFETY", RunStatus.INCOMPLETE, IncompleteReason.CONTENT_FILTER],
    [Reason.OTHER, "LANGUAGE", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "OTHER", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "NO_IMAGE", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "IMAGE_OTHER", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "FINISH_REASON_UNSPECIFIED", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "pause_turn", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "compaction", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "queued", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "in_progress", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "incomplete", RunStatus.INCOMPLETE, IncompleteReason.PROVIDER_STOPPED],
    [Reason.OTHER, "end_of_turn", RunStatus.COMPLETED, IncompleteReason.UNSPECIFIED],
    [Reason.UNSPECIFIED, "", RunStatus.COMPLETED, IncompleteReason.UNSPECIFIED],
  ])("depends on why the model stopped: %i (%s) gives %i", (reason, raw, status, incompleteReason) => {
    expect(endAfter(StopReason.COMPLETED, stepWith(reason, raw))).toMatchObject({ status, incompleteReason });
  });

  it("is complete if a filter ended it with a refusal in the model's words", () => {
    const content = [
      { part: { case: "text", value: "Well." } as const },
      { refusal: true, part: { case: "text", value: "I cannot." } as const },
    ];
    const refused = stepWith(Reason.CONTENT_FILTER, "refusal", { message: { content } } as Partial<Response>);
    expect(endAfter(StopReason.COMPLETED, refused)).toMatchObject({ status: RunStatus.COMPLETED });
  });

  it("has failed if the provider gave an error as the reason of the end", () => {
    expect(endAfter(StopReason.COMPLETED, stepWith(Reason.ERROR, "MALFORMED"))).toMatchObject({
      status: RunStatus.FAILED,
      error: {
        kind: ErrorKind.SERVER,
        outputStarted: true,
        message: 'the provider ended the answer with the finish reason "MALFORMED"',
        usage: { totalTokens: 5 },
      },
    });
  });

  it("requires results and approvals for the calls that are left", () => {
    expect(endAfter(StopReason.TOOL_CALLS, calling("a", "risky_b"))).toMatchObject({
      status: RunStatus.REQUIRES_ACTION,
      requiredResults: [{ name: "a" }],
      requiredApprovals: [{ name: "risky_b" }],
      endedAt: expect.anything(),
    });
  });
});

describe("the run after a failure", () => {
  it("has failed, with what its complete steps cost", () => {
    const failed = runAfterFailure(
      running,
      new RequestTimeoutError("late", { usage: create(UsageSchema, usage) }),
    );
    expect(failed).toMatchObject({
      status: RunStatus.FAILED,
      error: { kind: ErrorKind.REQUEST_TIMEOUT, message: "late" },
      usage: { totalTokens: 5 },
    });
  });

  it("is cancelled if it was aborted, without an error", () => {
    const cancelled = runAfterFailure(running, new AbortError("left"));
    expect(cancelled).toMatchObject({ status: RunStatus.CANCELLED, endedAt: expect.anything() });
    expect([cancelled.error, cancelled.usage]).toEqual([undefined, undefined]);
  });

  it("hides the text of an error that is none of ours", () => {
    expect(runAfterFailure(running, new TypeError("secret"))).toMatchObject({
      status: RunStatus.FAILED,
      error: { kind: ErrorKind.INTERNAL, message: "internal error" },
    });
  });
});

it("completes a run that required action when its thread continues, and keeps the time of its end", () => {
  const waiting = endAfter(StopReason.TOOL_CALLS, calling("a", "risky_b"));
  expect(runAfterContinuation(waiting)).toMatchObject({
    status: RunStatus.COMPLETED,
    requiredResults: [],
    requiredApprovals: [],
    endedAt: waiting.endedAt,
  });
  expect(runAfterContinuation({ ...waiting, endedAt: undefined }).endedAt).toBeDefined();
});

it("sums the usage of steps, if a provider reported any", () => {
  expect(sumUsage([stepWith(Reason.STOP), stepWith(Reason.STOP)])).toMatchObject({ totalTokens: 10 });
  const silent = create(StepResultSchema, { response: { message: userMessage("hi") } });
  expect(sumUsage([silent, stepWith(Reason.STOP)])).toMatchObject({ totalTokens: 5 });
  expect(sumUsage([silent])).toBeUndefined();
  expect(sumUsage([])).toBeUndefined();
});

it("treats no other finish reason as unfinished", () => {
  const finish = (reason: Reason) => stepWith(reason, "OTHER").response?.finishReason;
  expect([Reason.OTHER, Reason.STOP].map((reason) => isUnfinished(finish(reason) ?? expect.fail()))).toEqual([
    true,
    false,
  ]);
});
