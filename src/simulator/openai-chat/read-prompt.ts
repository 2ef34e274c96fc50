import type { ModelOptions } from "../model-options.ts";
import { efforts } from "../openai/parameters.ts";
import type {
  Caching,
  CallableTool,
  Effort,
  HostedTool,
  Prompt,
  ToolChoice,
  ToolResult,
} from "../script/prompt.ts";
import { joinContents, type ReadContent, readFile, readImage, readText } from "../script/read-content.ts";
import { nameOf } from "./tool-checks.ts";
import type { ChatMessage, ChatRequest, ChatTool, ContentPart, ResponseFormat } from "./wire.ts";

/** OpenAI caches the beginning of every prompt that is so long. */
const caching: Caching = { kind: "prefix", minimumTokens: 1024 };

/** How much a reasoning model thinks where the request does not say. */
const usualEffort: Effort = "medium";

/** Says what a checked request asks, free of the wire format. */
export function readPrompt(request: ChatRequest, options: ModelOptions): Prompt {
  const { messages } = request;
  const contents = messages.map(readContent);
  const lastUser = messages.findLastIndex((message, index) => asks(message, messages[index - 1]));
  const { stop } = request;
  return {
    question: contents[lastUser]?.text ?? "",
    segments: [
      JSON.stringify([request.tools ?? [], request.response_format ?? null]),
      ...messages.map((message, index) => describeMessage(message, contents[index]?.text ?? "")),
    ],
    caching,
    attachments: contents.flatMap((content) => content.attachments),
    tools: offeredTools(request).map(readTool),
    hostedTools: readHostedTools(request),
    toolChoice: readToolChoice(request),
    parallelToolCalls: request.parallel_tool_calls ?? true,
    toolResults: readToolResults(messages, contents),
    toolRounds: messages.slice(lastUser + 1).filter((message) => message.tool_calls !== undefined).length,
    answerFormat: readFormat(request.response_format),
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stopSequences: typeof stop === "string" ? [stop] : (stop ?? []),
    effort: readEffort(request, options),
  };
}

/** Whether a message is the user's, instead of bringing the pictures of the tool results that it stands behind. */
function asks({ role, content }: ChatMessage, before: ChatMessage | undefined): boolean {
  const brings = typeof content !== "string" && content?.some(({ type }) => type !== "text") === true;
  return role === "user" && !(brings && before?.role === "tool");
}

function readContent({ content, refusal }: ChatMessage): ReadContent {
  if (typeof content === "string") return readText(content);
  const said = (content ?? []).filter((part) => part.type !== "thinking").map(readPart);
  return joinContents(refusal ? [...said, readText(refusal)] : said);
}

function readPart(part: ContentPart): ReadContent {
  switch (part.type) {
    case "image_url":
      return readImage(part.image_url?.url ?? "");
    case "input_audio":
      return readFile("audio", part.input_audio?.data ?? "", `of type ${part.input_audio?.format}`);
    case "file":
      return readFile("document", part.file?.file_data ?? part.file?.file_id ?? "", part.file?.filename);
    default:
      return readText(part.text ?? part.refusal ?? "");
  }
}

/** A message as the model reads it. What it thought is left out, so that it may come back or not. */
function describeMessage(message: ChatMessage, text: string): string {
  const calls = (message.tool_calls ?? []).map(
    (call) =>
      `call ${call.id} ${nameOf(call)}: ${JSON.stringify(call.function?.arguments ?? call.custom?.input)}`,
  );
  const answered = message.role === "tool" ? ` ${message.tool_call_id}` : "";
  return [`${message.role}${answered}: ${text}`, ...calls].join("\n");
}

/** The tools that the answer may use: all of them, or those that `allowed_tools` names. */
function offeredTools({ tools = [], tool_choice: choice }: ChatRequest): readonly ChatTool[] {
  const allowed = typeof choice === "object" ? choice.allowed_tools?.tools : undefined;
  if (allowed === undefined) return tools;
  return tools.filter((tool) =>
    allowed.some((each) => each.type === tool.type && nameOf(each) === nameOf(tool)),
  );
}

function readTool(tool: ChatTool): CallableTool {
  return {
    name: nameOf(tool),
    parameters: tool.function?.parameters ?? {},
    freeform: tool.type === "custom",
  };
}

function readHostedTools({ web_search_options: search }: ChatRequest): readonly HostedTool[] {
  return search === undefined ? [] : [{ kind: "web_search" }];
}

function readToolChoice({ tool_choice: choice = "auto" }: ChatRequest): ToolChoice {
  const word = typeof choice === "string" ? choice : choice.allowed_tools?.mode;
  if (word !== undefined) return { mode: word === "none" || word === "required" ? word : "auto" };
  return { mode: "named", name: typeof choice === "string" ? "" : nameOf(choice) };
}

/** The tool messages behind the last message of the model. */
function readToolResults(messages: readonly ChatMessage[], contents: readonly ReadContent[]): ToolResult[] {
  const lastWritten = messages.findLastIndex((message) => message.role === "assistant");
  const calls = messages[lastWritten]?.tool_calls ?? [];
  return messages.flatMap((message, index) => {
    if (index < lastWritten || message.role !== "tool") return [];
    const call = calls.find(({ id }) => id === message.tool_call_id);
    return [{ name: call === undefined ? "" : nameOf(call), text: contents[index]?.text ?? "" }];
  });
}

function readFormat(format: ResponseFormat | undefined): Prompt["answerFormat"] {
  if (format?.type === "json_schema")
    return { type: "json_schema", schema: format.json_schema?.schema ?? { type: "object" } };
  return { type: format?.type === "json_object" ? "json_object" : "text" };
}

/** How much to think: as OpenAI says it, or in the ways of other servers where those are taken. */
function readEffort(request: ChatRequest, { lenient }: ModelOptions): Effort {
  const { reasoning_effort: effort, reasoning, thinking, enable_thinking, chat_template_kwargs } = request;
  if (lenient !== true) return asEffort(effort) ?? usualEffort;
  const isOff =
    reasoning?.enabled === false ||
    thinking?.type === "disabled" ||
    (enable_thinking ?? chat_template_kwargs?.enable_thinking) === false;
  return isOff ? "none" : (asEffort(effort) ?? asEffort(reasoning?.effort) ?? usualEffort);
}

function asEffort(word: string | null | undefined): Effort | undefined {
  return efforts.find((effort) => effort === word);
}
