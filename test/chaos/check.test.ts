import { describe, expect, it } from "vitest";
import type { JsonEvent } from "./calls.ts";
import { type Evidence, isFaulty, judge } from "./check.ts";
import { ROUNDS } from "./load.ts";

function event(sequence: number, status?: string): JsonEvent {
  const run = status === undefined ? undefined : { id: "run_1", status };
  return { sequence, run, text: `event ${sequence}` };
}

const EVENTS = [event(0, "RUN_STATUS_QUEUED"), event(1), event(2, "RUN_STATUS_COMPLETED")];

function createEvidence(fields: Partial<Evidence> = {}, background = true): Evidence {
  return {
    acknowledged: { job: "job-1", runId: "run_1", background, events: EVENTS },
    run: { id: "run_1", status: "RUN_STATUS_COMPLETED", lastSequence: 2 },
    stored: EVENTS,
    executions: ROUNDS,
    modelCalls: [1, 1],
    ...fields,
  };
}

function createFailed(background: boolean): Evidence {
  const events = [event(0, "RUN_STATUS_IN_PROGRESS"), event(1, "RUN_STATUS_FAILED")];
  return createEvidence({
    acknowledged: { job: "job-1", runId: "run_1", background, events },
    run: { id: "run_1", status: "RUN_STATUS_FAILED", lastSequence: 1 },
    stored: events,
  });
}

const STRICT = { handover: true };
const LENIENT = { handover: false };

describe("judge", () => {
  it("finds no fault in a run that completed", () => {
    const verdict = judge([createEvidence()], STRICT);
    expect(verdict).toMatchObject({ acknowledged: 1, completed: 1, faults: [] });
    expect(isFaulty(verdict)).toBe(false);
  });

  it("is faulty if no run completed", () => {
    expect(isFaulty(judge([], STRICT))).toBe(true);
  });

  it.each([
    ["missing", { run: undefined }],
    ["doubled", { executions: ROUNDS + 1 }],
    ["doubled", { modelCalls: [1, 3] }],
    ["stuck", { run: { id: "run_1", status: "RUN_STATUS_QUEUED", lastSequence: 2 } }],
    ["gaps", { stored: [EVENTS[0], EVENTS[2]] }],
    ["gaps", { stored: EVENTS.slice(0, 2) }],
    ["gaps", { stored: [event(0, "RUN_STATUS_FAILED"), event(1), event(2, "RUN_STATUS_COMPLETED")] }],
    ["gaps", { stored: EVENTS.map((stored) => ({ ...stored, text: "other" })) }],
    ["gaps", { acknowledged: { job: "job-1", runId: "run_1", background: true, events: [event(1)] } }],
  ])("counts a run that is %s: %o", (kind, fields) => {
    const verdict = judge([createEvidence(), createEvidence(fields as Partial<Evidence>)], STRICT);
    expect(verdict).toMatchObject({ acknowledged: 2, [kind]: 1 });
    expect(verdict.faults.length).toBeGreaterThan(0);
    expect(isFaulty(verdict)).toBe(true);
  });

  it("allows a second call of the model in a step only of background runs, and never a third one", () => {
    const { acknowledged } = createEvidence();
    const judgeCalls = (background: boolean, calls: number) =>
      judge(
        [createEvidence({ acknowledged: { ...acknowledged, background }, modelCalls: [1, calls] })],
        LENIENT,
      ).doubled;
    expect(judgeCalls(true, 2)).toBe(0);
    expect(judgeCalls(true, 3)).toBe(1);
    expect(judgeCalls(false, 2)).toBe(1);
  });

  it("lets a background run fail that was cut twice in one step", () => {
    const run = createFailed(true).run;
    const message =
      "the model was called twice for step 1, and both times the sidecar stopped before the run ended";
    const cut = createEvidence({ ...createFailed(true), run: run && { ...run, error: { message } } });
    expect(judge([cut], STRICT)).toMatchObject({ notContinued: 0, failed: 1 });
  });

  it("expects only background runs to be continued, and only if runs are handed over", () => {
    expect(judge([createFailed(true)], STRICT)).toMatchObject({ notContinued: 1, failed: 1 });
    expect(judge([createFailed(true)], LENIENT)).toMatchObject({ notContinued: 0, failed: 1 });
    expect(judge([createFailed(false)], STRICT)).toMatchObject({ notContinued: 0, failed: 1 });
  });
});
