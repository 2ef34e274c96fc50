/** Our tools and tool choice -> `tools`, `tool_choice` (provider documentation: "Function calling", "Using tools"). */

import { invalidField } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type Request, type ToolChoice } from "../../gen/outrigger/v1/request_pb.ts";
import {
  type CustomTool,
  type FunctionTool,
  type Grammar,
  Grammar_Syntax,
  type HostedTool,
  type Tool,
} from "../../gen/outrigger/v1/tool_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { type JsonObject, objectsIn, parseObjectField, textIn } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { SentSchema } from "../../kit/json-schema/enforce-schema.ts";
import { parametersSchema } from "./schemas.ts";
import { WIRE_NAME } from "./wire.ts";

/** A tool on its way out. */
interface DeclaredTool {
  /** For the body; schemas and configurations are kept as they are spelled. */
  readonly wire: JsonObject;
  /** What a tool choice can look at. */
  readonly declaration: JsonObject;
}

/**
 * The tools and the choice among them.
 * @param provider Name under which the provider is registered.
 * @param options The caller's own words for this provider, which may bring tools too.
 */
export function toolSettings(
  request: Request,
  provider: string,
  options: JsonObject,
  loss: LossReport,
): JsonObject {
  const list = request.tools.flatMap((tool, index) => toolOf(tool, `tools[${index}]`, provider, loss));
  const declared = [...list.map(({ declaration }) => declaration), ...objectsIn(options.tools)];
  return {
    ...(list.length === 0 ? {} : { tools: list.map(({ wire }) => wire) }),
    ...choiceSettings(request.toolChoice, declared),
  };
}

function toolOf({ tool }: Tool, field: string, provider: string, loss: LossReport): DeclaredTool[] {
  switch (tool.case) {
    case "function": {
      const wire = functionTool(tool.value, `${field}.function`, loss);
      return [{ wire, declaration: { type: "function", name: tool.value.name } }];
    }
    case "custom":
      return [{ wire: customTool(tool.value), declaration: { type: "custom", name: tool.value.name } }];
    case "hosted":
      return hostedTool(tool.value, field, provider, loss);
    default:
      throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  }
}

function functionTool(tool: FunctionTool, field: string, loss: LossReport): JsonObject {
  const { name, description } = tool;
  const { schema: parameters, enforced: strict } = parametersOf(tool, field, loss);
  // Where `strict` is absent the API rewrites the schema to be strict, so it is always said.
  return { type: "function", name, ...(description === "" ? {} : { description }), parameters, strict };
}

function parametersOf({ parametersJson, strict }: FunctionTool, field: string, loss: LossReport): SentSchema {
  if (parametersJson === "") return { schema: NO_PARAMETERS, enforced: strict };
  return parametersSchema(parametersJson, strict, `${field}.parameters_json`, loss);
}

/** No arguments, as a strict tool too has to say it. */
const NO_PARAMETERS: JsonObject = {
  type: "object",
  properties: {},
  required: [],
  additionalProperties: false,
};

/** A tool with free text as its input (provider documentation: "Function calling", "Custom tools"). */
function customTool({ name, description, grammar }: CustomTool): JsonObject {
  return {
    type: "custom",
    name,
    ...(description === "" ? {} : { description }),
    ...(grammar === undefined ? {} : { format: { type: "grammar", ...grammarOf(grammar) } }),
  };
}

function grammarOf({ syntax, definition }: Grammar): JsonObject {
  return { syntax: syntax === Grammar_Syntax.REGEX ? "regex" : "lark", definition };
}

function hostedTool(
  { provider: owner, configJson }: HostedTool,
  field: string,
  provider: string,
  loss: LossReport,
): DeclaredTool[] {
  if (owner === provider || owner === WIRE_NAME) {
    const declaration = parseObjectField(configJson, `${field}.hosted.config_json`);
    return [{ wire: sourceObject(configJson), declaration }];
  }
  loss.lose(field, "unsupported_setting", `the hosted tool belongs to provider "${owner}"; it was left out`);
  return [];
}

function choiceSettings(choice: ToolChoice | undefined, declared: readonly JsonObject[]): JsonObject {
  if (choice === undefined) return {};
  const chosen = choiceOf(choice, declared);
  return {
    ...(chosen === undefined ? {} : { tool_choice: chosen }),
    ...(choice.parallel === undefined ? {} : { parallel_tool_calls: choice.parallel }),
  };
}

function choiceOf(
  { mode, toolName }: ToolChoice,
  declared: readonly JsonObject[],
): string | JsonObject | undefined {
  switch (mode) {
    case Mode.NONE:
      return "none";
    case Mode.REQUIRED:
      if (declared.length > 0) return "required";
      throw invalidField("tool_choice.mode", "MODE_REQUIRED needs a tool that this provider has, found none");
    case Mode.NAMED:
      return namedChoice(toolName, declared);
    case Mode.AUTO:
      return declared.length === 0 ? undefined : "auto";
    default:
      return undefined;
  }
}

/** A tool by its name, or a hosted one by its type. */
function namedChoice(name: string, declared: readonly JsonObject[]): JsonObject {
  const tool = declared.find((each) => each.name === name) ?? declared.find((each) => each.type === name);
  switch (tool?.type) {
    case undefined:
      throw invalidField("tool_choice.tool_name", "names a tool that this provider does not have");
    case "function":
    case "custom":
      return { type: tool.type, name };
    case "mcp":
      return { type: "mcp", server_label: textIn(tool.server_label) };
    default:
      return { type: textIn(tool?.type) };
  }
}
