/** The methods that read and change stored runs. */
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Run } from "../../../gen/outrigger/v1/run_pb.ts";
import {
  type CancelRunRequest,
  type DeleteRunRequest,
  type DeleteRunResponse,
  DeleteRunResponseSchema,
  type GetRunRequest,
  type ListRunsRequest,
  type ListRunsResponse,
} from "../../../gen/outrigger/v1/run_service_pb.ts";
import { answer, type RunParts, requireId, withPageToken } from "./run-call.ts";

/** Serves GetRun. */
export function getRun(parts: RunParts, { runId }: GetRunRequest, context: HandlerContext): Promise<Run> {
  return answer(parts, context, (call) =>
    call.readStored(() => call.engine.getRun(call.owner, requireId("run_id", runId))),
  );
}

/** Serves CancelRun. */
export function cancelRun(
  parts: RunParts,
  { runId }: CancelRunRequest,
  context: HandlerContext,
): Promise<Run> {
  return answer(parts, context, ({ engine, owner }) => engine.cancelRun(owner, requireId("run_id", runId)));
}

/** Serves DeleteRun. */
export function deleteRun(
  parts: RunParts,
  { runId }: DeleteRunRequest,
  context: HandlerContext,
): Promise<DeleteRunResponse> {
  return answer(parts, context, async ({ engine, owner }) => {
    await engine.deleteRun(owner, requireId("run_id", runId));
    return create(DeleteRunResponseSchema);
  });
}

/** Serves ListRuns. */
export function listRuns(
  parts: RunParts,
  request: ListRunsRequest,
  context: HandlerContext,
): Promise<ListRunsResponse> {
  return answer(parts, context, (call) =>
    call.readStored(() => withPageToken(call.engine.listRuns(call.owner, request))),
  );
}
