import type {
  ChatRequest,
  ContentPartParam,
  FilePart,
  InputAudioPart,
  MessageParam,
  ResponseFormat,
  Tool,
} from "../../src/wire/openai-chat/request.ts";
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
import { callInput, getToolCalls } from "./tool-calls.ts";
import { getName } from "./tool-checks.ts";

/** OpenAI caches the beginning of every prompt of at least this length. */
const caching: Caching = { kind: "prefix", minimumTokens: 1024 };

/** The effort if the request sets none. */
const defaultEffort: Effort = "medium";

/** Converts a checked request into a prompt, which is independent of the wire format. */
export function readPrompt(request: ChatRequest, options: ModelOptions): Prompt {
  const { messages } = request;
  const contents = messages.map(readContent);
  const lastUser = messages.findLastIndex((message, index) => isQuestion(message, messages[index - 1]));
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
    toolRounds: messages.slice(lastUser + 1).filter((message) => getToolCalls(message) !== undefined).length,
    answerFormat: readFormat(request.response_format),
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    stopSequences: typeof stop === "string" ? [stop] : (stop ?? []),
    effort: readEffort(request, options),
  };
}

/**
 * Reports whether a message comes from the user. A message after tool results that has more than text holds their
 * images.
 */
function isQuestion({ role, content }: MessageParam, before: MessageParam | undefined): boolean {
  const hasMedia = typeof content !== "string" && content?.some(({ type }) => type !== "text") === true;
  return role === "user" && !(hasMedia && before?.role === "tool");
}

function readContent(message: MessageParam): ReadContent {
  const { content } = message;
  if (typeof content === "string") return readText(content);
  const parts = (content ?? []).filter((part) => part.type !== "thinking").map(readPart);
  const refusal = message.role === "assistant" ? message.refusal : undefined;
  return joinContents(refusal ? [...parts, readText(refusal)] : parts);
}

function readPart(part: ContentPartParam): ReadContent {
  switch (part.type) {
    case "image_url":
      return readImage(part.image_url.url);
    case "input_audio":
      return readAudio(part);
    case "file":
      return readDocument(part);
    case "text":
      return readText(part.text);
    case "refusal":
      return readText(part.refusal);
    default:
      return readText("");
  }
}

function readAudio({ input_audio: audio }: InputAudioPart): ReadContent {
  return typeof audio === "string"
    ? readFile("audio", audio)
    : readFile("audio", audio.data, `of type ${audio.format}`);
}

function readDocument(part: FilePart): ReadContent {
  if (!("file" in part)) return readFile("document", part.file_id);
  const { file_data: data, file_id: id, filename } = part.file;
  return readFile("document", data ?? id ?? "", filename);
}

/**
 * Describes a message as the model reads it. Reasoning is left out, so that it makes no difference whether it is sent
 * back.
 */
function describeMessage(message: MessageParam, text: string): string {
  const calls = (getToolCalls(message) ?? []).map(
    (call) => `call ${call.id} ${getName(call)}: ${JSON.stringify(callInput(call))}`,
  );
  const answered = message.role === "tool" ? ` ${message.tool_call_id}` : "";
  return [`${message.role}${answered}: ${text}`, ...calls].join("\n");
}

/** Returns the tools that the answer may use: all tools, or the tools that `allowed_tools` names. */
function offeredTools({ tools = [], tool_choice: choice }: ChatRequest): readonly Tool[] {
  const allowed =
    typeof choice === "object" && choice.type === "allowed_tools" ? choice.allowed_tools.tools : undefined;
  if (allowed === undefined) return tools;
  return tools.filter((tool) =>
    allowed.some((each) => each.type === tool.type && getName(each) === getName(tool)),
  );
}

function readTool(tool: Tool): CallableTool {
  return {
    name: getName(tool),
    parameters: tool.type === "function" ? (tool.function.parameters ?? {}) : {},
    freeform: tool.type === "custom",
  };
}

function readHostedTools({ web_search_options: search }: ChatRequest): readonly HostedTool[] {
  return search === undefined ? [] : [{ kind: "web_search" }];
}

function readToolChoice({ tool_choice: choice = "auto" }: ChatRequest): ToolChoice {
  if (typeof choice === "string") return { mode: choice };
  return choice.type === "allowed_tools"
    ? { mode: choice.allowed_tools.mode }
    : { mode: "named", name: getName(choice) };
}

/** Reads the tool messages after the last message of the model. */
function readToolResults(messages: readonly MessageParam[], contents: readonly ReadContent[]): ToolResult[] {
  const lastWritten = messages.findLastIndex((message) => message.role === "assistant");
  const calls = getToolCalls(messages[lastWritten]) ?? [];
  return messages.flatMap((message, index) => {
    if (index < lastWritten || message.role !== "tool") return [];
    const call = calls.find(({ id }) => id === message.tool_call_id);
    return [{ name: call === undefined ? "" : getName(call), text: contents[index]?.text ?? "" }];
  });
}

function readFormat(format: ResponseFormat | undefined): Prompt["answerFormat"] {
  if (format?.type === "json_schema")
    return { type: "json_schema", schema: format.json_schema.schema ?? { type: "object" } };
  return { type: format?.type === "json_object" ? "json_object" : "text" };
}

/** Reads the effort from OpenAI's parameter, or from the parameters of other servers if they are accepted. */
function readEffort(request: ChatRequest, { lenient }: ModelOptions): Effort {
  const { reasoning_effort: effort, reasoning, thinking, enable_thinking, chat_template_kwargs } = request;
  if (lenient !== true) return asEffort(effort) ?? defaultEffort;
  const isOff =
    reasoning?.enabled === false ||
    thinking?.type === "disabled" ||
    (enable_thinking ?? chat_template_kwargs?.enable_thinking) === false;
  return isOff ? "none" : (asEffort(effort) ?? asEffort(reasoning?.effort) ?? defaultEffort);
}

function asEffort(word: string | null | undefined): Effort | undefined {
  return efforts.find((effort) => effort === word);
}
