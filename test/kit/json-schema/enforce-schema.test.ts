import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { LossReport } from "../../../src/kit/call/loss-report.ts";
import type { JsonObject } from "../../../src/kit/json/json.ts";
import { enforceSchema, type SentSchema } from "../../../src/kit/json-schema/enforce-schema.ts";
import { SchemaBudget } from "../../../src/kit/json-schema/limits.ts";
import { ANTHROPIC_STRICT, OPENAI_STRICT, TOOL_PARAMETERS } from "../../../src/providers/schema-dialects.ts";

const FIELD = "tools[0].function.parameters_json";
const OPENAI = { enforced: OPENAI_STRICT, shown: TOOL_PARAMETERS };
const ANTHROPIC = { enforced: ANTHROPIC_STRICT, shown: TOOL_PARAMETERS };
const STRING = { type: "string" };

function enforced(
  schema: object,
  forms = OPENAI,
  budget?: SchemaBudget,
): SentSchema & { reported: string[] } {
  const loss = new LossReport();
  const sent = enforceSchema(schema as JsonObject, forms, FIELD, loss, budget);
  return { ...sent, reported: loss.warnings.map(({ field, message }) => `${field}: ${message}`) };
}

describe("enforceSchema()", () => {
  it("has the provider enforce a schema that it can express", () => {
    const schema = { type: "object", properties: { a: STRING }, required: ["a"] };
    expect(enforced(schema)).toEqual({
      schema: { ...schema, additionalProperties: false },
      enforced: true,
      reported: [],
    });
  });

  it("reports how a schema was relaxed", () => {
    const { enforced: isEnforced, reported } = enforced({ type: "object", properties: { a: STRING } });
    expect(isEnforced).toBe(true);
    expect(reported).toEqual([
      `${FIELD}#/properties/a: is not required, which OpenAI's strict mode does not support; null means that it is absent`,
    ]);
  });

  it.each<[string, object, string]>([
    ["arbitrary names", { type: "object" }, "#/properties/a: is an object with arbitrary property names"],
    ["any value", {}, "#/properties/a: accepts any value"],
    [
      "too many values",
      { enum: Array.from({ length: 1001 }, (_, index) => `${index}`) },
      ": has 1001 enum values instead of at most 1000",
    ],
  ])("shows the model a schema that cannot be enforced, and reports why: %s", (_name, property, why) => {
    const schema = { type: "object", properties: { a: property, b: STRING }, required: ["a"] };
    const outcome = enforced(schema);
    expect(outcome).toEqual({
      schema,
      enforced: false,
      reported: [
        `${FIELD}${why}, which OpenAI's strict mode does not support; the schema is shown to the model, not enforced`,
      ],
    });
    expect(outcome.schema).toBe(schema);
  });

  it("makes a request with the loss policy REFUSE fail if it does so", () => {
    const loss = new LossReport();
    enforceSchema({ type: "object" }, OPENAI, FIELD, loss);
    expect(() => loss.enforce(LossPolicy.REFUSE)).toThrow(InvalidRequestError);
  });

  it("refuses a schema that is malformed in every form", () => {
    expect(() => enforced({ type: "object", properties: { a: { type: "text" } } })).toThrow(
      InvalidRequestError,
    );
    expect(() => enforced(STRING)).toThrow(InvalidRequestError);
  });

  it("applies the limits of a request to all of its schemas together, in their order", () => {
    const optional = (count: number) => ({
      type: "object",
      properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, STRING])),
    });
    const budget = new SchemaBudget();
    const sent = [20, 5, 4, 1].map((count) => enforced(optional(count), ANTHROPIC, budget));
    expect(sent.map((each) => each.enforced)).toEqual([true, false, true, false]);
    expect(sent[1]?.reported).toEqual([
      `${FIELD}: has 25 optional properties instead of at most 24, which Anthropic's strict tool use does not support; the schema is shown to the model, not enforced`,
    ]);
  });

  it("enforces no more schemas than the provider accepts", () => {
    const budget = new SchemaBudget();
    const schema = { type: "object", properties: { a: STRING }, required: ["a"] };
    const sent = Array.from({ length: 21 }, () => enforced(schema, ANTHROPIC, budget).enforced);
    expect(sent.filter(Boolean)).toHaveLength(20);
    expect(sent.at(-1)).toBe(false);
  });
});
