/** Results for a run that requires action, while other processes act on it as well. */
import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { ToolCallSchema } from "../../src/gen/outrigger/v1/message_pb.ts";
import { type Run, RunSchema, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import {
  CreateRunRequestSchema,
  SubmitToolResultsRequestSchema,
} from "../../src/gen/outrigger/v1/run_service_pb.ts";
import { submitResults } from "../../src/runs/recovery.ts";
import type { RunStore, RunWrite, StoredRun } from "../../src/runs/store.ts";
import { getClaim, holder } from "./contract/data.ts";

const waiting = create(RunSchema, {
  id: "run_1",
  status: RunStatus.REQUIRES_ACTION,
  lastSequence: 7,
  endedAt: timestampNow(),
  requiredResults: [create(ToolCallSchema, { id: "call_1", name: "ask" })],
});

/**
 * Submits the result of a run.
 * @param taken The run as it is when it is taken. Undefined: another process has it.
 * @param isClaimed Whether the process still has the claim when it writes.
 */
function submit(taken: Run | undefined, isClaimed = true, now: Run | undefined = taken) {
  const writes: RunWrite[] = [];
  const toStored = (run: Run): StoredRun => ({ owner: "", run, request: create(CreateRunRequestSchema) });
  const store = {
    claim: async () => taken && { ...toStored(taken), claim: getClaim("run_1") },
    readSteps: async () => [],
    getRun: async () => now && toStored(now),
    write: async (write: RunWrite) => {
      writes.push(write);
      return isClaimed;
    },
  } as unknown as RunStore;
  const request = create(SubmitToolResultsRequestSchema, {
    runId: "run_1",
    results: [{ toolCallId: "call_1" }],
  });
  const submission = submitResults({ store, holder }, request, toStored(waiting), RunStatus.QUEUED);
  return { submission, writes };
}

describe("submitResults()", () => {
  it("writes the results with the next event, and the run as one that has not ended", async () => {
    const { submission, writes } = submit(waiting);
    const { claimed } = await submission;
    expect(claimed.run).toMatchObject({ status: RunStatus.QUEUED, requiredResults: [], lastSequence: 8 });
    expect(claimed.run.endedAt).toBeUndefined();
    expect(writes).toMatchObject([
      {
        claim: getClaim("run_1"),
        run: { status: RunStatus.QUEUED, lastSequence: 8 },
        events: [{ sequence: 8, event: { case: "run", value: { status: RunStatus.QUEUED } } }],
        messages: [{ runId: "run_1", message: { toolCallId: "call_1" } }],
      },
    ]);
  });

  it.each<[string, Run | undefined, boolean, Run | undefined, object]>([
    ["was claimed by another process", undefined, true, waiting, { name: "RunStateError" }],
    ["was claimed by another process before the write", waiting, false, waiting, { name: "RunStateError" }],
    ["was deleted meanwhile", undefined, true, undefined, { kindName: "NOT_FOUND" }],
    [
      "has been continued and requires nothing",
      { ...waiting, status: RunStatus.QUEUED },
      true,
      undefined,
      { name: "RunStateError" },
    ],
  ])("refuses results for a run that %s", async (_name, taken, isClaimed, now, error) => {
    const { submission, writes } = submit(taken, isClaimed, now);
    await expect(submission).rejects.toMatchObject(error);
    expect(writes).toHaveLength(isClaimed ? 0 : 1);
  });
});
