import type { JsonObject } from "../../kit/json.ts";
import type { LossReport } from "../../kit/loss-report.ts";

/** A schema that the provider enforces. */
export function outputSchema(schema: JsonObject, _field: string, _loss: LossReport): JsonObject {
  return schema;
}
