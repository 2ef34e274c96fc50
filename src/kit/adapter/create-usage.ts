import { create } from "@bufbuild/protobuf";
import { type Usage, UsageSchema } from "../../gen/outrigger/v1/usage_pb.ts";

/** Token counts as `Usage` defines them for every provider. Counts that a provider does not report are left out. */
export interface UsageCounts {
  /** All tokens of the prompt, cached ones included. */
  readonly inputTokens: number;
  /** All tokens that the model generated, reasoning included. */
  readonly outputTokens: number;
  readonly reasoningTokens?: number | undefined;
  readonly cacheReadTokens?: number | undefined;
  readonly cacheWriteTokens?: number | undefined;
}

/** The usage of a call, with the sum of its tokens. */
export function createUsage(counts: UsageCounts): Usage {
  const reported = Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined));
  const totalTokens = counts.inputTokens + counts.outputTokens;
  return create(UsageSchema, { ...reported, totalTokens });
}
