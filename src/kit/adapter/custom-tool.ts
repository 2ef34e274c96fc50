import { create } from "@bufbuild/protobuf";
import { type CustomTool, type FunctionTool, FunctionToolSchema } from "../../gen/outrigger/v1/tool_pb.ts";
import type { LossReport } from "../call/loss-report.ts";
import { asObject, asString, tryParseJson } from "../json/json.ts";

/** Name of the only argument of a function that stands in for a custom tool. */
export const CUSTOM_INPUT = "input";

/** Returns the input of a custom tool from the arguments of its function. Undefined if they are of another form. */
export function readCustomInput(argumentsJson: string): string | undefined {
  return asString(asObject(tryParseJson(argumentsJson))?.[CUSTOM_INPUT]);
}

const PARAMETERS_JSON = JSON.stringify({
  type: "object",
  properties: { [CUSTOM_INPUT]: { type: "string" } },
  required: [CUSTOM_INPUT],
  additionalProperties: false,
});

/**
 * Converts a custom tool for a provider that has only functions: to a function with one string argument, `input`. Its
 * calls come back with `arguments_json`.
 * @param field Path of the tool in the request, for the warning.
 */
export function functionForCustomTool(tool: CustomTool, field: string, loss: LossReport): FunctionTool {
  const { name, description, grammar } = tool;
  const lost = grammar === undefined ? "" : "; its grammar is not enforced";
  const message = `the provider has no custom tools; the tool is a function with the argument "${CUSTOM_INPUT}"${lost}`;
  loss.lose(field, "adjusted_setting", message);
  return create(FunctionToolSchema, { name, description, parametersJson: PARAMETERS_JSON });
}
