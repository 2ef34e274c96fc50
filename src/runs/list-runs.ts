import { create } from "@bufbuild/protobuf";
import { checkEnum } from "../client/check-enum.ts";
import { Violations } from "../client/violations.ts";
import { RunStatusSchema } from "../gen/outrigger/v1/run_pb.ts";
import {
  type ListRunsRequest,
  type ListRunsResponse,
  ListRunsResponseSchema,
} from "../gen/outrigger/v1/run_service_pb.ts";
import type { RunStore } from "./store.ts";

/** Elements of a page: by default, and at most. */
const PAGE_SIZE = { default: 20, max: 100 };

/** Serves ListRuns. @throws InvalidRequestError. */
export async function listRuns(
  store: RunStore,
  owner: string,
  { pageSize, pageToken, threadId, statuses }: ListRunsRequest,
): Promise<ListRunsResponse> {
  const violations = new Violations();
  const limit = readPageSize(pageSize, violations);
  for (const [index, status] of statuses.entries())
    checkEnum(RunStatusSchema, status, `statuses[${index}]`, violations);
  violations.throwIfAny();
  const { elements, hasMore } = await store.listRuns(owner, { threadId, statuses, after: pageToken, limit });
  const nextPageToken = hasMore ? (elements.at(-1)?.id ?? "") : "";
  return create(ListRunsResponseSchema, { runs: [...elements], nextPageToken });
}

function readPageSize(pageSize: number, violations: Violations): number {
  if (pageSize < 0 || pageSize > PAGE_SIZE.max)
    violations.add("page_size", `expected a number from 1 to ${PAGE_SIZE.max}, found ${pageSize}`);
  return pageSize === 0 ? PAGE_SIZE.default : pageSize;
}
