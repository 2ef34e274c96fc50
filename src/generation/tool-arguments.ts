import { toJsonText } from "../core/json-text.ts";
import type { JsonObject } from "../core/parse-json.ts";
import { isStandardSchema, type JsonSchema, toSchemaText, validateAsync } from "../core/schema.ts";
import type { ActiveTool } from "../core/tool-input.ts";
import { argumentsOf, toolInputOf } from "../core/tools.ts";
import type { ToolCall } from "../gen/outrigger/v1/message_pb.ts";
import { createSchemaValidator, violationText } from "../kit/json-schema/validation/validator.ts";

/** The input of a tool's function, or the problem with what the model wrote. */
export type CheckedInput = { readonly value: unknown } | { readonly problem: string };

/** Reads the input of a call: the text of a custom tool, or arguments that match the schema of a function tool. */
export type InputReader = (call: ToolCall) => Promise<CheckedInput>;

/** Cached readers: programs create a tool once and use it in many generations. */
const readers = new WeakMap<ActiveTool, InputReader>();

/**
 * Creates the reader for the input of a tool's calls.
 * @param field Path of the tool, for errors.
 * @throws InvalidRequestError if the parameters are not a JSON Schema.
 */
export function createInputReader(tool: ActiveTool, field: string): InputReader {
  const reader = readers.get(tool) ?? createReader(tool, field);
  readers.set(tool, reader);
  return reader;
}

function createReader({ definition, parameters }: ActiveTool, field: string): InputReader {
  if (definition.tool.case === "custom") return async (call) => ({ value: toolInputOf(call) });
  const check = compileCheck(parameters, `${field}.parameters`);
  return async (call) => {
    const parsed = argumentsOf(call);
    if (!parsed.ok) return { problem: parsed.error.message };
    const checked = await check(parsed.value);
    if ("value" in checked) return checked;
    const name = toJsonText(call.name);
    return {
      problem: `the arguments of the call to ${name} are not valid for the schema: ${checked.problem}`,
    };
  };
}

type Check = (value: JsonObject) => CheckedInput | Promise<CheckedInput>;

function compileCheck(parameters: JsonSchema | undefined, field: string): Check {
  if (parameters === undefined) return (value) => ({ value });
  if (isStandardSchema(parameters)) return (value) => validateAsync(parameters, value);
  const validator = createSchemaValidator(toSchemaText(parameters), field);
  return (value) => {
    const violations = validator.validate(value);
    return violations.length === 0 ? { value } : { problem: violations.map(violationText).join("; ") };
  };
}
