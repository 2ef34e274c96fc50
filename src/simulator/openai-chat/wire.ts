/** The body of `POST /v1/chat/completions`, as far as the simulator reads it, once it has been checked. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: string | ChatToolChoice;
  readonly parallel_tool_calls?: boolean;
  readonly response_format?: ResponseFormat;
  readonly max_tokens?: number | null;
  readonly max_completion_tokens?: number | null;
  readonly stop?: string | readonly string[] | null;
  readonly n?: number | null;
  readonly logprobs?: boolean | null;
  readonly top_logprobs?: number | null;
  readonly reasoning_effort?: string | null;
  readonly web_search_options?: unknown;
  readonly modalities?: readonly string[] | null;
  readonly stream?: boolean | null;
  readonly stream_options?: StreamOptions | null;
  /** OpenRouter's way to steer thinking. */
  readonly reasoning?: { readonly effort?: string; readonly enabled?: boolean };
  /** DeepSeek's. */
  readonly thinking?: { readonly type?: string };
  /** Qwen's. */
  readonly enable_thinking?: boolean;
  /** That of servers that render the conversation with the model's own template. */
  readonly chat_template_kwargs?: { readonly enable_thinking?: boolean };
}

interface StreamOptions {
  readonly include_usage?: boolean;
  readonly include_obfuscation?: boolean;
}

/** `response_format` of a request. */
export interface ResponseFormat {
  readonly type: "text" | "json_object" | "json_schema";
  readonly json_schema?: {
    readonly name: string;
    readonly schema?: unknown;
    readonly strict?: boolean | null;
  };
}

/** A function or a custom tool, as `tools` and `tool_choice` name it. */
interface Named {
  readonly name: string;
}

/** One of `tools`. */
export interface ChatTool {
  readonly type: "function" | "custom";
  readonly function?: Named & { readonly parameters?: unknown; readonly strict?: boolean | null };
  readonly custom?: Named;
}

/** `tool_choice` where it is not a word. */
export interface ChatToolChoice {
  readonly type: "function" | "custom" | "allowed_tools";
  readonly function?: Named;
  readonly custom?: Named;
  readonly allowed_tools?: {
    readonly mode: string;
    readonly tools: readonly { readonly type: string; readonly function?: Named; readonly custom?: Named }[];
  };
}

/** One of `messages`. Which fields are set depends on the role. */
export interface ChatMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content?: string | readonly ContentPart[] | null;
  readonly name?: string;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly ChatToolCall[];
  readonly tool_call_id?: string;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[] | null;
}

/** A part of a message. */
export interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly image_url?: { readonly url: string };
  readonly input_audio?: { readonly data: string; readonly format: string };
  readonly file?: { readonly file_data?: string; readonly file_id?: string; readonly filename?: string };
}

/** A tool call of an assistant message that came back. */
export interface ChatToolCall {
  readonly id: string;
  readonly type: "function" | "custom";
  readonly function?: Named & { readonly arguments: unknown };
  readonly custom?: Named & { readonly input: string };
  readonly extra_content?: { readonly google?: { readonly thought_signature?: string } };
}

/** One of `reasoning_details`, as OpenRouter has them. */
export interface ReasoningDetail {
  readonly type: string;
  readonly text?: string;
  readonly signature?: string | null;
  readonly data?: string;
}

/** An object on its way to the wire. */
export type Fields = Readonly<Record<string, unknown>>;
