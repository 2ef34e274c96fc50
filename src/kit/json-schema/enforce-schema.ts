import type { LossReport } from "../call/loss-report.ts";
import type { JsonObject } from "../json/json.ts";
import { compileSchema, translateSchema } from "./compile-schema.ts";
import type { SchemaDialect } from "./dialect.ts";
import { checkLimits, measureSizes, SchemaBudget } from "./limits.ts";
import { fieldAt, UnsupportedSchemaError } from "./messages.ts";

/** The two forms in which a provider accepts a schema. */
export interface SchemaForms {
  readonly enforced: SchemaDialect;
  /** The form that is only shown to the model. */
  readonly shown: SchemaDialect;
}

/** A schema in the form that is sent. */
export interface SentSchema {
  readonly schema: JsonObject;
  /** Whether the provider is to enforce the schema. */
  readonly enforced: boolean;
}

/**
 * Translates a schema that the caller asks to be enforced. If the enforced form cannot express it (arbitrary property
 * names, any value, recursion, sizes), the schema is shown to the model instead, and that is reported: enforcing
 * another schema would forbid values that the caller allows.
 * @param field Path of the schema in the request.
 * @param budget Sizes that earlier schemas of the request have used; by default none.
 * @throws InvalidRequestError as `compileSchema`, if it is not JSON Schema.
 */
export function enforceSchema(
  schema: JsonObject,
  { enforced, shown }: SchemaForms,
  field: string,
  loss: LossReport,
  budget: SchemaBudget = new SchemaBudget(),
): SentSchema {
  try {
    const { schema: compiled, changes } = translateSchema(schema, enforced, field);
    const sizes = measureSizes(compiled);
    checkLimits(sizes, enforced.limits);
    budget.spend(sizes, enforced.requestLimits);
    changes.reportTo(loss, field);
    return { schema: compiled, enforced: true };
  } catch (error) {
    if (!(error instanceof UnsupportedSchemaError)) throw error;
    const reason = `${error.message}, which ${enforced.name} does not support`;
    const message = `${reason}; the schema is shown to the model, not enforced`;
    loss.lose(fieldAt(field, error.pointer), "adjusted_schema", message);
    return { schema: compileSchema(schema, shown, field, loss), enforced: false };
  }
}
