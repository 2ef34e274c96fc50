/** Tools and tool choice -> `tools` and `toolConfig` (provider documentation: "Function calling", "ToolConfig"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField, UnsupportedToolChoiceError } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type Request, type ToolChoice } from "../../gen/outrigger/v1/request_pb.ts";
import type { FunctionTool, HostedTool } from "../../gen/outrigger/v1/tool_pb.ts";
import { functionForCustomTool } from "../../kit/adapter/custom-tool.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import { isEmpty, isObject, type JsonObject, objectIn, parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import type {
  FunctionDeclaration,
  GenerateContentRequest,
  Tool,
  ToolConfig,
} from "../../wire/gemini/request.ts";
import { GEMINI_JSON_SCHEMA } from "../schema-dialects.ts";
import { PROVIDER_NAME, type RequestContext } from "./context.ts";

/**
 * Returns `tools` and `toolConfig` of a request.
 * @throws InvalidRequestError and UnsupportedToolChoiceError for tools that the API refuses.
 */
export function toolSettings({
  request,
  provider,
  traits,
  loss,
}: RequestContext): Pick<GenerateContentRequest, "tools" | "toolConfig"> {
  const { functions, hosted } = sortTools(request, provider, loss);
  checkMixture(functions, hosted, traits);
  const choice = toolConfig(request.toolChoice, functions, hosted.length > 0, traits, loss);
  const functionDeclarations = functions.map(({ tool, field }) => toDeclaration(tool, field, loss));
  const tools: Tool[] = [
    ...(functions.length === 0 ? [] : [{ functionDeclarations }]),
    ...hosted.map(({ config }) => config),
  ];
  return { ...(tools.length === 0 ? {} : { tools }), ...(isEmpty(choice) ? {} : { toolConfig: choice }) };
}

/** Reports whether a model accepts a tool choice: some cannot be forced to call a tool. */
export function acceptsToolChoice(mode: Mode, traits: ModelTraits): boolean {
  const isForced = mode === Mode.REQUIRED || mode === Mode.NAMED;
  return !isForced || traits.forcedToolChoice !== "never";
}

interface DeclaredFunction {
  readonly tool: FunctionTool;
  readonly field: string;
}

interface DeclaredHostedTool {
  readonly config: Tool;
  readonly field: string;
}

function sortTools({ tools, toolChoice }: Request, provider: string, loss: LossReport) {
  const functions: DeclaredFunction[] = [];
  const hosted: DeclaredHostedTool[] = [];
  for (const [index, { tool }] of tools.entries()) {
    const field = `tools[${index}]`;
    if (tool.case === "function") functions.push({ tool: tool.value, field: `${field}.function` });
    else if (tool.case === "custom") {
      const customField = `${field}.custom`;
      functions.push({ tool: functionForCustomTool(tool.value, customField, loss), field: customField });
    } else if (tool.case === "hosted")
      hosted.push(...toHostedTool(tool.value, `${field}.hosted`, provider, loss));
    else throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  }
  // The API's mode NONE applies to functions only.
  return { functions, hosted: toolChoice?.mode === Mode.NONE ? [] : hosted };
}

/** Returns a hosted tool of this API, verbatim; empty if it is another provider's. */
function toHostedTool(
  tool: HostedTool,
  field: string,
  provider: string,
  loss: LossReport,
): DeclaredHostedTool[] {
  if (tool.provider === provider || tool.provider === PROVIDER_NAME) {
    parseObjectField(tool.configJson, `${field}.config_json`);
    return [{ config: sourceObject(tool.configJson), field }];
  }
  const message = `the hosted tool belongs to provider "${tool.provider}"; it was left out`;
  loss.lose(field, "unsupported_setting", message);
  return [];
}

const MAX_DECLARATIONS = 512;

