/** Tools and tool choice -> `tools` and `toolConfig` (provider documentation: "Function calling", "Tool", "ToolConfig"). */

import type { ModelTraits } from "../../catalog/model-traits.ts";
import { invalidField, UnsupportedToolChoiceError } from "../../core/errors.ts";
import { ToolChoice_Mode as Mode, type Request, type ToolChoice } from "../../gen/outrigger/v1/request_pb.ts";
import type { FunctionTool, HostedTool } from "../../gen/outrigger/v1/tool_pb.ts";
import { functionForCustomTool } from "../../kit/adapter/custom-tool.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import { isObject, type JsonObject, objectIn, parseObjectField } from "../../kit/json/json.ts";
import { sourceObject } from "../../kit/json/json-source.ts";
import { compileSchema } from "../../kit/json-schema/compile-schema.ts";
import { GEMINI_JSON_SCHEMA } from "../../kit/json-schema/dialects.ts";
import { isEmpty, WIRE_NAME } from "./wire.ts";

/** `tools` and `toolConfig` of a request. Throws InvalidRequestError and UnsupportedToolChoiceError for what the API refuses. */
export function toTools(
  request: Request,
  provider: string,
  traits: ModelTraits,
  loss: LossReport,
): JsonObject {
  const { functions, hosted } = sortTools(request, provider, loss);
  checkMixture(functions, hosted, traits);
  const choice = toolConfig(request.toolChoice, functions, hosted.length > 0, traits, loss);
  const functionDeclarations = functions.map(({ tool, field }) => declaration(tool, field, loss));
  const tools = [
    ...(functions.length === 0 ? [] : [{ functionDeclarations }]),
    ...hosted.map(({ config }) => config),
  ];
  return { ...(tools.length === 0 ? {} : { tools }), ...(isEmpty(choice) ? {} : { toolConfig: choice }) };
}

/** Whether a model can be made to call a tool. */
export function takesToolChoice(mode: Mode, traits: ModelTraits): boolean {
  const isForced = mode === Mode.REQUIRED || mode === Mode.NAMED;
  return !isForced || traits.forcedToolChoice !== "never";
}

interface DeclaredFunction {
  readonly tool: FunctionTool;
  readonly field: string;
}

interface OwnTool {
  readonly config: JsonObject;
  readonly field: string;
}

function sortTools({ tools, toolChoice }: Request, provider: string, loss: LossReport) {
  const functions: DeclaredFunction[] = [];
  const hosted: OwnTool[] = [];
  for (const [index, { tool }] of tools.entries()) {
    const field = `tools[${index}]`;
    if (tool.case === "function") functions.push({ tool: tool.value, field: `${field}.function` });
    else if (tool.case === "custom") {
      const customField = `${field}.custom`;
      functions.push({ tool: functionForCustomTool(tool.value, customField, loss), field: customField });
    } else if (tool.case === "hosted") hosted.push(...ownTool(tool.value, `${field}.hosted`, provider, loss));
    else throw invalidField(field, "expected one of `function`, `hosted` and `custom`, found none");
  }
  // The API's own NONE holds for functions alone.
  return { functions, hosted: toolChoice?.mode === Mode.NONE ? [] : hosted };
}

/** A tool of the provider's own, verbatim; nothing where it is another provider's. */
function ownTool(tool: HostedTool, field: string, provider: string, loss: LossReport): OwnTool[] {
  if (tool.provider === provider || tool.provider === WIRE_NAME) {
    parseObjectField(tool.configJson, `${field}.config_json`);
    return [{ config: sourceObject(tool.configJson), field }];
  }
  const message = `the hosted tool belongs to provider "${tool.provider}"; it was left out`;
  loss.lose(field, "unsupported_setting", message);
  return [];
}

const MOST_DECLARATIONS = 512;

function checkMixture(
  functions: readonly DeclaredFunction[],
  hosted: readonly OwnTool[],
  traits: ModelTraits,
): void {
  if (functions.length > MOST_DECLARATIONS)
    throw invalidField("tools", `expected at most ${MOST_DECLARATIONS} functions, found ${functions.length}`);
  const [first] = hosted;
  if (functions.length > 0 && first !== undefined && !traits.hostedToolsWithFunctions)
    throw invalidField(
      first.field,
      "the model takes the provider's own tools or functions, and not both at once",
    );
}

function declaration(
  { name, description, parametersJson }: FunctionTool,
  field: string,
  loss: LossReport,
): JsonObject {
  if (!/^[a-zA-Z_]/.test(name))
    throw invalidField(`${field}.name`, `expected a letter or "_" first, found "${name.slice(0, 1)}"`);
  const schemaField = `${field}.parameters_json`;
  const schema = parametersJson === "" ? {} : parseObjectField(parametersJson, schemaField);
  return {
    name,
    ...(description === "" ? {} : { description }),
    ...(takesNothing(schema)
      ? {}
      : { parametersJsonSchema: compileSchema(schema, GEMINI_JSON_SCHEMA, schemaField, loss) }),
  };
}

/** Keys of a schema that let an object have something in it. */
const OPENING = ["$ref", "anyOf", "oneOf", "allOf", "patternProperties", "if", "dependentSchemas"];

/** Whether a schema is that of a tool without arguments. The API wants none then. */
function takesNothing(schema: JsonObject): boolean {
  const { additionalProperties: further } = schema;
  const isOpen = further === true || isObject(further) || OPENING.some((key) => key in schema);
  return !isOpen && isEmpty(objectIn(schema.properties));
}

/** @param isMixed Whether the provider's own tools are there too. */
function toolConfig(
  choice: ToolChoice | undefined,
  functions: readonly DeclaredFunction[],
  isMixed: boolean,
  traits: ModelTraits,
  loss: LossReport,
): JsonObject {
  if (choice?.parallel === false)
    loss.lose("tool_choice.parallel", "unsupported_setting", "the Gemini API always allows parallel calls");
  const isForced = choice?.mode === Mode.REQUIRED || choice?.mode === Mode.NAMED;
  if (isForced) checkForced(choice, functions, traits);
  if (functions.length === 0) return {};
  // Calls are held to their schemas where a tool asks for it, and always beside the provider's own tools.
  const isValidated = isMixed || functions.some(({ tool }) => tool.strict);
  const functionCallingConfig = callingConfig(choice, isValidated);
  return {
    ...(isEmpty(functionCallingConfig) ? {} : { functionCallingConfig }),
    ...(isMixed ? { includeServerSideToolInvocations: true } : {}),
  };
}

function callingConfig(choice: ToolChoice | undefined, isValidated: boolean): JsonObject {
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

/** Only functions can be forced. */
function checkForced(choice: ToolChoice, functions: readonly DeclaredFunction[], traits: ModelTraits): void {
  const isKnown = functions.some(
    ({ tool }) => choice.mode === Mode.REQUIRED || tool.name === choice.toolName,
  );
  if (!isKnown)
    throw new UnsupportedToolChoiceError(
      "tool_choice: the Gemini API can force functions, and not its own tools",
    );
  if (!takesToolChoice(choice.mode, traits))
    throw new UnsupportedToolChoiceError("tool_choice: the model cannot be made to call a tool");
}
