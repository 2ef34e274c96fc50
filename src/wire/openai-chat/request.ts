/**
 * Requests of the Chat Completions API. The types come from OpenAI ("Create chat completion" in its API reference).
 * Fields and forms that compatible servers accept alongside these are added here, with the documentation that describes
 * them.
 */
import type {
  ChatCompletionAllowedToolChoice,
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPartImage,
  ChatCompletionContentPartInputAudio,
  ChatCompletionContentPart as ChatCompletionContentParts,
  ChatCompletionCreateParamsBase,
  ChatCompletionCustomTool,
  ChatCompletionDeveloperMessageParam,
  ChatCompletionFunctionTool,
  ChatCompletionNamedToolChoice,
  ChatCompletionNamedToolChoiceCustom,
  ChatCompletionSystemMessageParam,
  ChatCompletionToolMessageParam,
  ChatCompletionUserMessageParam,
} from "openai/resources/chat/completions/completions";
import type {
  ResponseFormatJSONObject,
  ResponseFormatJSONSchema,
  ResponseFormatText,
} from "openai/resources/shared";
import type {
  GeneratedImage,
  ReasoningParam,
  RefusalPart,
  SignatureParam,
  TextPart,
  ThinkPart,
  ToolCall,
} from "./parts.ts";

/** Path below the base URL ("Create chat completion"). */
export const CHAT_COMPLETIONS_PATH = "/chat/completions";

/** Body of a request ("Create chat completion"). */
export interface ChatRequest
  extends Omit<
      ChatCompletionCreateParamsBase,
      "messages" | "reasoning_effort" | "response_format" | "tool_choice" | "tools"
    >,
    ReasoningSettings {
  /** The conversation ("Create chat completion", `messages`). */
  messages: MessageParam[];
  /** Form of the answer ("Structured model outputs"). */
  response_format?: ResponseFormat;
  /** Whether and what the model must call ("Create chat completion", `tool_choice`). */
  tool_choice?: ToolChoice;
  /** The tools that the model can call ("Create chat completion", `tools`). */
  tools?: Tool[];
}

/** The ways in which servers let a request steer reasoning. */
export interface ReasoningSettings {
  /** "Create chat completion", `reasoning_effort`. Servers add further efforts. */
  reasoning_effort?: string | null;
  /** OpenRouter ("Reasoning tokens"). */
  reasoning?: { effort?: string; enabled?: boolean; exclude?: boolean; max_tokens?: number };
  /** DeepSeek ("Thinking mode"), Z.ai ("Deep thinking"), Moonshot ("Thinking models"), MiniMax ("Chat Completions"). */
  thinking?: { type: "enabled" | "adaptive" | "disabled" };
  /** Whether reasoning has separate fields (MiniMax documentation: "Chat Completions"). */
  reasoning_split?: boolean;
  /** Alibaba Model Studio ("Deep thinking"). */
  enable_thinking?: boolean;
  /** Variables of the model's chat template: vLLM ("Reasoning outputs"), SGLang and llama.cpp. */
  chat_template_kwargs?: { enable_thinking?: boolean };
}

/** `response_format` of a request ("Structured model outputs"). */
export type ResponseFormat = ResponseFormatText | ResponseFormatJSONObject | ResponseFormatJSONSchema;

/** One of `tools` ("Create chat completion", `tools`). */
export type Tool = FunctionTool | CustomTool;

/** A function that the model can call ("Function calling"). */
export type FunctionTool = ChatCompletionFunctionTool;

/** A tool whose input is free text ("Function calling", "Custom tools"). */
export type CustomTool = ChatCompletionCustomTool;

/** A tool by its name, as in `tool_choice` ("Create chat completion", `tool_choice`). */
export type NamedToolChoice = ChatCompletionNamedToolChoice | ChatCompletionNamedToolChoiceCustom;

/** Limits the model to some of the tools ("Create chat completion", `tool_choice`). */
export interface AllowedToolChoice extends Omit<ChatCompletionAllowedToolChoice, "allowed_tools"> {
  /** The tools, and whether the model must call one. */
  allowed_tools: { mode: "auto" | "required"; tools: NamedToolChoice[] };
}

