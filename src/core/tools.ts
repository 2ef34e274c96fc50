/** Constructors of the tool settings of a request, and readers of a tool call. */
import { create } from "@bufbuild/protobuf";
import {
  type Message,
  MessageSchema,
  Role,
  type ToolCall,
  type ToolResult,
  ToolResultSchema,
} from "../gen/outrigger/v1/message_pb.ts";
import { type ToolChoice, ToolChoice_Mode, ToolChoiceSchema } from "../gen/outrigger/v1/request_pb.ts";
import { Grammar_Syntax, type Tool, ToolSchema } from "../gen/outrigger/v1/tool_pb.ts";
import { InvalidToolCallError, invalidField } from "./errors.ts";
import { toJsonText } from "./json-text.ts";
import { type JsonObject, type ParseResult, parseJson, parseJsonObject } from "./parse-json.ts";
import { isPart, type PartInput, textPart } from "./parts.ts";
import { type JsonSchema, type StandardSchema, toSchemaText } from "./schema.ts";
import type {
  ActiveCustomInput,
  ActiveFunctionInput,
  ActiveTool,
  CustomToolInput,
  Executable,
  FunctionToolInput,
  HostedToolInput,
  ToolErrorOptions,
} from "./tool-input.ts";

/** Which tools the model may or must call; `{ name }` forces the named one. */
export type ToolChoiceInput = "auto" | "none" | "required" | { readonly name: string };

/** Options of a tool choice. */
export interface ToolChoiceOptions {
  /** Whether the model may call several tools at once. The provider decides by default. */
  readonly parallel?: boolean | undefined;
}

/** Options of a tool result. */
export interface ToolResultOptions {
  /** Whether the tool failed. True for an Error by default, else false. */
  readonly failed?: boolean | undefined;
}

/**
 * A tool that this program executes. With `execute`, `generate` and `stream` execute its calls; without, or in a
 * request of `complete`, calls are returned.
 *
 * ```ts
 * functionTool({
 *   name: "get_weather",
 *   description: "The weather in a city",
 *   parameters: z.object({ city: z.string() }),
 *   execute: ({ city }) => readThermometer(city),
 * });
 * ```
 */
export function functionTool<Schema extends JsonSchema>(input: ActiveFunctionInput<Schema>): ActiveTool;
export function functionTool(input: FunctionToolInput): Tool;
export function functionTool(
  input: FunctionToolInput & Partial<Executable> & ToolErrorOptions,
): Tool | ActiveTool {
  const { name, description = "", parameters, strict = false, execute, hideErrors } = input;
  checkToolName(name);
  const parametersJson = parameters === undefined ? "" : toSchemaText(parameters);
  const value = { name, description, parametersJson, strict };
  const definition = create(ToolSchema, { tool: { case: "function", value } });
  return execute === undefined ? definition : { definition, parameters, execute, hideErrors };
}

/** Creates a tool that this program executes and whose input is free text, for instance code. */
export function customTool(input: ActiveCustomInput): ActiveTool;
export function customTool(input: CustomToolInput): Tool;
export function customTool(
  input: CustomToolInput & Partial<Executable> & ToolErrorOptions,
): Tool | ActiveTool {
  const { name, description = "", grammar, execute, hideErrors } = input;
  checkToolName(name);
  const value = { name, description, ...(grammar === undefined ? {} : { grammar: toGrammar(grammar) }) };
  const definition = create(ToolSchema, { tool: { case: "custom", value } });
  return execute === undefined ? definition : { definition, execute, hideErrors };
}

/** Allowed names of tools. Providers allow dashes, leading underscores and up to 128 characters. */
export const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** The expectation for the error about another name. */
export const TOOL_NAME_EXPECTED = 'expected 1 to 128 letters, digits, "_" or "-"';

function checkToolName(name: unknown): void {
  if (typeof name === "string" && TOOL_NAME.test(name)) return;
  const found = typeof name === "string" ? toJsonText(name.slice(0, 64)) : `a ${typeof name}`;
  throw invalidField("name", `${TOOL_NAME_EXPECTED}, found ${found}`);
}

/** Creates a tool that the provider executes, for instance its web search. */
export function hostedTool({ provider, config }: HostedToolInput): Tool {
  const value = { provider, configJson: toJsonText(config) };
  return create(ToolSchema, { tool: { case: "hosted", value } });
}

