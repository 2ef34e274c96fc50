/** The body of `POST /v1/messages`, as far as the simulator reads it, once it has been checked. */
export interface CreateRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly InputMessage[];
  readonly cache_control?: CacheControl | null;
  readonly output_config?: OutputConfig | null;
  readonly service_tier?: string | null;
  readonly stop_sequences?: readonly string[] | null;
  readonly stream?: boolean | null;
  readonly system?: string | readonly InputBlock[] | null;
  readonly temperature?: number | null;
  readonly thinking?: ThinkingConfig | null;
  readonly tool_choice?: ToolChoice | null;
  readonly tools?: readonly Tool[] | null;
  readonly top_k?: number | null;
  readonly top_p?: number | null;
}

/** One of `messages`. */
export interface InputMessage {
  readonly role: Role;
  readonly content: string | readonly InputBlock[];
}

/** Who speaks. */
export type Role = "user" | "assistant" | "system";

/** A block of content. Which fields are set depends on the type. */
export interface InputBlock {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly signature?: string;
  readonly data?: string;
  readonly encrypted_content?: unknown;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  /** Of a tool's result: a text or blocks. Of a hosted tool's result: blocks, or one object. */
  readonly content?: unknown;
  readonly source?: MediaSource;
  readonly title?: string | null;
  readonly citations?: unknown;
  readonly cache_control?: CacheControl | null;
}

/** Where a picture or a document comes from. */
export interface MediaSource {
  readonly type: string;
  readonly media_type?: string;
  readonly data?: string;
  readonly url?: string;
  readonly file_id?: string;
  readonly content?: string | readonly InputBlock[];
}

/** Marks a place up to which the prompt is to be cached. */
export interface CacheControl {
  readonly type: "ephemeral";
  readonly ttl?: "5m" | "1h" | null;
}

/** `thinking` of a request. */
export interface ThinkingConfig {
  readonly type: "adaptive" | "enabled" | "disabled" | "between_tools";
  readonly budget_tokens?: number;
  readonly display?: "summarized" | "omitted" | null;
}

/** `output_config` of a request. */
interface OutputConfig {
  readonly effort?: "low" | "medium" | "high" | "xhigh" | "max" | null;
  readonly format?: { readonly type: "json_schema"; readonly schema: unknown } | null;
}

/** `tool_choice` of a request. */
export interface ToolChoice {
  readonly type: "auto" | "any" | "tool" | "none";
  readonly name?: string;
  readonly disable_parallel_tool_use?: boolean | null;
}

/** One of `tools`. */
export interface Tool {
  readonly type?: string | null;
  readonly name: string;
  readonly input_schema?: unknown;
  readonly strict?: boolean | null;
  readonly cache_control?: CacheControl | null;
}

/** A block of an answer. */
export type AnswerBlock = Readonly<Record<string, unknown>> & { readonly type: string };
