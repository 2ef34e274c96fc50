/** Our tools and tool choice -> `tools` and `tool_choice` (provider documentation: "Tool use"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField, UnsupportedToolChoiceError } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type Request, type ToolChoice } from "../../gen/outrigger/v1/request_pb.ts";
import type { FunctionTool, Tool } from "../../gen/outrigger/v1/tool_pb.ts";
import { functionForCustomTool } from "../../kit/adapter/custom-tool.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { type JsonObject, parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import { ANTHROPIC_STRICT, TOOL_PARAMETERS } from "../../kit/json-schema/dialects.ts";
import { enforceSchema, type SchemaForms, type SentSchema } from "../../kit/json-schema/enforce-schema.ts";
import type { SchemaBudget } from "../../kit/json-schema/limits.ts";
import { isOwnProvider } from "./state.ts";
import type { Block } from "./wire.ts";

/** What the translation of tools needs beside the request. */
export interface ToolContext {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly traits: ModelTraits;
  readonly loss: LossReport;
  /** What the enforced schemas of the request use up. */
  readonly budget: SchemaBudget;
}

/** The tools in the provider's words, in the caller's order. */
export function toolsOf({ tools }: Request, context: ToolContext): Block[] {
  return tools.flatMap((tool, index) => toolOf(tool, `tools[${index}]`, context));
}

function toolOf({ tool }: Tool, field: string, context: ToolContext): Block[] {
  if (tool.case === "function") return [functionTool(tool.value, `${field}.function`, context)];
  if (tool.case === "custom") {
    const customField = `${field}.custom`;
    return [functionTool(functionForCustomTool(tool.value, customField, context.loss), customField, context)];
  }
  if (tool.case !== "hosted")
    throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  const { provider: owner, configJson } = tool.value;
  if (isOwnProvider(owner, context.provider))
    return [parseObjectField(configJson, `${field}.hosted.config_json`)];
  const message = `the hosted tool belongs to provider "${owner}"; it was left out`;
  context.loss.lose(field, "unsupported_setting", message);
  return [];
}

function functionTool(tool: FunctionTool, field: string, context: ToolContext): Block {
  const { name, description } = tool;
  const { schema, enforced } = inputSchema(tool, field, context);
  return {
    name,
    ...(description === "" ? {} : { description }),
    input_schema: schema,
    ...(enforced ? { strict: true } : {}),
  };
}

function inputSchema(
  { parametersJson, strict }: FunctionTool,
  field: string,
  context: ToolContext,
): SentSchema {
  const { loss, budget } = context;
  const schemaField = `${field}.parameters_json`;
  const schema = parametersJson === "" ? NO_PARAMETERS : parseObjectField(parametersJson, schemaField);
  if (strict && isStrictTaken(field, context))
    return enforceSchema(schema, STRICT_TOOL, schemaField, loss, budget);
  const shown = compileSchema(schema, TOOL_PARAMETERS, schemaField, loss);
  // As it is spelled where nothing had to be changed.
  const isUnchanged = parametersJson !== "" && JSON.stringify(shown) === JSON.stringify(schema);
  return { schema: isUnchanged ? sourceObject(parametersJson) : shown, enforced: false };
}

const NO_PARAMETERS: JsonObject = { type: "object", properties: {} };

const STRICT_TOOL: SchemaForms = { enforced: ANTHROPIC_STRICT, shown: TOOL_PARAMETERS };

/** The models that hold themselves to a schema in answers do so in tool calls. */
function isStrictTaken(field: string, { traits, loss }: ToolContext): boolean {
  if (!traits.jsonSchema)
    loss.lose(`${field}.strict`, "unsupported_setting", "the model has no strict tools; it was left out");
  return traits.jsonSchema;
}

/** What decides about a tool choice beside the request. */
export interface ToolChoiceContext extends ToolContext {
  /** The request's own tools in the provider's words. */
  readonly tools: readonly Block[];
  /** Whether the caller's options bring further tools. */
  readonly addsTools: boolean;
  /** Whether the request thinks with a budget. */
  readonly hasBudget: boolean;
  /** Whether a forced choice that the model does not take becomes a free one. */
  readonly freesToolChoice: boolean;
}

/**
 * `tools` and `tool_choice`: what there is to use, and how free the model is. NONE keeps the
 * tools: the prompt cache begins with them.
 * @throws UnsupportedToolChoiceError where the model lets no request force a call.
 */
export function toolSettings({ toolChoice: choice }: Request, context: ToolChoiceContext): JsonObject {
  const { tools, addsTools, freesToolChoice, loss } = context;
  if (choice === undefined || (tools.length === 0 && !addsTools)) return offer(tools);
  const forces = choice.mode === Mode.REQUIRED || choice.mode === Mode.NAMED;
  if (!forces || takesForcedChoice(context)) return { ...offer(tools), tool_choice: wireChoice(choice) };
  if (!freesToolChoice) throw new UnsupportedToolChoiceError(`tool_choice: ${refusalOf(context)}`);
  loss.lose("tool_choice.mode", "adjusted_setting", `${refusalOf(context)}; it was left to the model`);
  const named = tools.filter(({ name }) => name === choice.toolName);
  return {
    ...offer(choice.mode === Mode.NAMED ? named : tools),
    tool_choice: { type: "auto", ...parallelSwitch(choice) },
  };
}

function offer(tools: readonly Block[]): JsonObject {
  return tools.length === 0 ? {} : { tools };
}

/** Whether a model lets a request force a tool call, as far as that depends on the model alone. */
export function canForceTools({ forcedToolChoice }: ModelTraits): boolean {
  return forcedToolChoice !== "never";
}

function takesForcedChoice({ traits, hasBudget }: ToolChoiceContext): boolean {
  return canForceTools(traits) && !hasBudget;
}

function refusalOf({ hasBudget }: ToolChoiceContext): string {
  return hasBudget
    ? "a request with a thinking budget cannot force a tool call"
    : "the model cannot be forced to call a tool";
}

function wireChoice(choice: ToolChoice): JsonObject {
  switch (choice.mode) {
    case Mode.NONE:
      return { type: "none" };
    case Mode.REQUIRED:
      return { type: "any", ...parallelSwitch(choice) };
    case Mode.NAMED:
      return { type: "tool", name: choice.toolName, ...parallelSwitch(choice) };
    default:
      return { type: "auto", ...parallelSwitch(choice) };
  }
}

function parallelSwitch({ parallel }: ToolChoice): JsonObject {
  return parallel === false ? { disable_parallel_tool_use: true } : {};
}
