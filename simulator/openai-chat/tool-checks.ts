import type { ToolCall } from "../../src/wire/openai-chat/parts.ts";
import type { ChatRequest, FunctionTool, NamedToolChoice, Tool } from "../../src/wire/openai-chat/request.ts";
import type { ModelOptions } from "../model-options.ts";
import {
  anything,
  array,
  boolean,
  type Check,
  literal,
  nullable,
  object,
  openObject,
  required,
  string,
  variants,
} from "../openai/check.ts";
import { namePattern } from "../openai/parameters.ts";
import { invalidRequest } from "../openai/problem.ts";
import { findAnswerViolation, findStrictnessViolation } from "../openai/strict-schema.ts";

const toolName = required(string({ minimum: 1, maximum: 64, pattern: namePattern }));
const named = required(object({ name: toolName }));

/** Checks one of `tools`. */
export const tool: Check = variants("type", {
  function: object({
    type: anything,
    function: required(
      object({
        name: toolName,
        description: string(),
        parameters: openObject(),
        strict: nullable(boolean),
      }),
    ),
  }),
  custom: object({
    type: anything,
    custom: required(object({ name: toolName, description: string(), format: openObject() })),
  }),
});

const namedChoice = variants("type", {
  function: object({ type: anything, function: named }),
  custom: object({ type: anything, custom: named }),
  allowed_tools: object({
    type: anything,
    allowed_tools: required(
      object({
        mode: required(literal(["auto", "required"])),
        tools: required(
          array(
            variants("type", {
              function: openObject({ function: named }),
              custom: openObject({ custom: named }),
            }),
            { minimum: 1 },
          ),
        ),
      }),
    ),
  }),
});

/** Checks `tool_choice`. */
export const toolChoice: Check = (value, path) => {
  if (typeof value === "string") literal(["none", "auto", "required"])(value, path);
  else namedChoice(value, path);
};

/** Checks the parameters about tools and formats against each other. Throws the problem that OpenAI would report. */
export function checkToolUse(request: ChatRequest, { lenient }: ModelOptions): void {
  checkPresence(request);
  checkChoice(request);
  checkSchemas(request);
  checkFormat(request);
  if (lenient !== true) checkJsonMode(request);
}

function checkPresence(request: ChatRequest): void {
  if (request.tools !== undefined) return;
  for (const name of ["tool_choice", "parallel_tool_calls"] as const) {
    if (request[name] === undefined) continue;
    const message = `Invalid value for '${name}': '${name}' is only allowed when 'tools' are specified.`;
    throw invalidRequest(message, name, null);
  }
}

function checkChoice({ tool_choice: choice, tools = [] }: ChatRequest): void {
  if (typeof choice !== "object") return;
  for (const wanted of choice.type === "allowed_tools" ? choice.allowed_tools.tools : [choice]) {
    const name = getName(wanted);
    if (tools.some((each) => each.type === wanted.type && getName(each) === name)) continue;
    const message = `Tool choice '${wanted.type}' '${name}' not found in 'tools' parameter.`;
    throw invalidRequest(message, "tool_choice", null);
  }
}

/** Returns the name of a tool, of a tool choice or of the tool that a call is for. */
export function getName(tool: Tool | NamedToolChoice | ToolCall): string {
  return tool.type === "custom" ? tool.custom.name : tool.function.name;
}

function checkSchemas({ tools = [] }: ChatRequest): void {
  for (const [index, tool] of tools.entries()) {
    const mistake = tool.type === "function" ? findMistake(tool.function) : undefined;
    if (mistake === undefined) continue;
    const message = `Invalid schema for function '${getName(tool)}': ${mistake}`;
    throw invalidRequest(message, `tools[${index}].function.parameters`, "invalid_function_parameters");
  }
}

function findMistake(declared: FunctionTool["function"]): string | undefined {
  const { type } = declared.parameters ?? {};
  if (type !== undefined && type !== "object")
    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${JSON.stringify(type)}'.`;
  return declared.strict === true ? findStrictnessViolation(declared.parameters) : undefined;
}

function checkFormat({ response_format: format }: ChatRequest): void {
  if (format?.type !== "json_schema") return;
  const { name, schema = { type: "object" }, strict } = format.json_schema;
  const violation = findAnswerViolation(schema, strict === true);
  if (violation !== undefined) {
    const message = `Invalid schema for response_format '${name}': ${violation}`;
    throw invalidRequest(message, "response_format", null);
  }
}

/** Requires the word JSON in the messages: without it, models of OpenAI write white space until the token limit. */
function checkJsonMode({ response_format: format, messages }: ChatRequest): void {
  if (format?.type === "json_object" && !/json/i.test(JSON.stringify(messages))) {
    const message =
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
    throw invalidRequest(message, "messages", null);
  }
}
