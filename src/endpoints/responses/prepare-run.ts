import { create } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  type Run,
  type RunEvent,
  RunEventSchema,
  RunSchema,
  RunStatus,
} from "../../gen/outrigger/v1/run_pb.ts";
import type { StartedRun } from "../../runs/engine.ts";
import { createRunId } from "../../runs/ids.ts";
import type { ReadRequest } from "./read-request.ts";

/**
 * Creates a run without a model call, for a request that a later request of the same connection continues. It is not
 * stored.
 */
export function prepareRun({ input, target }: ReadRequest): Pick<StartedRun, "run" | "events"> {
  const now = timestampNow();
  const run = create(RunSchema, {
    id: createRunId(),
    status: RunStatus.IN_PROGRESS,
    createdAt: now,
    startedAt: now,
    model: target.model,
    provider: target.provider,
    metadata: input.request.metadata,
  });
  const ended: Run = { ...run, status: RunStatus.COMPLETED, endedAt: now };
  const events = [run, ended].map((value, sequence) =>
    create(RunEventSchema, { sequence, event: { case: "run", value } }),
  );
  return { run, events: once(events) };
}

async function* once(events: readonly RunEvent[]): AsyncGenerator<readonly RunEvent[]> {
  yield events;
}
