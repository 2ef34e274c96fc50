import { TOOL_NAME, TOOL_NAME_EXPECTED } from "../core/tools.ts";
import { type ToolChoice, ToolChoice_Mode, ToolChoice_ModeSchema } from "../gen/outrigger/v1/request_pb.ts";
import {
  type CustomTool,
  type FunctionTool,
  Grammar_Syntax,
  Grammar_SyntaxSchema,
  type HostedTool,
  type Tool,
} from "../gen/outrigger/v1/tool_pb.ts";
import type { JsonObject } from "../kit/json/json.ts";
import { checkEnum, checkJsonObject, quote, type Violations } from "./violations.ts";

/** Checks the tools. Returns the names that a tool choice may use. */
export function checkTools(tools: readonly Tool[], violations: Violations): ReadonlySet<string> {
  const functions = new Set<string>();
  const hosted = new Set<string>();
  for (const [index, { tool }] of tools.entries()) {
    const field = `tools[${index}]`;
    if (tool.case === "function") checkFunction(tool.value, `${field}.function`, functions, violations);
    else if (tool.case === "custom") checkCustom(tool.value, `${field}.custom`, functions, violations);
    else if (tool.case === "hosted") checkHosted(tool.value, `${field}.hosted`, hosted, violations);
    else violations.add(field, "is empty, expected one of function, hosted and custom");
  }
  return new Set([...functions, ...hosted]);
}

function checkFunction(tool: FunctionTool, field: string, names: Set<string>, violations: Violations): void {
  checkName(tool.name, `${field}.name`, names, violations);
  if (tool.parametersJson !== "")
    checkParameters(tool.parametersJson, `${field}.parameters_json`, violations);
}

function checkCustom(tool: CustomTool, field: string, names: Set<string>, violations: Violations): void {
  checkName(tool.name, `${field}.name`, names, violations);
  const { grammar } = tool;
  if (grammar === undefined) return;
  checkEnum(Grammar_SyntaxSchema, grammar.syntax, `${field}.grammar.syntax`, violations);
  if (grammar.syntax === Grammar_Syntax.UNSPECIFIED)
    violations.add(`${field}.grammar.syntax`, "is not set, expected SYNTAX_LARK or SYNTAX_REGEX");
  if (grammar.definition === "")
    violations.add(`${field}.grammar.definition`, "is empty, expected a grammar");
}

function checkName(name: string, field: string, names: Set<string>, violations: Violations): void {
  if (!TOOL_NAME.test(name)) {
    violations.add(field, `${TOOL_NAME_EXPECTED}, found ${quote(name)}`);
  } else if (names.has(name)) {
    violations.add(field, `${quote(name)} is the name of an earlier tool, expected a unique name`);
  }
  names.add(name);
}

function checkParameters(text: string, field: string, violations: Violations): void {
  const schema = checkJsonObject(text, field, violations);
  if (schema === undefined || schema.type === "object") return;
  const found = schema.type === undefined ? "no type" : quote(JSON.stringify(schema.type));
  violations.add(field, `expected a JSON Schema whose root has "type": "object", found ${found}`);
}

/** A tool choice names a hosted tool by its name or its type. */
function checkHosted(tool: HostedTool, field: string, names: Set<string>, violations: Violations): void {
  if (tool.provider === "") violations.add(`${field}.provider`, "is empty, expected the name of a provider");
  const config = checkJsonObject(tool.configJson, `${field}.config_json`, violations);
  if (config !== undefined) addNames(config, names);
}

function addNames({ name, type }: JsonObject, names: Set<string>): void {
  if (typeof name === "string") names.add(name);
  if (typeof type === "string") names.add(type);
}

/** The tools from which a tool choice can choose. */
export interface Choosable {
  /** Names of the tools in the request. */
  readonly names: ReadonlySet<string>;
  /** Whether provider options add tools that are not checked here. */
  readonly open: boolean;
}

/** Checks the tool choice against the tools of the request. */
export function checkToolChoice(choice: ToolChoice, choosable: Choosable, violations: Violations): void {
  const { mode, toolName } = choice;
  const named = mode === ToolChoice_Mode.NAMED;
  checkEnum(ToolChoice_ModeSchema, mode, "tool_choice.mode", violations);
  if ((named || mode === ToolChoice_Mode.REQUIRED) && choosable.names.size === 0 && !choosable.open) {
    violations.add("tool_choice.mode", "requires a tool call, but the request has no tools");
  } else if (named) {
    checkNamed(toolName, choosable, violations);
  }
  if (!named && toolName !== "") {
    const found = quote(toolName);
    violations.add("tool_choice.tool_name", `expected nothing unless the mode is MODE_NAMED, found ${found}`);
  }
}

function checkNamed(toolName: string, { names, open }: Choosable, violations: Violations): void {
  if (toolName === "") violations.add("tool_choice.tool_name", "is empty, expected the name of a tool");
  else if (!names.has(toolName) && !open) {
    const found = quote(toolName);
    violations.add(
      "tool_choice.tool_name",
      `expected the name of one of the request's tools, found ${found}`,
    );
  }
}
