import { jsonTextOf } from "../core/json-text.ts";
import { type JsonSchema, type StandardSchema, validateAsync } from "../core/schema.ts";
import type { ActiveTool } from "../core/tool-input.ts";
import { argumentsOf, toolInputOf } from "../core/tools.ts";
import type { ToolCall } from "../gen/outrigger/v1/message_pb.ts";

/** The input of a tool's function, or what is wrong with what the model wrote. */
export type CheckedInput = { readonly value: unknown } | { readonly problem: string };

/** Reads the input of a call: the text of a custom tool, or arguments that match the schema of a function tool. */
export type InputReader = (call: ToolCall) => Promise<CheckedInput>;

/** How the input of a tool's calls is read. */
export function inputReaderOf({ definition, parameters }: ActiveTool): InputReader {
  if (definition.tool.case === "custom") return async (call) => ({ value: toolInputOf(call) });
  return async (call) => {
    const parsed = argumentsOf(call);
    if (!parsed.ok) return { problem: parsed.error.message };
    if (parameters === undefined || !isStandardSchema(parameters)) return parsed;
    const checked = await validateAsync(parameters, parsed.value);
    return "value" in checked ? checked : { problem: mismatch(call, checked.problem) };
  };
}

function mismatch({ name }: ToolCall, problem: string): string {
  return `the arguments of the call to ${jsonTextOf(name)} are not what the schema asks for: ${problem}`;
}

function isStandardSchema(schema: JsonSchema): schema is StandardSchema {
  return "~standard" in schema;
}
