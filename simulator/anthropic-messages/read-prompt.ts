import type { CustomTool, Tool } from "../../src/wire/anthropic-messages/request.ts";
import type { CallableTool, Effort, HostedTool, Prompt, ToolChoice, ToolResult } from "../script/prompt.ts";
import { joinContents } from "../script/read-content.ts";
import { readCaching } from "./cache-control.ts";
import type { CreateRequest } from "./create-request.ts";
import { splitSegments } from "./prompt-segments.ts";
import { readBlock } from "./read-content.ts";
import { getName } from "./tool-name.ts";
import { type ConversationTurn, hasResults } from "./turns.ts";

/** The effort of a request that sets none. */
const defaultEffort: Effort = "high";

/** Reads a checked request as a prompt, independent of Anthropic's wire format. */
export function readPrompt(request: CreateRequest, turns: readonly ConversationTurn[]): Prompt {
  const segments = splitSegments(request, turns);
  const lastQuestion = turns.findLastIndex(isQuestion);
  const toolRounds = turns.slice(lastQuestion + 1).filter(hasResults).length;
  return {
    question: toText(turns[lastQuestion]),
    segments: segments.map(({ text }) => text),
    caching: readCaching(request, segments),
    attachments: turns.flatMap(({ blocks }) => blocks.flatMap(({ block }) => readBlock(block).attachments)),
    tools: (request.tools ?? []).filter(isCallable).map(readTool),
    hostedTools: (request.tools ?? []).flatMap(readHostedTool),
    toolChoice: readToolChoice(request),
    parallelToolCalls: !disablesParallelCalls(request),
    toolResults: readToolResults(turns),
    toolRounds,
    answerFormat: readFormat(request),
    maxOutputTokens: request.max_tokens,
    stopSequences: request.stop_sequences ?? [],
    effort: readEffort(request, toolRounds),
  };
}

/** Reports whether a turn is the user's and has more than tool results. */
function isQuestion({ role, blocks }: ConversationTurn): boolean {
  return role === "user" && blocks.some(({ block }) => block.type !== "tool_result");
}

/** Returns the text of a turn, without tool results. */
function toText(turn: ConversationTurn | undefined): string {
  const blocks = (turn?.blocks ?? []).filter(({ block }) => block.type !== "tool_result");
  return joinContents(blocks.map(({ block }) => readBlock(block))).text;
}

function disablesParallelCalls({ tool_choice: choice }: CreateRequest): boolean {
  return choice != null && choice.type !== "none" && choice.disable_parallel_tool_use === true;
}

function isCallable(tool: Tool): tool is CustomTool {
  return (tool.type ?? "custom") === "custom";
}

function readTool({ name, input_schema: parameters }: CustomTool): CallableTool {
  return { name, parameters, freeform: false };
}

function readHostedTool({ type }: Tool): HostedTool[] {
  return type?.startsWith("web_search_") === true ? [{ kind: "web_search" }] : [];
}

function readToolChoice({ tool_choice: choice, tools }: CreateRequest): ToolChoice {
  switch (choice?.type) {
    case "any":
      return { mode: "required" };
    case "tool": {
      const named = tools?.find((tool) => getName(tool) === choice.name);
      // A tool that the provider runs is not called by the caller.
      return named !== undefined && isCallable(named)
        ? { mode: "named", name: named.name }
        : { mode: "auto" };
    }
    case "none":
      return { mode: "none" };
    default:
      return { mode: "auto" };
  }
}

/** Reads the results after the assistant's last turn. */
function readToolResults(turns: readonly ConversationTurn[]): ToolResult[] {
  const lastAnswer = turns.findLastIndex(({ role }) => role === "assistant");
  const blocks = turns.flatMap((turn) => turn.blocks.map(({ block }) => block));
  const names = new Map(
    blocks.flatMap((block) => (block.type === "tool_use" ? [[block.id, block.name] as const] : [])),
  );
  return turns
    .slice(lastAnswer + 1)
    .flatMap((turn) => turn.blocks)
    .flatMap(({ block }) =>
      block.type === "tool_result"
        ? [{ name: names.get(block.tool_use_id) ?? "", text: readBlock(block).text }]
        : [],
    );
}

function readFormat({ output_config: config }: CreateRequest): Prompt["answerFormat"] {
  const schema = config?.format?.schema;
  return schema === undefined ? { type: "text" } : { type: "json_schema", schema };
}

/** Reads the effort. Thinking is controlled by the effort, or by a budget. */
function readEffort({ thinking, output_config: config }: CreateRequest, toolRounds: number): Effort {
  const effort = config?.effort ?? defaultEffort;
  switch (thinking?.type) {
    case "disabled":
      return "none";
    case "between_tools":
      return toolRounds > 0 ? effort : "none";
    case "enabled":
      return toEffort(thinking.budget_tokens);
    default:
      return effort;
  }
}

function toEffort(tokens: number): Effort {
  if (tokens < 4096) return "low";
  return tokens < 16_384 ? "medium" : "high";
}
