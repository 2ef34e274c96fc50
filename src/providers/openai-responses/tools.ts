/** Our tools and tool choice -> `tools`, `tool_choice` (provider documentation: "Function calling", "Using tools"). */

import { invalidField } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type ToolChoice } from "../../gen/outrigger/v1/request_pb.ts";
import {
  type CustomTool,
  type FunctionTool,
  type Grammar,
  Grammar_Syntax,
  type HostedTool,
  type Tool,
} from "../../gen/outrigger/v1/tool_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import { asJson, type JsonObject, objectsIn, parseObjectField, textIn } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import type { SentSchema } from "../../kit/json-schema/enforce-schema.ts";
import type * as Wire from "../../wire/openai-responses/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { PROVIDER_NAME, type ProviderOptions, type RequestContext, type Settings } from "./context.ts";
import { parametersSchema } from "./schemas.ts";

/** A tool in the form that is sent. */
interface DeclaredTool {
  /** For the body; schemas and configurations keep their original spelling. */
  readonly body: JsonObject;
  /** The fields by which a tool choice finds the tool. */
  readonly declaration: Untrusted<Wire.Tool>;
}

/** Returns the tools and the choice among them. @param options May add tools too. */
export function toolSettings(context: RequestContext, options: ProviderOptions): JsonObject {
  const { tools, toolChoice } = context.request;
  const list = tools.flatMap((tool, index) => toTool(tool, `tools[${index}]`, context));
  const declared = [...list.map(({ declaration }) => declaration), ...objectsIn<Wire.Tool>(options.tools)];
  return {
    tools: list.length === 0 ? undefined : list.map(({ body }) => body),
    tool_choice: toolChoice === undefined ? undefined : toChoice(toolChoice, declared),
    parallel_tool_calls: toolChoice?.parallel,
  } satisfies Untrusted<Wire.CreateRequest>;
}

function toTool({ tool }: Tool, field: string, { provider, loss }: RequestContext): DeclaredTool[] {
  switch (tool.case) {
    case "function": {
      const body = functionTool(tool.value, `${field}.function`, loss);
      return [{ body, declaration: { type: "function", name: tool.value.name } }];
    }
    case "custom":
      return [{ body: customTool(tool.value), declaration: { type: "custom", name: tool.value.name } }];
    case "hosted":
      return hostedTool(tool.value, field, provider, loss);
    default:
      throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  }
}

function functionTool(tool: FunctionTool, field: string, loss: LossReport): JsonObject {
  const { name, description } = tool;
  const { schema: parameters, enforced: strict } = toParameters(tool, field, loss);
  // If `strict` is absent, the API rewrites the schema to be strict, so it is always sent.
  return {
    type: "function",
    name,
    description: description || undefined,
    parameters,
    strict,
  } satisfies Settings<Wire.FunctionTool>;
}

function toParameters({ parametersJson, strict }: FunctionTool, field: string, loss: LossReport): SentSchema {
  if (parametersJson === "") return { schema: NO_PARAMETERS, enforced: strict };
  return parametersSchema(parametersJson, strict, `${field}.parameters_json`, loss);
}

/** No arguments, in the form that a strict tool needs too. */
const NO_PARAMETERS: JsonObject = {
  type: "object",
  properties: {},
  required: [],
  additionalProperties: false,
};

/** Returns a tool with free text as its input (provider documentation: "Function calling", "Custom tools"). */
function customTool({ name, description, grammar }: CustomTool): JsonObject {
  return {
    type: "custom",
    name,
    description: description || undefined,
    format: grammar === undefined ? undefined : toGrammar(grammar),
  } satisfies Untrusted<Wire.CustomTool>;
}

function toGrammar({ syntax, definition }: Grammar): JsonObject {
  const wireSyntax = syntax === Grammar_Syntax.REGEX ? "regex" : "lark";
  return { type: "grammar", syntax: wireSyntax, definition } satisfies Wire.CustomToolGrammar;
}

function hostedTool(
  { provider: owner, configJson }: HostedTool,
  field: string,
  provider: string,
  loss: LossReport,
): DeclaredTool[] {
  if (owner === provider || owner === PROVIDER_NAME) {
    const declaration = parseObjectField(configJson, `${field}.hosted.config_json`);
    return [{ body: sourceObject(configJson), declaration }];
  }
  loss.lose(field, "unsupported_setting", `the hosted tool belongs to provider "${owner}"; it was left out`);
  return [];
}

function toChoice(
  { mode, toolName }: ToolChoice,
  declared: readonly Untrusted<Wire.Tool>[],
): string | JsonObject | undefined {
  switch (mode) {
    case Mode.NONE:
      return "none";
    case Mode.REQUIRED:
      if (declared.length > 0) return "required";
      throw invalidField("tool_choice.mode", "MODE_REQUIRED needs a tool that this provider has, found none");
    case Mode.NAMED:
      return asJson(namedChoice(toolName, declared));
    case Mode.AUTO:
      return declared.length === 0 ? undefined : "auto";
    default:
      return undefined;
  }
}

/** Returns the choice of a tool by its name, or of a hosted one by its type. */
function namedChoice(name: string, declared: readonly Untrusted<Wire.Tool>[]): Wire.NamedToolChoice {
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
