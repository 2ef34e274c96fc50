import { create } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RunSchema, RunStatus } from "../../src/gen/outrigger/v1/run_pb.ts";
import {
  acceptsCancel,
  isQueuedOrRunning,
  isTerminal,
  statusName,
  withStatus,
} from "../../src/runs/status.ts";

/** The table at `RunStatus` in the contract, written a second time. */
const TABLE: Readonly<Record<string, readonly string[]>> = {
  QUEUED: ["IN_PROGRESS", "FAILED", "CANCELLED"],
  IN_PROGRESS: ["QUEUED", "REQUIRES_ACTION", "COMPLETED", "INCOMPLETE", "FAILED", "CANCELLED"],
  REQUIRES_ACTION: ["IN_PROGRESS", "QUEUED", "COMPLETED", "CANCELLED"],
  COMPLETED: [],
  INCOMPLETE: [],
  FAILED: [],
  CANCELLED: [],
};

const statuses = Object.values(RunStatus).filter((status) => status !== RunStatus.UNSPECIFIED);

const pairs = statuses.flatMap((from) => statuses.map((to): [RunStatus, RunStatus] => [from, to]));

describe("withStatus()", () => {
  it.each(pairs.map(([from, to]) => [statusName(from), statusName(to), from, to] as const))(
    "goes from %s to %s exactly if the contract's table allows it",
    (fromName, toName, from, to) => {
      const run = create(RunSchema, { id: "run_1", status: from });
      if (TABLE[fromName]?.includes(toName))
        expect(withStatus(run, to, { cancelRequested: true })).toEqual({
          ...run,
          status: to,
          cancelRequested: true,
        });
      else expect(() => withStatus(run, to)).toThrow(`a run that is ${fromName} cannot become ${toName}`);
    },
  );

  it("never leaves a terminal status on a random walk, and reaches one", () => {
    const walk = fc.array(fc.constantFrom(...statuses), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(walk, (steps) => {
        let run = create(RunSchema, { status: RunStatus.QUEUED });
        let ended: RunStatus | undefined;
        for (const next of steps) {
          try {
            run = withStatus(run, next);
          } catch {
            continue;
          }
          expect(ended).toBeUndefined();
          if (isTerminal(run.status)) ended = run.status;
        }
        expect(isTerminal(run.status)).toBe(ended !== undefined);
        expect(isTerminal(run.status) && isQueuedOrRunning(run.status)).toBe(false);
      }),
    );
  });
});

it("accepts a request to cancel unless the run has ended otherwise", () => {
  expect(statuses.filter((status) => !acceptsCancel(status)).map(statusName)).toEqual([
    "COMPLETED",
    "INCOMPLETE",
    "FAILED",
  ]);
});