/**
 * Creates a tool choice, which says whether the model may or must call tools: `toolChoice("required")`, `toolChoice({
 * name: "get_weather" })`.
 */
export function toolChoice(choice: ToolChoiceInput, { parallel }: ToolChoiceOptions = {}): ToolChoice {
  const mode = typeof choice === "string" ? TOOL_CHOICE_MODES[choice] : ToolChoice_Mode.NAMED;
  const toolName = typeof choice === "string" ? "" : choice.name;
  return create(ToolChoiceSchema, { mode, toolName, ...(parallel === undefined ? {} : { parallel }) });
}

/**
 * Creates the message with the result of a tool call.
 * @param call The call, or its id.
 * @param result A text, an Error, one or several parts (images, documents), or any other value, which is sent as JSON.
 *   Undefined, for a tool that returns nothing, is sent as no content.
 */
export function toolResult(
  call: ToolCall | string,
  result: unknown,
  { failed = result instanceof Error }: ToolResultOptions = {},
): Message {
  const toolCallId = typeof call === "string" ? call : call.id;
  return toolMessage(create(ToolResultSchema, { toolCallId, failed, content: toolResultParts(result) }));
}

/** Creates the message that sends a result to the model. */
export function toolMessage(value: ToolResult): Message {
  const content = [{ part: { case: "toolResult", value } as const }];
  return create(MessageSchema, { role: Role.TOOL, toolCallId: value.toolCallId, content });
}

/**
 * The parsed arguments of a tool call. Models sometimes write invalid arguments, so the outcome says whether they are
 * usable; its error can be sent back as the result, so that the model tries again.
 *
 * ```ts
 * const args = argumentsOf(call, z.object({ city: z.string() }));
 * toolResult(call, args.ok ? await getWeather(args.value.city) : args.error);
 * ```
 * @param schema Checks the arguments, and gives them their type. Without it they are any JSON object.
 */
export function argumentsOf(call: ToolCall): ParseResult<JsonObject, InvalidToolCallError>;
export function argumentsOf<Output>(
  call: ToolCall,
  schema: StandardSchema<Output>,
): ParseResult<Output, InvalidToolCallError>;
export function argumentsOf(
  call: ToolCall,
  schema?: StandardSchema,
): ParseResult<unknown, InvalidToolCallError> {
  const { input, name, argumentsInvalid } = call;
  const fail = (problem: string, cause?: unknown) =>
    new InvalidToolCallError(`the arguments of the call to ${toJsonText(name)} are ${problem}`, { cause });
  if (input.case === "text") return { ok: false, error: fail("free text, which toolInputOf() returns") };
  if (input.value === "" && argumentsInvalid)
    return { ok: false, error: fail("missing: the answer was stopped before the model wrote them") };
  // Some models write no arguments for a tool without parameters.
  const text = input.value || "{}";
  return schema === undefined ? parseJsonObject(text, fail) : parseJson(text, fail, schema);
}

/** Returns the input of a tool call as the model wrote it: JSON text or free text. Empty if there is none. */
export function toolInputOf({ input }: ToolCall): string {
  return input.value ?? "";
}

function toGrammar({ syntax, definition }: NonNullable<CustomToolInput["grammar"]>) {
  return { syntax: SYNTAXES[syntax], definition };
}

const SYNTAXES = { lark: Grammar_Syntax.LARK, regex: Grammar_Syntax.REGEX } as const;

/** The mode of each word that {@link toolChoice} accepts. */
export const TOOL_CHOICE_MODES = {
  auto: ToolChoice_Mode.AUTO,
  none: ToolChoice_Mode.NONE,
  required: ToolChoice_Mode.REQUIRED,
} as const;

/**
 * Converts the value that a tool returned to the parts of its result.
 * @throws TypeError if it is not a part and cannot be written as JSON.
 */
export function toolResultParts(result: unknown): PartInput[] {
  if (result === undefined) return [];
  if (typeof result === "string") return [textPart(result)];
  if (result instanceof Error) return [textPart(result.message)];
  if (isPart(result)) return [result];
  if (Array.isArray(result) && result.length > 0 && result.every(isPart)) return result;
  return [textPart(toJsonText(result))];
}
