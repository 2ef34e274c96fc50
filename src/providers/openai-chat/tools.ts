/**
 * Our tools and tool choice -> `tools`, `tool_choice`, `parallel_tool_calls` (provider documentation: "Function
 * calling").
 */

import { invalidField, UnsupportedToolChoiceError } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type ToolChoice } from "../../gen/outrigger/v1/request_pb.ts";
import {
  type CustomTool,
  type FunctionTool,
  type Grammar,
  Grammar_Syntax,
  type Tool,
} from "../../gen/outrigger/v1/tool_pb.ts";
import { functionForCustomTool } from "../../kit/adapter/custom-tool.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import type {
  ChatRequest,
  CustomTool as WireCustomTool,
  FunctionTool as WireFunctionTool,
  Tool as WireTool,
  ToolChoice as WireToolChoice,
} from "../../wire/openai-chat/request.ts";
import { PROVIDER_NAME, type ProviderOptions, type RequestContext } from "./context.ts";
import type { ForcedToolChoice, ServerProfile } from "./profile.ts";
import { toSchema } from "./schemas.ts";
import { verbatim } from "./verbatim.ts";

/** A grammar in the form that the server takes. */
type WireGrammar = Extract<WireCustomTool["custom"]["format"], { type: "grammar" }>["grammar"];

/** The settings about tools. */
type ToolSettings = Pick<ChatRequest, "tools" | "tool_choice" | "parallel_tool_calls">;

/**
 * Returns the tools, and whether the model must call one.
 * @throws UnsupportedToolChoiceError if the server does not support the tool choice of the request.
 */
export function toolSettings(context: RequestContext, options: ProviderOptions): ToolSettings {
  const { tools, toolChoice } = context.request;
  const list = tools.flatMap((tool, index) => toTool(tool, `tools[${index}]`, context));
  const hasTools = list.length > 0 || Array.isArray(options.body.tools);
  if (!hasTools) return {};
  if (toolChoice === undefined) return { tools: list };
  return {
    ...choiceSettings(list, toolChoice, context, options.relaxesToolChoice),
    ...parallel(toolChoice, context),
  };
}

function toTool({ tool }: Tool, field: string, context: RequestContext): WireTool[] {
  if (tool.case === "function") return [functionTool(tool.value, `${field}.function`, context)];
  if (tool.case === "custom") return [customTool(tool.value, `${field}.custom`, context)];
  if (tool.case !== "hosted")
    throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  const { provider: owner, configJson } = tool.value;
  if (owner === context.provider || owner === PROVIDER_NAME)
    return [verbatim<WireTool>(parseObjectField(configJson, `${field}.hosted.config_json`))];
  const message = `the hosted tool belongs to provider "${owner}"; it was left out`;
  context.loss.lose(field, "unsupported_setting", message);
  return [];
}

/** Converts a tool with free text as its input (provider documentation: "Create chat completion", `tools`). */
function customTool(tool: CustomTool, field: string, context: RequestContext): WireTool {
  if (!context.profile.supportsCustomTools)
    return functionTool(functionForCustomTool(tool, field, context.loss), field, context);
  const { name, description, grammar } = tool;
  const custom: WireCustomTool["custom"] = {
    name,
    ...(description === "" ? {} : { description }),
    ...(grammar === undefined ? {} : { format: { type: "grammar", grammar: toGrammar(grammar) } }),
  };
  return { type: "custom", custom };
}

function toGrammar({ syntax, definition }: Grammar): WireGrammar {
  return { syntax: syntax === Grammar_Syntax.REGEX ? "regex" : "lark", definition };
}

