/**
 * Checks the responses of `/v1/responses` against OpenAI's published schemas, and against the schemas of Open
 * Responses. Objects may not have properties that their schema does not have; see closed-schemas.ts.
 *
 *   expectValidEvent(event);                          // one event of a stream, at OpenAI
 *   expectValid("Response", body);                    // any object of openai.json by its name
 *   expectValidOpenResponses("ResponseResource", body);
 */
import Ajv2020, { type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { expect } from "vitest";
import { amendments } from "./amendments.ts";
import { closeSchemas, type Schemas } from "./closed-schemas.ts";
import openResponsesDescription from "./open-responses.json" with { type: "json" };
import openaiDescription from "./openai.json" with { type: "json" };

/** Name of a schema in openai.json. */
export type SchemaName = keyof typeof openaiDescription.schemas;

/** Name of a schema in open-responses.json. */
export type OpenResponsesSchemaName = keyof typeof openResponsesDescription.schemas;

type Validator = (name: string) => ValidateFunction;

const openai = createValidator(closeSchemas(openaiDescription.schemas, amendments));
const openResponses = createValidator(openResponsesDescription.schemas);

/** Returns the mistakes in an event of a stream of `/v1/responses`, or none if it is valid. */
export function mistakesOfEvent(event: unknown): string[] {
  return loadMistakes("ResponseStreamEvent", event);
}

/** Returns the mistakes in a value that should have one of OpenAI's schemas, or none if it is valid. */
export function loadMistakes(name: SchemaName, value: unknown): string[] {
  return check(openai(name), value);
}

/**
 * Returns the mistakes in a value that should have one of the schemas of Open Responses, or none if it is valid. These
 * schemas are open: that specification allows more properties.
 */
export function mistakesOfOpenResponses(name: OpenResponsesSchemaName, value: unknown): string[] {
  return check(openResponses(name), value);
}

/** Fails the test if an event of a stream does not have the schema that OpenAI publishes for its type. */
export function expectValidEvent(event: unknown): void {
  expect(mistakesOfEvent(event), JSON.stringify(event)).toEqual([]);
}

/** Fails the test if a value does not have one of OpenAI's schemas. */
export function expectValid(name: SchemaName, value: unknown): void {
  expect(loadMistakes(name, value), `${name} ${JSON.stringify(value)}`).toEqual([]);
}

/** Fails the test if a value does not have one of the schemas of Open Responses. */
export function expectValidOpenResponses(name: OpenResponsesSchemaName, value: unknown): void {
  expect(mistakesOfOpenResponses(name, value), `${name} ${JSON.stringify(value)}`).toEqual([]);
}

function createValidator(schemas: Schemas): Validator {
  const ajv = new Ajv2020.default({ allErrors: true, strict: false, discriminator: false });
  formats.default(ajv);
  ajv.addFormat("unixtime", { type: "number", validate: Number.isInteger });
  ajv.addSchema({ $id: "description", $defs: localReferences(schemas) });
  return (name) => {
    const validate = ajv.getSchema(`description#/$defs/${name}`);
    if (validate === undefined) throw new Error(`There is no schema ${name}.`);
    return validate;
  };
}

/** The schemas with references that are relative to `$defs`. */
function localReferences(schemas: Schemas): object {
  return JSON.parse(JSON.stringify(schemas).replaceAll("#/components/schemas/", "#/$defs/"));
}

function check(validate: ValidateFunction, value: unknown): string[] {
  validate(value);
  return (validate.errors ?? [])
    .filter(({ keyword }) => keyword !== "if")
    .map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}
