import { InvalidRequestError } from "../../../src/core/errors.ts";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import { compileSchema } from "../../../src/kit/json-schema/compile-schema.ts";
import type { SchemaDialect } from "../../../src/kit/json-schema/dialect.ts";

/** The result of compiling a schema. */
export type Outcome = Compiled | { readonly refused: string };

interface Compiled {
  readonly schema: JsonObject;
  /** Fields of the warnings, with `noted ` before fields for which a strict request is not refused. */
  readonly reported: readonly string[];
  readonly messages: readonly string[];
}

/** Translates a schema under the field `schema`. An error other than a refusal is thrown. */
export function compiled(schema: unknown, dialect: SchemaDialect): Outcome {
  const loss = new LossReport();
  try {
    const sent = compileSchema(schema as JsonObject, dialect, "schema", loss);
    return {
      schema: sent,
      reported: getReports(loss),
      messages: loss.warnings.map(({ message }) => message),
    };
  } catch (error) {
    if (error instanceof InvalidRequestError) return { refused: error.message };
    throw error;
  }
}

/** The outcome of a schema that is not refused. */
export function accepted(schema: unknown, dialect: SchemaDialect): Compiled {
  const outcome = compiled(schema, dialect);
  if ("refused" in outcome) throw new Error(outcome.refused);
  return outcome;
}

/** The reason why a schema is refused. */
export function refusal(schema: unknown, dialect: SchemaDialect): string {
  const outcome = compiled(schema, dialect);
  if ("schema" in outcome) throw new Error(`accepted as ${JSON.stringify(outcome.schema)}`);
  return outcome.refused;
}

function getReports(loss: LossReport): string[] {
  const lost = new Set(getViolations(loss));
  return loss.warnings.map(({ field }) => (lost.has(field) ? field : `noted ${field}`));
}

function getViolations(loss: LossReport): string[] {
  try {
    loss.enforce(LossPolicy.REFUSE);
    return [];
  } catch (error) {
    if (error instanceof InvalidRequestError) return error.violations.map(({ field }) => field);
    throw error;
  }
}
