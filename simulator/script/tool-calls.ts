import type { InstanceSource } from "./instance-source.ts";
import type { CallableTool } from "./prompt.ts";
import { createInstance } from "./schema-instance.ts";
import { getInstanceSource, type ScriptInput } from "./script-input.ts";
import type { ToolCallPart } from "./turn.ts";

/** Reports whether the model must call one of the caller's tools. */
export function mustCallTool(input: ScriptInput): boolean {
  const { toolChoice, tools, toolResults } = input.prompt;
  if (tools.length === 0 || toolResults.length > 0) return false;
  return toolChoice.mode === "required" || toolChoice.mode === "named";
}

/**
 * Reports whether a script that calls tools calls them now, or answers because it must not or already has the results.
 */
export function shouldCallTool(input: ScriptInput): boolean {
  const { toolChoice, tools, toolRounds } = input.prompt;
  if (tools.length === 0 || toolChoice.mode === "none") return false;
  return toolRounds < (input.options.rounds ?? 1);
}

/**
 * Calls the tools of a prompt: as many calls as the option `calls` says (default 1), in the order of the tools, and
 * again from the first if there are more calls than tools; only the named tool if one is named.
 */
export function callTools(input: ScriptInput): ToolCallPart[] {
  const { toolChoice, parallelToolCalls } = input.prompt;
  const tools =
    toolChoice.mode === "named"
      ? input.prompt.tools.filter((tool) => tool.name === toolChoice.name)
      : input.prompt.tools;
  const wanted = tools.length === 0 ? 0 : (input.options.calls ?? 1);
  const count = parallelToolCalls ? wanted : Math.min(wanted, 1);
  const source = getInstanceSource(input);
  return Array.from({ length: count }, (_, index) => tools[index % tools.length])
    .filter((tool) => tool !== undefined)
    .map((tool) => callTool(tool, source));
}

/**
 * Returns the calls that the last user message writes out, one a line: the name of a tool, a space, and its input. A
 * tool in a namespace is named `namespace.tool`. The input of a function is a JSON object. If parallel calls are not
 * allowed, each round makes the call of the next line.
 */
export function writtenCalls({ prompt }: ScriptInput): ToolCallPart[] {
  const { question, tools, toolChoice, toolRounds, parallelToolCalls } = prompt;
  if (toolChoice.mode === "none") return [];
  const calls = question.split("\n").flatMap((line) => writtenCall(line, tools));
  if (parallelToolCalls) return toolRounds === 0 ? calls : [];
  return calls.slice(toolRounds, toolRounds + 1);
}

function writtenCall(line: string, tools: readonly CallableTool[]): ToolCallPart[] {
  const space = line.indexOf(" ");
  const tool = tools.find((each) => qualifiedName(each) === line.slice(0, space));
  const input = line.slice(space + 1);
  // A sentence may begin with the name of a tool.
  const isCall = tool?.freeform === true || isObjectText(input);
  return tool !== undefined && isCall ? [toolCall(tool, input)] : [];
}

function isObjectText(text: string): boolean {
  try {
    return text.startsWith("{") && typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

function qualifiedName({ name, namespace }: CallableTool): string {
  return namespace === undefined ? name : `${namespace}.${name}`;
}

function callTool(tool: CallableTool, source: InstanceSource): ToolCallPart {
  if (tool.freeform) return toolCall(tool, `print("${source.nextWord()} ${source.nextWord()}")\n`);
  return toolCall(tool, JSON.stringify(createInstance(tool.parameters, source)));
}

function toolCall({ name, namespace, freeform }: CallableTool, input: string): ToolCallPart {
  const group = namespace === undefined ? {} : { namespace };
  return { kind: "tool_call", name, ...group, input, freeform, firstDelta: 0, cut: false };
}
