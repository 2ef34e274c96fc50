import type { AnyMember, NamedToolChoice, Tool } from "../../src/wire/openai-responses/request.ts";
import {
  anything,
  array,
  boolean,
  type Check,
  integer,
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
import type { CheckedRequest } from "./checked-request.ts";

const toolName = required(string({ minimum: 1, maximum: 128, pattern: namePattern }));

/** Tools that the provider runs, or that this simulator does not use. They are accepted unchecked. */
const otherTools = [
  "web_search",
  "web_search_2025_08_26",
  "web_search_preview",
  "web_search_preview_2025_03_11",
  "file_search",
  "code_interpreter",
  "computer",
  "computer_use_preview",
  "mcp",
  "local_shell",
  "shell",
  "apply_patch",
  "tool_search",
  "programmatic_tool_calling",
];

/** Tools that the caller runs. They are also allowed in a namespace. */
const callerTools: Readonly<Record<string, Check>> = {
  function: object({
    type: anything,
    name: toolName,
    description: nullable(string()),
    parameters: nullable(openObject()),
    strict: nullable(boolean),
    defer_loading: nullable(boolean),
    allowed_callers: anything,
    output_schema: anything,
    async: anything,
  }),
  custom: object({
    type: anything,
    name: toolName,
    description: nullable(string()),
    format: nullable(openObject()),
    defer_loading: nullable(boolean),
    allowed_callers: anything,
  }),
};

const namespace = object({
  type: anything,
  name: toolName,
  description: required(string()),
  tools: required(array(variants("type", callerTools))),
});

const others = Object.fromEntries(otherTools.map((type) => [type, openObject()]));

/** Checks one of `tools`. */
export const tool: Check = variants("type", {
  ...callerTools,
  namespace,
  image_generation: openObject({ partial_images: integer(0, 3) }),
  ...others,
});

/** Checks `tool_choice` if it is an object. */
export const namedToolChoice: Check = variants("type", {
  function: object({ type: anything, name: toolName }),
  custom: object({ type: anything, name: toolName }),
  allowed_tools: object({
    type: anything,
    mode: required(literal(["auto", "required"])),
    tools: required(array(openObject({ type: required(string()) }), { minimum: 1 })),
  }),
  mcp: openObject({ server_label: required(string()) }),
  image_generation: openObject(),
  namespace: openObject(),
  ...others,
});

/** Checks that the parameters about tools and formats fit together. Throws the problem that OpenAI would report. */
export function checkToolUse(request: CheckedRequest): void {
  checkChoice(request);
  checkStrictTools(request);
  checkFormat(request);
}

function checkChoice(request: CheckedRequest): void {
  const { tool_choice: choice, tools } = request;
  if (choice === "required" && (tools ?? []).length === 0) {
    throw invalidRequest(
      "Tool choice 'required' must be specified with 'tools' parameter.",
      "tool_choice",
      null,
    );
  }
  if (typeof choice !== "object" || choice === null) return;
  for (const wanted of choice.type === "allowed_tools" ? (choice.tools ?? []) : [choice]) {
    if (!isOffered(wanted, request)) {
      const name = wanted.name === undefined ? "" : ` '${wanted.name}'`;
      throw invalidRequest(
        `Tool choice '${wanted.type}'${name} not found in 'tools' parameter.`,
        "tool_choice",
        null,
      );
    }
  }
}

function isOffered(wanted: Pick<NamedToolChoice, "type" | "name">, request: CheckedRequest): boolean {
  return (request.tools ?? []).some((tool) => isChosen(tool, wanted));
}

/** Reports whether a tool choice names a tool: by its type, and by its name if the choice has one. */
export function isChosen(
  { type, name }: AnyMember<Tool>,
  choice: Pick<NamedToolChoice, "type" | "name">,
): boolean {
  return type === choice.type && (choice.name ?? name) === name;
}

function checkStrictTools(request: CheckedRequest): void {
  (request.tools ?? []).forEach((tool, index) => {
    if (tool.type !== "function" || tool.strict !== true) return;
    const violation = findStrictnessViolation(tool.parameters);
    if (violation === undefined) return;
    const message = `Invalid schema for function '${tool.name}': ${violation}`;
    throw invalidRequest(message, `tools[${index}].parameters`, "invalid_function_parameters");
  });
}

function checkFormat(request: CheckedRequest): void {
  const format = request.text?.format;
  if (format?.type === "json_schema") {
    const violation = findAnswerViolation(format.schema, format.strict === true);
    if (violation === undefined) return;
    throw invalidRequest(
      `Invalid schema for response_format '${format.name}': ${violation}`,
      "text.format.schema",
      "invalid_json_schema",
    );
  }
  const { input, instructions } = request;
  if (format?.type === "json_object" && !/json/i.test(JSON.stringify([instructions, input]))) {
    const message =
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.";
    throw invalidRequest(message, "input", null);
  }
}
