import type { CallableTool, Effort, HostedTool, Prompt, ToolChoice, ToolResult } from "../script/prompt.ts";
import { joinContents } from "../script/read-content.ts";
import { readCaching } from "./cache-control.ts";
import { segmentsOf } from "./prompt-segments.ts";
import { readBlock } from "./read-content.ts";
import { bringsResults, type ConversationTurn } from "./turns.ts";
import type { CreateRequest, Tool } from "./wire.ts";

/** How much the model thinks where it decides itself and the request does not say. */
const usualEffort: Effort = "high";

/** Says what a checked request asks, free of Anthropic's wire format. */
export function readPrompt(request: CreateRequest, turns: readonly ConversationTurn[]): Prompt {
  const segments = segmentsOf(request, turns);
  const lastQuestion = turns.findLastIndex(asks);
  const toolRounds = turns.slice(lastQuestion + 1).filter(bringsResults).length;
  return {
    question: textOf(turns[lastQuestion]),
    segments: segments.map(({ text }) => text),
    caching: readCaching(request, segments),
    attachments: turns.flatMap(({ blocks }) => blocks.flatMap(({ block }) => readBlock(block).attachments)),
    tools: (request.tools ?? []).filter(isCallable).map(readTool),
    hostedTools: (request.tools ?? []).flatMap(readHostedTool),
    toolChoice: readToolChoice(request),
    parallelToolCalls: request.tool_choice?.disable_parallel_tool_use !== true,
    toolResults: readToolResults(turns),
    toolRounds,
    answerFormat: readFormat(request),
    maxOutputTokens: request.max_tokens,
    stopSequences: request.stop_sequences ?? [],
    effort: readEffort(request, toolRounds),
  };
}

/** Whether the user speaks in a turn, instead of only handing in results. */
function asks({ role, blocks }: ConversationTurn): boolean {
  return role === "user" && blocks.some(({ block }) => block.type !== "tool_result");
}

/** What the user says in a turn, without the results that come with it. */
function textOf(turn: ConversationTurn | undefined): string {
  const said = (turn?.blocks ?? []).filter(({ block }) => block.type !== "tool_result");
  return joinContents(said.map(({ block }) => readBlock(block))).text;
}

function isCallable({ type }: Tool): boolean {
  return (type ?? "custom") === "custom";
}

function readTool({ name, input_schema: parameters }: Tool): CallableTool {
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
      const named = tools?.find(({ name }) => name === choice.name);
      // A tool that the provider runs is used, and then there is nothing to call.
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

/** The results behind the assistant's last turn. */
function readToolResults(turns: readonly ConversationTurn[]): ToolResult[] {
  const lastWritten = turns.findLastIndex(({ role }) => role === "assistant");
  const written = turns.flatMap(({ blocks }) => blocks.map(({ block }) => block));
  const names = new Map(written.map(({ id, name }) => [id, name]));
  return turns
    .slice(lastWritten + 1)
    .flatMap(({ blocks }) => blocks.map(({ block }) => block))
    .filter(({ type }) => type === "tool_result")
    .map((block) => ({ name: names.get(block.tool_use_id) ?? "", text: readBlock(block).text }));
}

function readFormat({ output_config: config }: CreateRequest): Prompt["answerFormat"] {
  const schema = config?.format?.schema;
  return schema === undefined ? { type: "text" } : { type: "json_schema", schema };
}

/** Thinking steers itself by the effort, or has a budget. */
function readEffort({ thinking, output_config: config }: CreateRequest, toolRounds: number): Effort {
  const effort = config?.effort ?? usualEffort;
  switch (thinking?.type) {
    case "disabled":
      return "none";
    case "between_tools":
      return toolRounds > 0 ? effort : "none";
    case "enabled":
      return effortOfBudget(thinking.budget_tokens ?? 0);
    default:
      return effort;
  }
}

function effortOfBudget(tokens: number): Effort {
  if (tokens < 4096) return "low";
  return tokens < 16_384 ? "medium" : "high";
}
