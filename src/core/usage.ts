import { create } from "@bufbuild/protobuf";
import { type Usage, UsageSchema } from "../gen/outrigger/v1/usage_pb.ts";

/**
 * Adds the counts of two calls. An optional count is unset in the sum only if it is unset on both sides; if one side
 * lacks a cost, the sum's cost is incomplete. `raw_json` belongs to one call and is not carried over.
 */
export function addUsage(left: Usage, right: Usage): Usage {
  const sum = create(UsageSchema, {
    inputTokens: added(left.inputTokens, right.inputTokens),
    outputTokens: added(left.outputTokens, right.outputTokens),
    totalTokens: added(left.totalTokens, right.totalTokens),
  });
  addOptional(sum, left, right, "reasoningTokens");
  addOptional(sum, left, right, "cacheReadTokens");
  addOptional(sum, left, right, "cacheWriteTokens");
  if (left.costNanoUsd !== undefined || right.costNanoUsd !== undefined) {
    sum.costNanoUsd = (left.costNanoUsd ?? 0n) + (right.costNanoUsd ?? 0n);
    sum.costIncomplete = [left, right].some(hasUnknownCost);
  }
  return sum;
}

/** Adds the counts of two calls, of which either may have none. */
export function addUsages(left: Usage | undefined, right: Usage | undefined): Usage | undefined {
  return left === undefined || right === undefined ? (left ?? right) : addUsage(left, right);
}

/** Reports whether the cost of a usage lacks some calls. */
export function hasUnknownCost({ costNanoUsd, costIncomplete, totalTokens }: Usage): boolean {
  return costIncomplete || (costNanoUsd === undefined && totalTokens > 0);
}

type OptionalCount = "reasoningTokens" | "cacheReadTokens" | "cacheWriteTokens";

function addOptional(sum: Usage, left: Usage, right: Usage, field: OptionalCount): void {
  if (left[field] === undefined && right[field] === undefined) return;
  sum[field] = added(left[field] ?? 0, right[field] ?? 0);
}

/** Adds two counts, up to the maximum that an int32 of the contract can hold. */
function added(left: number, right: number): number {
  return Math.min(left + right, LARGEST_COUNT);
}

const LARGEST_COUNT = 2_147_483_647;
