import { toJsonText } from "../../../core/json-text.ts";
import { argumentsOf } from "../../../core/tools.ts";
import type { ToolCall } from "../../../gen/outrigger/v1/message_pb.ts";
import type { Tool } from "../../../gen/outrigger/v1/tool_pb.ts";
import {
  createSchemaValidator,
  type SchemaValidator,
  violationText,
} from "../../../kit/json-schema/validation/validator.ts";

/** Checks the arguments of calls by the schemas of their tools. */
export class ToolArguments {
  readonly #validators = new Map<string, SchemaValidator>();

  /**
   * @param path Path of the tools in the caller's message.
   * @throws InvalidRequestError that names an invalid schema.
   */
  constructor(tools: readonly Tool[], path: string) {
    for (const [index, { tool }] of tools.entries()) {
      if (tool.case !== "function" || tool.value.parametersJson === "") continue;
      const field = `${path}[${index}].function.parameters_json`;
      this.#validators.set(tool.value.name, createSchemaValidator(tool.value.parametersJson, field));
    }
  }

  /** Describes the error in the arguments of a call, for the model or the caller. Undefined if they are valid. */
  toProblem(call: ToolCall): string | undefined {
    if (call.input.case === "text") return undefined;
    const parsed = argumentsOf(call);
    if (!parsed.ok) return parsed.error.message;
    const violations = this.#validators.get(call.name)?.validate(parsed.value) ?? [];
    if (violations.length === 0) return undefined;
    const texts = violations.map(violationText).join("; ");
    return `the arguments of the call to ${toJsonText(call.name)} are not valid for the schema: ${texts}`;
  }
}
