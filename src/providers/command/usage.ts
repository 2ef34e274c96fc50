/** Token counts as programs report them. */
import { create } from "@bufbuild/protobuf";
import { type Usage, UsageSchema } from "../../gen/outrigger/v1/usage_pb.ts";
import { asCount, asObject } from "../../kit/json/json.ts";
import type { CodexUsage } from "../../wire/command/codex.ts";

/** Converts token counts. Undefined if there are none. */
export function toUsage(found: unknown, includeRaw: boolean): Usage | undefined {
  const counts = asObject<CodexUsage>(found);
  const input = asCount(counts?.input_tokens);
  const output = asCount(counts?.output_tokens);
  if (counts === undefined || (input === undefined && output === undefined)) return undefined;
  const [inputTokens, outputTokens] = [input ?? 0, output ?? 0];
  const usage = create(UsageSchema, { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens });
  const reasoning = asCount(counts.reasoning_output_tokens);
  const cacheRead = asCount(counts.cached_input_tokens);
  const cacheWrite = asCount(counts.cache_write_input_tokens);
  if (reasoning !== undefined) usage.reasoningTokens = reasoning;
  if (cacheRead !== undefined) usage.cacheReadTokens = cacheRead;
  if (cacheWrite !== undefined) usage.cacheWriteTokens = cacheWrite;
  if (includeRaw) usage.rawJson = JSON.stringify(counts);
  return usage;
}
