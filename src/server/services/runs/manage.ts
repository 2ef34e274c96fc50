/** The methods that read and change what is kept. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { withFieldPaths } from "../../../client/field-paths.ts";
import { invalidField, toSdkError } from "../../../core/errors.ts";
import type { Run } from "../../../gen/outrigger/v1/run_pb.ts";
import {
  type CancelRunRequest,
  type DeleteRunRequest,
  type DeleteRunResponse,
  DeleteRunResponseSchema,
  type GetRunRequest,
  type ListMessagesRequest,
  type ListMessagesResponse,
  ListMessagesResponseSchema,
  type ListRunsRequest,
  type ListRunsResponse,
} from "../../../gen/outrigger/v1/run_service_pb.ts";
import { answer, type RunParts } from "./run-call.ts";
import { requireId } from "./run-id.ts";

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
    call.readStored(() => named(call.engine.listRuns(call.owner, request))),
  );
}

/** Serves ListMessages. */
export function listMessages(
  parts: RunParts,
  { threadId, pageSize, pageToken }: ListMessagesRequest,
  context: HandlerContext,
): Promise<ListMessagesResponse> {
  return answer(parts, context, async (call) => {
    const { engine, owner } = call;
    const query = {
      threadId: requireId("thread_id", threadId),
      after: pageToken,
      limit: pageSizeOf(pageSize),
      order: "oldest first",
    } as const;
    const { elements, hasMore } = await call.readStored(() =>
      named(engine.threads.listMessages(owner, query)),
    );
    const page: MessageInitShape<typeof ListMessagesResponseSchema> = {
      messages: [...elements],
      nextPageToken: hasMore ? (elements.at(-1)?.id ?? "") : "",
    };
    return create(ListMessagesResponseSchema, page);
  });
}

/** Elements of a page of messages: by default, and at most. */
const DEFAULT_PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 100;

function pageSizeOf(pageSize: number): number {
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE)
    throw invalidField("page_size", `expected a number from 1 to ${MAX_PAGE_SIZE}, found ${pageSize}`);
  return pageSize || DEFAULT_PAGE_SIZE;
}

/** What the engine calls `after` is `page_token` here: the id of the last element of the page before. */
async function named<Page>(page: Promise<Page>): Promise<Page> {
  try {
    return await page;
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => (field === "after" ? "page_token" : field));
  }
}
