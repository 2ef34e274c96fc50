/** `tools` and `toolConfig` of the Gemini API -> the contract's tools and choice. */
import { create } from "@bufbuild/protobuf";
import {
  ToolChoice_Mode as Mode,
  type ToolChoice,
  ToolChoiceSchema,
} from "../../gen/outrigger/v1/request_pb.ts";
import { type Tool, ToolSchema } from "../../gen/outrigger/v1/tool_pb.ts";
import type { ReadingContext } from "../stateless/reading-context.ts";
import type { ReadTool, ReadTools } from "../stateless/to-request.ts";
import { type ProtoFields, toJsonName } from "./fields.ts";
import { isGemini } from "./provider-state.ts";
import { toJsonSchema } from "./schema.ts";

const MODES = ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"] as const;

/** Reads the tools and the choice. */
export function readTools(fields: ProtoFields, context: ReadingContext): ReadTools {
  const config = fields.object("toolConfig")?.object("functionCallingConfig");
  const mode = config?.word("mode", MODES);
  const allowed = new Set(config?.strings("allowedFunctionNames"));
  const tools = fields
    .messages("tools")
    .flatMap((tool) => readTool(tool, mode === "VALIDATED", context))
    .filter(({ tool }) => isAllowed(tool, allowed));
  return { tools, choice: toChoice(mode, [...allowed], tools.length > 0) };
}

/** The contract has no list of allowed functions, so the other functions are left out. */
function isAllowed({ tool }: Tool, allowed: ReadonlySet<string>): boolean {
  return allowed.size === 0 || tool.case !== "function" || allowed.has(tool.value.name);
}

const DECLARATIONS: ReadonlySet<string> = new Set(["functionDeclarations"]);

/** One entry of `tools` has functions, tools of Gemini, or both. */
function readTool(tool: ProtoFields, strict: boolean, context: ReadingContext): readonly ReadTool[] {
  const functions = tool
    .messages("functionDeclarations")
    .map((declaration) => ({ tool: readFunction(declaration, strict, context), path: declaration.path }));
  const hosted = tool
    .getOthers(DECLARATIONS)
    .map((name) => ({ tool: toHosted(tool, name, context), path: tool.at(name) }));
  return [...functions, ...hosted];
}

/** Returns one of Gemini's hosted tools. Adapters of other providers leave it out with a warning. */
function toHosted(tool: ProtoFields, name: string, context: ReadingContext): Tool {
  const provider = isGemini(context) ? context.served.provider : "gemini";
  const configJson = `{${JSON.stringify(toJsonName(name))}:${tool.spelled(name)}}`;
  return create(ToolSchema, { tool: { case: "hosted", value: { provider, configJson } } });
}

const FUNCTION_FIELDS: ReadonlySet<string> = new Set([
  "name",
  "description",
  "parameters",
  "parametersJsonSchema",
  // Descriptions of the result, which no model needs to call a function.
  "response",
  "responseJsonSchema",
]);

function readFunction(declaration: ProtoFields, strict: boolean, { notes }: ReadingContext): Tool {
  for (const name of declaration.getOthers(FUNCTION_FIELDS))
    notes.warn(
      declaration.at(name),
      "unsupported_setting",
      "functions have no such setting; it was left out",
    );
  const value = {
    name: declaration.requireString("name", { min: 1 }),
    description: declaration.string("description") ?? "",
    parametersJson: readParameters(declaration),
    strict,
  };
  return create(ToolSchema, { tool: { case: "function", value } });
}

function readParameters(declaration: ProtoFields): string {
  const schema = declaration.object("parametersJsonSchema");
  if (schema !== undefined) return schema.text();
  const parameters = declaration.object("parameters");
  return parameters === undefined ? "" : JSON.stringify(toJsonSchema(parameters.value));
}

/** `AUTO` and `NONE` are left out if there are no tools, since servers refuse them then. */
function toChoice(
  mode: (typeof MODES)[number] | undefined,
  allowed: readonly string[],
  hasTools: boolean,
): ToolChoice | undefined {
  switch (mode) {
    case "ANY":
      return allowed.length === 1
        ? create(ToolChoiceSchema, { mode: Mode.NAMED, toolName: allowed[0] ?? "" })
        : create(ToolChoiceSchema, { mode: Mode.REQUIRED });
    case "NONE":
      return hasTools ? create(ToolChoiceSchema, { mode: Mode.NONE }) : undefined;
    case "AUTO":
      return hasTools ? create(ToolChoiceSchema, { mode: Mode.AUTO }) : undefined;
    default:
      return undefined;
  }
}
