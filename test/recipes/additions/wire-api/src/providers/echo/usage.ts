import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";
import { createUsage } from "../../kit/adapter/usage.ts";
import { asCount, asObject } from "../../kit/json/json.ts";
import type { EchoUsage } from "../../wire/echo/response.ts";

/** Converts the tokens of a call. Undefined if there are none. */
export function toUsage(found: unknown): Usage | undefined {
  const usage = asObject<EchoUsage>(found);
  if (usage === undefined) return undefined;
  return createUsage({ inputTokens: asCount(usage.input) ?? 0, outputTokens: asCount(usage.output) ?? 0 });
}