function functionTool(tool: FunctionTool, field: string, context: RequestContext): WireFunctionTool {
  const { name, description, parametersJson } = tool;
  const { maxToolNameChars } = context.profile;
  if (name.length > maxToolNameChars) {
    const found = `found ${name.length}`;
    throw invalidField(`${field}.name`, `expected at most ${maxToolNameChars} characters, ${found}`);
  }
  const wantsStrict = tool.strict && supportsStrict(field, context);
  const { schema, enforced } =
    parametersJson === ""
      ? { schema: NO_PARAMETERS, enforced: wantsStrict }
      : toSchema(parametersJson, "parameters", wantsStrict, `${field}.parameters_json`, context);
  const described = description === "" ? {} : { description };
  const strict = wantsStrict && enforced ? { strict: true } : {};
  return { type: "function", function: { name, ...described, parameters: schema, ...strict } };
}

const NO_PARAMETERS: JsonObject = { type: "object", properties: {}, additionalProperties: false };

function supportsStrict(field: string, { profile, loss }: RequestContext): boolean {
  if (!profile.supportsStrictTools) {
    const message =
      "the server does not support strict tools; the schema is shown to the model, but not enforced";
    loss.lose(`${field}.strict`, "unsupported_setting", message);
  }
  return profile.supportsStrictTools;
}

function choiceSettings(
  tools: WireTool[],
  choice: ToolChoice,
  { profile, loss }: RequestContext,
  relaxes: boolean,
): ToolSettings {
  const forced = FORCED.get(choice.mode);
  if (forced === undefined) {
    const sendsAuto = choice.mode === Mode.AUTO && profile.toolChoices.length > 0;
    return { tools, ...(sendsAuto ? { tool_choice: "auto" } : {}) };
  }
  if (profile.toolChoices.includes(forced))
    return { tools, tool_choice: wireChoice(forced, choice.toolName, tools) };
  const named = () => tools.filter((tool) => getName(tool) === choice.toolName);
  // A model that must call a tool and knows only one calls that one.
  if (forced === "named" && profile.toolChoices.includes("required"))
    return { tools: named(), tool_choice: "required" };
  // A model cannot call tools that are not sent.
  if (forced === "none") return {};
  if (!relaxes) throw new UnsupportedToolChoiceError(unsupportedChoice(forced));
  loss.lose("tool_choice.mode", "adjusted_setting", `${unsupportedChoice(forced)}; the model may call none`);
  return { tools: forced === "named" ? named() : tools };
}

const FORCED: ReadonlyMap<Mode, ForcedToolChoice> = new Map([
  [Mode.NONE, "none"],
  [Mode.REQUIRED, "required"],
  [Mode.NAMED, "named"],
]);

/** Reports whether a server supports a mode of tool choice. */
export function acceptsToolChoice({ toolChoices }: ServerProfile, mode: Mode): boolean {
  const forced = FORCED.get(mode);
  // If the server has no `none`, the tools are left out; if it has no `named`, all tools except the named one.
  if (forced === undefined || forced === "none") return true;
  return toolChoices.includes(forced) || (forced === "named" && toolChoices.includes("required"));
}

function unsupportedChoice(forced: ForcedToolChoice): string {
  return forced === "named"
    ? "the server has no tool choice that forces a call of a given tool"
    : "the server has no tool choice that forces a tool call";
}

function wireChoice(forced: ForcedToolChoice, name: string, tools: readonly WireTool[]): WireToolChoice {
  if (forced !== "named") return forced;
  const isCustom = tools.some((tool) => tool.type === "custom" && getName(tool) === name);
  return isCustom ? { type: "custom", custom: { name } } : { type: "function", function: { name } };
}

/** Returns the name of a tool; undefined for a hosted one, whose configuration may have any form. */
function getName(tool: WireTool): string | undefined {
  return tool.type === "custom" ? tool.custom?.name : tool.function?.name;
}

function parallel({ parallel: wanted }: ToolChoice, { profile, loss }: RequestContext): ToolSettings {
  if (wanted === undefined) return {};
  if (profile.supportsParallelToolCalls) return { parallel_tool_calls: wanted };
  loss.lose("tool_choice.parallel", "unsupported_setting", "the server has no such setting; it was left out");
  return {};
}
