/** Token counts as programs report them. */
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage } from "../../kit/adapter/usage.ts";
import { asCount, asObject } from "../../kit/json/json.ts";
import type { CodexUsage } from "../../wire/command/codex.ts";

/** Converts token counts. Undefined if there are none. */
export function toUsage(found: unknown, includeRaw: boolean): Usage | undefined {
  const counts = asObject<CodexUsage>(found);
  const input = asCount(counts?.input_tokens);
  const output = asCount(counts?.output_tokens);
  if (counts === undefined || (input === undefined && output === undefined)) return undefined;
  const converted = {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    reasoningTokens: asCount(counts.reasoning_output_tokens),
    cacheReadTokens: asCount(counts.cached_input_tokens),
    cacheWriteTokens: asCount(counts.cache_write_input_tokens),
  };
  return createUsage(converted, includeRaw ? counts : undefined);
}