/** Whether and what the model must call ("Create chat completion", `tool_choice`). */
export type ToolChoice = "none" | "auto" | "required" | NamedToolChoice | AllowedToolChoice;

/** One of `messages` ("Create chat completion", `messages`). */
export type MessageParam =
  | SystemMessageParam
  | DeveloperMessageParam
  | UserMessageParam
  | AssistantMessageParam
  | ToolMessageParam;

/** Instructions ("Create chat completion", `messages`, "System message"). */
export interface SystemMessageParam extends Omit<ChatCompletionSystemMessageParam, "content"> {
  /** A text, or a list of parts. */
  content: ContentParam;
}

/** Instructions for models that have this role ("Create chat completion", `messages`, "Developer message"). */
export interface DeveloperMessageParam extends Omit<ChatCompletionDeveloperMessageParam, "content"> {
  /** A text, or a list of parts. */
  content: ContentParam;
}

/** A message of the user ("Create chat completion", `messages`, "User message"). */
export interface UserMessageParam extends Omit<ChatCompletionUserMessageParam, "content"> {
  /** A text, or a list of parts. */
  content: ContentParam;
}

/** The result of a tool call ("Create chat completion", `messages`, "Tool message"). */
export interface ToolMessageParam extends Omit<ChatCompletionToolMessageParam, "content"> {
  /**
   * A text, or a list of parts. Some servers also accept images and documents in it (Mistral documentation: "Function
   * calling").
   */
  content: ContentParam;
}

/** An earlier answer of the model ("Create chat completion", `messages`, "Assistant message"). */
export interface AssistantMessageParam
  extends Omit<ChatCompletionAssistantMessageParam, "content" | "tool_calls">,
    ReasoningParam,
    SignatureParam {
  /** A text, or a list of parts; may be null or absent alongside tool calls and refusals. */
  content?: ContentParam | null;
  /** The calls that the messages after it answer. */
  tool_calls?: ToolCall[];
  /** Images that the model made (OpenRouter documentation: "Image generation"). */
  images?: GeneratedImage[];
}

/** The content of a message ("Create chat completion", `messages`). */
export type ContentParam = string | ContentPartParam[];

/** A part of a content list ("Create chat completion", `messages`). */
export type ContentPartParam =
  | TextPart
  | RefusalPart
  | ImagePart
  | InputAudioPart
  | FilePart
  | DocumentUrlPart
  | FileUrlPart
  | ThinkPart;

/** An image ("Images and vision"). */
export interface ImagePart extends Omit<ChatCompletionContentPartImage, "image_url"> {
  /** Address of the image: a URL or a data: URL. Servers add values of `detail`. */
  image_url: { url: string; detail?: string };
}

/** An audio clip ("Audio and speech"). */
export interface InputAudioPart extends Omit<ChatCompletionContentPartInputAudio, "input_audio"> {
  /** Base64 with its format; for Mistral ("Audio & transcription") only base64 or a URL. Servers add formats. */
  input_audio: { data: string; format: string } | string;
}

/** A document ("File inputs"; Mistral documentation: "Document Q&A", `file_id` of an uploaded file). */
export type FilePart = ChatCompletionContentParts.File | { type: "file"; file_id: string };

/** A document by URL (Mistral documentation: "Document Q&A"). */
export interface DocumentUrlPart {
  /** Discriminates the parts. */
  type: "document_url";
  /** A URL or a data: URL. */
  document_url: string;
  /** Name of the document. */
  document_name?: string;
}

/**
 * A document by URL or as base64 (Perplexity documentation: "File attachments"; Z.ai documentation: "Chat completion").
 */
export interface FileUrlPart {
  /** Discriminates the parts. */
  type: "file_url";
  /** A URL, or base64 without a prefix. */
  file_url: { url: string };
  /** Name of the document. */
  file_name?: string;
}
