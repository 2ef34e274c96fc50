/** Our tools and tool choice -> `tools` and `tool_choice` (provider documentation: "Tool use"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField, UnsupportedToolChoiceError } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type ToolChoice } from "../../gen/outrigger/v1/request_pb.ts";
import type { FunctionTool, Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import { functionForCustomTool } from "../../kit/adapter/custom-tool.ts";
import { type JsonObject, objectsIn, parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import { enforceSchema, type SchemaForms, type SentSchema } from "../../kit/json-schema/enforce-schema.ts";
import type {
  CustomTool,
  MessageCreateParams,
  Tool as WireTool,
  ToolChoice as WireToolChoice,
} from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import { ANTHROPIC_STRICT, TOOL_PARAMETERS } from "../schema-dialects.ts";
import type { RequestContext } from "./context.ts";
import { isSameProvider } from "./state.ts";

function toTools(context: RequestContext): Untrusted<WireTool>[] {
  return context.request.tools.flatMap((tool, index) => toTool(tool, `tools[${index}]`, context));
}

function toTool({ tool }: Tool, field: string, context: RequestContext): Untrusted<WireTool>[] {
  if (tool.case === "function") return [functionTool(tool.value, `${field}.function`, context)];
  if (tool.case === "custom") {
    const customField = `${field}.custom`;
    return [functionTool(functionForCustomTool(tool.value, customField, context.loss), customField, context)];
  }
  if (tool.case !== "hosted")
    throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  const { provider: owner, configJson } = tool.value;
  if (isSameProvider(owner, context.provider))
    return [parseObjectField(configJson, `${field}.hosted.config_json`)];
  const message = `the hosted tool belongs to provider "${owner}"; it was left out`;
  context.loss.lose(field, "unsupported_setting", message);
  return [];
}

function functionTool(tool: FunctionTool, field: string, context: RequestContext): Untrusted<CustomTool> {
  const { name, description } = tool;
  const { schema, enforced } = inputSchema(tool, field, context);
  return {
    name,
    description: description === "" ? undefined : description,
    input_schema: schema,
    strict: enforced ? true : undefined,
  };
}

function inputSchema(
  { parametersJson, strict }: FunctionTool,
  field: string,
  context: RequestContext,
): SentSchema {
  const { loss, budget } = context;
  const schemaField = `${field}.parameters_json`;
  const schema = parametersJson === "" ? NO_PARAMETERS : parseObjectField(parametersJson, schemaField);
  if (strict && supportsStrict(field, context))
    return enforceSchema(schema, STRICT_TOOL, schemaField, loss, budget);
  const shown = compileSchema(schema, TOOL_PARAMETERS, schemaField, loss);
  // Sent exactly as the caller wrote it if nothing had to be changed.
  const isUnchanged = parametersJson !== "" && JSON.stringify(shown) === JSON.stringify(schema);
  return { schema: isUnchanged ? sourceObject(parametersJson) : shown, enforced: false };
}

const NO_PARAMETERS: JsonObject = { type: "object", properties: {} };

const STRICT_TOOL: SchemaForms = { enforced: ANTHROPIC_STRICT, shown: TOOL_PARAMETERS };

/** The models that enforce a schema in answers enforce it in tool calls too. */
function supportsStrict(field: string, { traits, loss }: RequestContext): boolean {
  if (!traits.jsonSchema)
    loss.lose(
      `${field}.strict`,
      "unsupported_setting",
      "the model does not support strict tools; it was left out",
    );
  return traits.jsonSchema;
}

/** The parameters of a request about tools. */
type ToolParams = Untrusted<Pick<MessageCreateParams, "tools" | "tool_choice">>;

/**
 * Returns `tools` and `tool_choice`. NONE keeps the tools, since the prompt cache begins with them.
 * @param hasBudget Whether the request has a thinking budget.
 * @throws UnsupportedToolChoiceError if a call is forced and the model does not allow that.
 */
export function toolSettings(context: RequestContext, hasBudget: boolean): ToolParams {
  const { request, options, loss } = context;
  const { toolChoice: choice } = request;
  const tools = toTools(context);
  if (choice === undefined || (tools.length === 0 && !addsTools(options.body))) return toolParams(tools);
  const isForced = choice.mode === Mode.REQUIRED || choice.mode === Mode.NAMED;
  const refusal = isForced ? forcedChoiceRefusal(context.traits, hasBudget) : undefined;
  if (refusal === undefined) return toolParams(tools, toToolChoice(choice));
  if (!options.relaxesToolChoice) throw new UnsupportedToolChoiceError(`tool_choice: ${refusal}`);
  loss.lose("tool_choice.mode", "adjusted_setting", `${refusal}; it was left to the model`);
  const named = tools.filter(({ name }) => name === choice.toolName);
  const offered = choice.mode === Mode.NAMED ? named : tools;
  return toolParams(offered, { type: "auto", ...parallelSetting(choice) });
}

/** Reports whether the caller's options add tools. */
function addsTools({ tools }: Untrusted<MessageCreateParams>): boolean {
  return objectsIn<WireTool>(tools).length > 0;
}

function toolParams(tools: readonly Untrusted<WireTool>[], choice?: WireToolChoice): ToolParams {
  return { tools: tools.length === 0 ? undefined : tools, tool_choice: choice };
}

/** Reports whether a model lets a request force a tool call, as far as that depends on the model alone. */
export function canForceTools({ forcedToolChoice }: ModelTraits): boolean {
  return forcedToolChoice !== "never";
}

/** Returns why a request cannot force a tool call; undefined if it can. */
function forcedChoiceRefusal(traits: ModelTraits, hasBudget: boolean): string | undefined {
  if (hasBudget) return "a request with a thinking budget cannot force a tool call";
  return canForceTools(traits) ? undefined : "the model cannot be forced to call a tool";
}

function toToolChoice(choice: ToolChoice): WireToolChoice {
  switch (choice.mode) {
    case Mode.NONE:
      return { type: "none" };
    case Mode.REQUIRED:
      return { type: "any", ...parallelSetting(choice) };
    case Mode.NAMED:
      return { type: "tool", name: choice.toolName, ...parallelSetting(choice) };
    default:
      return { type: "auto", ...parallelSetting(choice) };
  }
}

function parallelSetting({ parallel }: ToolChoice): { disable_parallel_tool_use?: boolean } {
  return parallel === false ? { disable_parallel_tool_use: true } : {};
}
