/** Schemas of answers that are not objects, for APIs that require an object at the root. */
import type { LossReport } from "../call/loss-report.ts";
import type { JsonObject } from "../json/json.ts";
import { compileSchema } from "./compile-schema.ts";
import { enforceSchema, type SchemaForms, type SentSchema } from "./enforce-schema.ts";
import { statesOtherRoot, wrapSchema } from "./wrap-schema.ts";

/** The schema of an answer in the form that is sent. */
export interface AnswerSchema extends SentSchema {
  /** Name of the member that has the value, if the model is to write it in an object. */
  readonly wrappedMember?: string | undefined;
}

/**
 * Wraps the schema of an answer in an object, and reports that.
 * @param strict Whether the provider is to enforce it.
 * @param field Path of the schema in the request.
 * @returns Undefined if the root may be an object, or if the schema cannot be wrapped.
 */
export function wrapAnswer(
  schema: JsonObject,
  strict: boolean,
  { enforced, shown }: SchemaForms,
  field: string,
  loss: LossReport,
): AnswerSchema | undefined {
  // Most schemas are objects, and are not searched for names.
  if (!statesOtherRoot(schema)) return undefined;
  const member = chooseMember(schema);
  if (wrapSchema(schema, member) === undefined) return undefined;
  const { levels = Number.POSITIVE_INFINITY } = enforced.limits;
  const forms = {
    enforced: { ...enforced, root: "any", limits: { ...enforced.limits, levels: levels - 1 } },
    shown,
  } as const;
  const sent = strict
    ? enforceSchema(schema, forms, field, loss)
    : { schema: compileSchema(schema, shown, field, loss), enforced: false };
  const wrapped = wrapSchema(sent.schema, member);
  if (wrapped === undefined) return undefined;
  loss.note(
    field,
    "adjusted_schema",
    `${REASON}; the schema is sent as the member ${JSON.stringify(member)} of one`,
  );
  return { schema: wrapped, enforced: sent.enforced, wrappedMember: member };
}

const REASON = "the API lets the model write objects only";

/** Returns a name that the schema does not have: a model might write a member by that name without the wrapper. */
function chooseMember(schema: JsonObject): string {
  let longest = 0;
  // One pass: a caller could have used thousands of such names.
  for (const [, marks = ""] of JSON.stringify(schema).matchAll(/"value(_*)"/g))
    longest = Math.max(longest, marks.length + 1);
  return `value${"_".repeat(longest)}`;
}
