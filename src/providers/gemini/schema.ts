import type { JsonObject } from "../../kit/json.ts";
import type { LossReport } from "../../kit/loss-report.ts";

/** A JSON Schema in the dialect of `parametersJsonSchema` and `responseJsonSchema`. What had to be relaxed is reported. */
export function toSchema(schema: JsonObject, _field: string, _loss: LossReport): JsonObject {
  return schema;
}
