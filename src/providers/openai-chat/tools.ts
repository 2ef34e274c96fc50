/** Our tools and tool choice -> `tools`, `tool_choice`, `parallel_tool_calls` (provider documentation: "Function calling"). */

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
import { type JsonObject, objectIn, parseObjectField } from "../../kit/json/json.ts";
import type { RequestContext } from "./context.ts";
import type { ProviderOptions } from "./options.ts";
import type { ServerProfile, ToolChoiceWord } from "./profile.ts";
import { schemaOf } from "./schemas.ts";
import { WIRE_NAME } from "./wire.ts";

/**
 * What there is to call, and how free the model is.
 * @throws UnsupportedToolChoiceError where the server lets no request force the call that is asked for.
 */
export function toolSettings(context: RequestContext, options: ProviderOptions): JsonObject {
  const { tools, toolChoice } = context.request;
  const list = tools.flatMap((tool, index) => toolOf(tool, `tools[${index}]`, context));
  const hasTools = list.length > 0 || Array.isArray(options.body.tools);
  if (!hasTools) return {};
  if (toolChoice === undefined) return { tools: list };
  return {
    ...chosen(list, toolChoice, context, options.freesToolChoice),
    ...parallel(toolChoice, context),
  };
}

function toolOf({ tool }: Tool, field: string, context: RequestContext): JsonObject[] {
  if (tool.case === "function") return [functionTool(tool.value, `${field}.function`, context)];
  if (tool.case === "custom") return [customTool(tool.value, `${field}.custom`, context)];
  if (tool.case !== "hosted")
    throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  const { provider: owner, configJson } = tool.value;
  if (owner === context.provider || owner === WIRE_NAME)
    return [parseObjectField(configJson, `${field}.hosted.config_json`)];
  const message = `the hosted tool belongs to provider "${owner}"; it was left out`;
  context.loss.lose(field, "unsupported_setting", message);
  return [];
}

/** A tool with free text as its input (provider documentation: "Create chat completion", `tools`). */
function customTool(tool: CustomTool, field: string, context: RequestContext): JsonObject {
  if (!context.profile.supportsCustomTools)
    return functionTool(functionForCustomTool(tool, field, context.loss), field, context);
  const { name, description, grammar } = tool;
  const custom = {
    name,
    ...(description === "" ? {} : { description }),
    ...(grammar === undefined ? {} : { format: { type: "grammar", grammar: grammarOf(grammar) } }),
  };
  return { type: "custom", custom };
}

function grammarOf({ syntax, definition }: Grammar): JsonObject {
  return { syntax: syntax === Grammar_Syntax.REGEX ? "regex" : "lark", definition };
}

function functionTool(tool: FunctionTool, field: string, context: RequestContext): JsonObject {
  const { name, description, parametersJson } = tool;
  const { maxToolNameChars } = context.profile;
  if (name.length > maxToolNameChars) {
    const found = `found ${name.length}`;
    throw invalidField(`${field}.name`, `expected at most ${maxToolNameChars} characters, ${found}`);
  }
  const wantsStrict = tool.strict && isStrictTaken(field, context);
  const { schema, enforced } =
    parametersJson === ""
      ? { schema: NO_PARAMETERS, enforced: wantsStrict }
      : schemaOf(parametersJson, "parameters", wantsStrict, `${field}.parameters_json`, context);
  const described = description === "" ? {} : { description };
  const strict = wantsStrict && enforced ? { strict: true } : {};
  return { type: "function", function: { name, ...described, parameters: schema, ...strict } };
}

const NO_PARAMETERS: JsonObject = { type: "object", properties: {}, additionalProperties: false };

function isStrictTaken(field: string, { profile, loss }: RequestContext): boolean {
  if (!profile.supportsStrictTools) {
    const message = "the server has no strict tools; the schema is shown to the model, not enforced";
    loss.lose(`${field}.strict`, "unsupported_setting", message);
  }
  return profile.supportsStrictTools;
}

function chosen(
  tools: readonly JsonObject[],
  choice: ToolChoice,
  { profile, loss }: RequestContext,
  frees: boolean,
): JsonObject {
  const word = WORDS.get(choice.mode);
  if (word === undefined) {
    const saysAuto = choice.mode === Mode.AUTO && profile.toolChoices.length > 0;
    return { tools, ...(saysAuto ? { tool_choice: "auto" } : {}) };
  }
  if (profile.toolChoices.includes(word))
    return { tools, tool_choice: wireChoice(word, choice.toolName, tools) };
  // What is not offered is not called.
  if (word === "none") return {};
  if (!frees) throw new UnsupportedToolChoiceError(unsupportedChoice(word));
  loss.lose(
    "tool_choice.mode",
    "adjusted_setting",
    `${unsupportedChoice(word)}; the model is free to call none`,
  );
  return { tools: word === "named" ? tools.filter((tool) => nameOf(tool) === choice.toolName) : tools };
}

const WORDS: ReadonlyMap<Mode, ToolChoiceWord> = new Map([
  [Mode.NONE, "none"],
  [Mode.REQUIRED, "required"],
  [Mode.NAMED, "named"],
]);

/** Whether a server takes a mode of tool choice. */
export function takesToolChoice({ toolChoices }: ServerProfile, mode: Mode): boolean {
  const word = WORDS.get(mode);
  // Where `none` is no word, the tools are left out.
  return word === undefined || word === "none" || toolChoices.includes(word);
}

function unsupportedChoice(word: ToolChoiceWord): string {
  return word === "named"
    ? "the server lets no request force the call of one tool"
    : "the server lets no request force a tool call";
}

function wireChoice(word: ToolChoiceWord, name: string, tools: readonly JsonObject[]): JsonObject[string] {
  if (word !== "named") return word;
  const isCustom = tools.some((tool) => tool.type === "custom" && nameOf(tool) === name);
  return isCustom ? { type: "custom", custom: { name } } : { type: "function", function: { name } };
}

function nameOf(tool: JsonObject): JsonObject[string] {
  return objectIn(tool.function).name ?? objectIn(tool.custom).name;
}

function parallel({ parallel: wanted }: ToolChoice, { profile, loss }: RequestContext): JsonObject {
  if (wanted === undefined) return {};
  if (profile.supportsParallelToolCalls) return { parallel_tool_calls: wanted };
  loss.lose("tool_choice.parallel", "unsupported_setting", "the server has no such switch; it was left out");
  return {};
}
