import type {
  CustomTool,
  FunctionTool,
  GroupedFunction,
  TextFormat,
  Tool,
} from "../../src/wire/openai-responses/request.ts";
import type {
  Attachment,
  Caching,
  CallableTool,
  Effort,
  HostedTool,
  Prompt,
  ToolChoice,
  ToolResult,
} from "../script/prompt.ts";
import type { CheckedItem, CheckedRequest } from "./checked-request.ts";
import { readContent } from "./read-content.ts";
import { isChosen } from "./tool-checks.ts";

/** OpenAI caches the beginning of prompts of at least this length. */
const caching: Caching = { kind: "prefix", minimumTokens: 1024 };

/** The effort of a reasoning model if the request does not set it. */
const defaultEffort: Effort = "medium";

/** Converts a checked request into a prompt, which is independent of OpenAI's wire format. */
export function readPrompt(request: CheckedRequest, items: readonly CheckedItem[]): Prompt {
  const contents = items.map((item) => readContent(item.content ?? item.output ?? ""));
  const lastUser = items.findLastIndex((item) => item.role === "user");
  return {
    question: contents[lastUser]?.text ?? "",
    segments: [
      JSON.stringify([request.tools ?? [], request.text?.format ?? null]),
      request.instructions ?? "",
      ...items.map((item, index) => describeItem(item, contents[index]?.text ?? "")),
    ].filter(Boolean),
    caching,
    attachments: contents.flatMap((content): readonly Attachment[] => content.attachments),
    tools: offeredTools(request).flatMap(readTools),
    hostedTools: offeredTools(request).flatMap(readHostedTool),
    toolChoice: readToolChoice(request),
    parallelToolCalls: request.parallel_tool_calls ?? true,
    toolResults: readToolResults(
      items,
      contents.map((content) => content.text),
    ),
    toolRounds: countToolRounds(items.slice(lastUser + 1)),
    answerFormat: readFormat(request.text?.format ?? undefined),
    maxOutputTokens: request.max_output_tokens ?? undefined,
    stopSequences: [],
    effort: (request.reasoning?.effort ?? defaultEffort) as Effort,
  };
}

/**
 * Describes an item as the model reads it. Ids and states are left out, since they would make the prompt cache miss.
 */
function describeItem(item: CheckedItem, text: string): string {
  switch (item.type ?? "message") {
    case "message":
      return `${item.role}: ${text}`;
    case "function_call":
    case "custom_tool_call":
      return `call ${item.call_id} ${item.name}: ${item.arguments ?? item.input ?? ""}`;
    case "function_call_output":
    case "custom_tool_call_output":
      return `output ${item.call_id}: ${text}`;
    default:
      return JSON.stringify(item);
  }
}

/** Returns the tools that the answer may use: all tools, or the tools that `allowed_tools` names. */
function offeredTools(request: CheckedRequest): readonly Tool[] {
  const { tools, tool_choice: choice } = request;
  const all = tools ?? [];
  if (typeof choice !== "object" || choice?.type !== "allowed_tools") return all;
  return all.filter((tool) => (choice.tools ?? []).some((allowed) => isChosen(tool, allowed)));
}

/**
 * Returns the tools that the caller executes: the tool itself, the tools of a namespace, or none if the provider
 * executes it.
 */
function readTools(tool: Tool): CallableTool[] {
  if (tool.type === "function" || tool.type === "custom") return [readTool(tool)];
  if (tool.type !== "namespace") return [];
  return tool.tools.map((member) => ({ ...readTool(member), namespace: tool.name }));
}

function readTool(tool: FunctionTool | CustomTool | GroupedFunction): CallableTool {
  if (tool.type === "custom") return { name: tool.name, parameters: {}, freeform: true };
  return { name: tool.name, parameters: tool.parameters ?? {}, freeform: false };
}

function readHostedTool(tool: Tool): HostedTool[] {
  if (tool.type.startsWith("web_search")) return [{ kind: "web_search" }];
  if (tool.type === "image_generation")
    return [{ kind: "image_generation", partialImages: tool.partial_images ?? 0 }];
  return [];
}

function readToolChoice(request: CheckedRequest): ToolChoice {
  const { tool_choice: choice } = request;
  if (typeof choice === "string")
    return { mode: choice === "none" || choice === "required" ? choice : "auto" };
  if (choice?.type === "allowed_tools") return { mode: choice.mode === "required" ? "required" : "auto" };
  return typeof choice?.name !== "string" ? { mode: "auto" } : { mode: "named", name: choice.name };
}

/** Reads the outputs after the last item that the model wrote. */
function readToolResults(items: readonly CheckedItem[], texts: readonly string[]): ToolResult[] {
  const names = new Map(
    items.filter((item) => item.name !== undefined).map((item) => [item.call_id, item.name]),
  );
  const lastWritten = items.findLastIndex((item) => item.role === "assistant" || item.name !== undefined);
  return items.flatMap((item, index) =>
    index > lastWritten && isOutput(item)
      ? [{ name: names.get(item.call_id) ?? "", text: texts[index] ?? "" }]
      : [],
  );
}

/** Counts groups of consecutive outputs: each group answers one round of calls. */
function countToolRounds(items: readonly CheckedItem[]): number {
  return items.filter((item, index) => isOutput(item) && !isOutput(items[index - 1])).length;
}

function isOutput(item: CheckedItem | undefined): boolean {
  return item?.type === "function_call_output" || item?.type === "custom_tool_call_output";
}

function readFormat(format: TextFormat | undefined): Prompt["answerFormat"] {
  if (format?.type === "json_schema") return { type: "json_schema", schema: format.schema };
  return { type: format?.type === "json_object" ? "json_object" : "text" };
}
