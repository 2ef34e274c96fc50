import { toSnakeCase } from "../catalog/model-settings.ts";
import type { MiddlewareMethods } from "../client/middleware.ts";
import type { Log } from "../core/log.ts";
import { type AttemptEntry, createLogging } from "../middleware/logging.ts";
import type { CallRules } from "./middleware-schema.ts";

/** Logs attempts according to a rule, with the same field names as other lines of the log. */
export function createAttemptLog(
  { redact = [], ...rule }: NonNullable<CallRules["logging"]>,
  log: Log,
): MiddlewareMethods {
  return createLogging({
    ...rule,
    redact: (text) => redact.reduce((rest, pattern) => rest.replace(pattern, "[redacted]"), text),
    log: (entry) => log.info(toFields(entry), "attempt"),
  });
}

function toFields(entry: AttemptEntry): object {
  return Object.fromEntries(Object.entries(entry).map(([name, value]) => [toSnakeCase(name), value]));
}