function checkMixture(
  functions: readonly DeclaredFunction[],
  hosted: readonly DeclaredHostedTool[],
  traits: ModelTraits,
): void {
  if (functions.length > MAX_DECLARATIONS)
    throw invalidField("tools", `expected at most ${MAX_DECLARATIONS} functions, found ${functions.length}`);
  const [first] = hosted;
  if (functions.length > 0 && first !== undefined && !traits.hostedToolsWithFunctions)
    throw invalidField(first.field, "the model takes hosted tools or functions, and not both in one request");
}

function toDeclaration(
  { name, description, parametersJson }: FunctionTool,
  field: string,
  loss: LossReport,
): FunctionDeclaration {
  if (!/^[a-zA-Z_]/.test(name))
    throw invalidField(`${field}.name`, `expected a letter or "_" first, found "${name.slice(0, 1)}"`);
  const schemaField = `${field}.parameters_json`;
  const schema = parametersJson === "" ? {} : parseObjectField(parametersJson, schemaField);
  return {
    name,
    ...(description === "" ? {} : { description }),
    ...(hasNoParameters(schema)
      ? {}
      : { parametersJsonSchema: compileSchema(schema, GEMINI_JSON_SCHEMA, schemaField, loss) }),
  };
}

/** Keywords by which a schema without `properties` can still allow properties. */
const OPENING_KEYWORDS = ["$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if", "dependentSchemas"];

/** Reports whether a schema allows no arguments. The API requires that no schema is sent then. */
function hasNoParameters(schema: JsonObject): boolean {
  const { additionalProperties: additional } = schema;
  const isOpen = additional === true || isObject(additional) || OPENING_KEYWORDS.some((key) => key in schema);
  return !isOpen && isEmpty(objectIn(schema.properties));
}

/** @param isMixed Whether the request has hosted tools too. */
function toolConfig(
  choice: ToolChoice | undefined,
  functions: readonly DeclaredFunction[],
  isMixed: boolean,
  traits: ModelTraits,
  loss: LossReport,
): ToolConfig {
  if (choice?.parallel === false)
    loss.lose("tool_choice.parallel", "unsupported_setting", "the Gemini API always allows parallel calls");
  const isForced = choice?.mode === Mode.REQUIRED || choice?.mode === Mode.NAMED;
  if (isForced) checkForced(choice, functions, traits);
  if (functions.length === 0) return {};
  // VALIDATED checks calls against their schemas. The API requires it alongside hosted tools.
  const isValidated = isMixed || functions.some(({ tool }) => tool.strict);
  const functionCallingConfig = callingConfig(choice, isValidated);
  return {
    ...(isEmpty(functionCallingConfig) ? {} : { functionCallingConfig }),
    ...(isMixed ? { includeServerSideToolInvocations: true } : {}),
  };
}

function callingConfig(choice: ToolChoice | undefined, isValidated: boolean): FunctionCallingConfig {
  switch (choice?.mode) {
    case Mode.NONE:
      return { mode: "NONE" };
    case Mode.REQUIRED:
      return { mode: "ANY" };
    case Mode.NAMED:
      return { mode: "ANY", allowedFunctionNames: [choice.toolName] };
    case Mode.AUTO:
      return { mode: isValidated ? "VALIDATED" : "AUTO" };
    default:
      return isValidated ? { mode: "VALIDATED" } : {};
  }
}

type FunctionCallingConfig = NonNullable<ToolConfig["functionCallingConfig"]>;

/** Only functions can be forced. */
function checkForced(choice: ToolChoice, functions: readonly DeclaredFunction[], traits: ModelTraits): void {
  const isKnown = functions.some(
    ({ tool }) => choice.mode === Mode.REQUIRED || tool.name === choice.toolName,
  );
  if (!isKnown)
    throw new UnsupportedToolChoiceError("tool_choice: the Gemini API can force functions, not hosted tools");
  if (!acceptsToolChoice(choice.mode, traits))
    throw new UnsupportedToolChoiceError("tool_choice: the model cannot be forced to call a tool");
}
