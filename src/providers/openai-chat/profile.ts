/** A tool choice other than `auto`. */
export type ForcedToolChoice = "none" | "required" | "named";

/** How a request controls reasoning. */
export type ReasoningFormat =
  /** `reasoning_effort: "low"`: OpenAI, Groq, Mistral, xAI, Cerebras. */
  | "openai"
  /** `reasoning: {effort: "low"}`: OpenRouter. */
  | "openrouter"
  /** `thinking: {type: "enabled"}`, with `reasoning_effort` if the server has efforts: DeepSeek, Z.ai, Moonshot. */
  | "deepseek"
  /** `enable_thinking: true`: Qwen at Alibaba. */
  | "qwen"
  /**
   * `thinking: {type: "adaptive"}`, and in every request `reasoning_split`, without which reasoning is in the content,
   * between tags: MiniMax.
   */
  | "minimax"
  /**
   * `chat_template_kwargs: {enable_thinking: true}`, with `reasoning_effort` if the server has efforts: vLLM, SGLang,
   * llama.cpp.
   */
  | "template"
  /** There is no setting for it. */
  | "none";

/**
 * Differences of one server's Chat Completions API from others. A difference is a value here and never a subclass.
 * Requests follow the profile; answers are read leniently whatever it is.
 */
export interface ServerProfile {
  /**
   * Field that limits how many tokens the model writes. OpenAI's reasoning models refuse the old name. Default
   * `max_tokens`.
   */
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  /**
   * Role of developer messages; most servers refuse `developer`. System messages are always `system`. Default `system`.
   */
  readonly systemRole: "system" | "developer";
  /** Whether the server stores answers unless a request has `store: false`. Default false. */
  readonly supportsStore: boolean;
  /** Whether `metadata` is accepted; if the server stores answers, only with stored ones. Default false. */
  readonly supportsMetadata: boolean;
  /** Whether a message may have the `name` of a participant. Default true. */
  readonly supportsNames: boolean;
  /**
   * Whether `stream_options: {include_usage: true}` is accepted. Servers that refuse it always send usage. Default
   * true.
   */
  readonly supportsUsageInStreaming: boolean;
  /** Whether a function tool may have `strict`. Default false. */
  readonly supportsStrictTools: boolean;
  /** Whether tools of type `custom` are accepted; elsewhere they become functions. Default false. */
  readonly supportsCustomTools: boolean;
  /**
   * Rules for schemas that the server enforces: OpenAI's strict mode, Mistral's, or none, for servers that limit the
   * model by a grammar. Default `any`.
   */
  readonly strictSchemas: "openai" | "mistral" | "any";
  /** Whether `response_format` takes `json_schema`. Default true. */
  readonly supportsJsonSchema: boolean;
  /** Whether `response_format` takes `json_object`. Default true. */
  readonly supportsJsonObject: boolean;
  /** Whether `parallel_tool_calls` is accepted. Default true. */
  readonly supportsParallelToolCalls: boolean;
  /**
   * Values of `tool_choice` other than `auto`. Without `named`, a request that names a tool sends that tool alone and
   * `required`. Default all.
   */
  readonly toolChoices: readonly ForcedToolChoice[];
  /** Maximum characters of a tool's name. Default 128, the maximum of the contract. */
  readonly maxToolNameChars: number;
  /** Maximum entries of `stop`; infinite if there is no limit. Default 4. */
  readonly maxStopSequences: number;
  /** How a request controls reasoning. Default `openai`. */
  readonly reasoningFormat: ReasoningFormat;
  /** Efforts that the server's models have; undefined if they depend on the model or are unknown. Default undefined. */
  readonly efforts: readonly string[] | undefined;
  /**
   * Field of a message that holds its reasoning: read first if several do, and written if reasoning is sent back.
   * `received`: the field in which it was received. Default `received`.
   */
  readonly reasoningField: "received" | "reasoning_content" | "reasoning";
  /** Whether reasoning is sent back. Other servers refuse it, or count its tokens and ignore it. Default false. */
  readonly replayReasoning: boolean;
  /**
   * Whether every assistant message must have its reasoning field, an empty one if it has no reasoning (DeepSeek).
   * Default false.
   */
  readonly requiresReasoning: boolean;
  /** Whether the tokens of reasoning are only in the total of the counts (Gemini). Default false. */
  readonly countsReasoningInTotal: boolean;
  /** Whether an answer that begins with `<think>…</think>` is split into reasoning and text. Default false. */
  readonly thinkTags: boolean;
  /** `content` of an assistant message that has none. Default null. */
  readonly emptyAssistantContent: null | "";
  /**
   * Format of tool call ids. `forty_characters`: at most that many (OpenAI). `nine_alphanumerics`: exactly nine of
   * `[a-zA-Z0-9]` (Mistral). Ids that do not fit are hashed, the same in every turn. Default `any`.
   */
  readonly toolCallIdPattern: "any" | "forty_characters" | "nine_alphanumerics";
  /**
   * Whether the server parses the arguments of earlier calls and so refuses a conversation in which a model wrote
   * invalid ones; these are then sent as an object that holds their text. Default true.
   */
  readonly parsesArguments: boolean;
  /** Whether a tool message may hold images and documents. Otherwise they follow in a user message. Default false. */
  readonly supportsToolResultMedia: boolean;
  /** Media types of images that are accepted; undefined if they are unknown. Default undefined. */
  readonly imageTypes: readonly string[] | undefined;
  /** Form of audio. `base64`: the encoded text alone (Mistral). `none`: refused. Default `object`, as at OpenAI. */
  readonly audioInput: "object" | "base64" | "none";
  /** Audio formats that are accepted, as in `input_audio.format`; undefined if they are unknown. Default undefined. */
  readonly audioFormats: readonly string[] | undefined;
  /**
   * Form of documents. `file`: bytes or an uploaded file, as at OpenAI; `file_or_url`: the same, or a URL instead of
   * the bytes (OpenRouter). `document_url` (Mistral), `file_url` (Perplexity, Z.ai). `none`: refused. Default `file`.
   */
  readonly documentInput: "file" | "file_or_url" | "document_url" | "file_url" | "none";
  /** Whether only `[DONE]` ends a stream. Otherwise a normal close after a `finish_reason` does too. Default false. */
  readonly requireDone: boolean;
  /** Whether an answer without a `finish_reason` is an error. Otherwise `[DONE]` alone ends a stream. Default true. */
  readonly requireFinishReason: boolean;
  /** Whether a 400 without a body means that the prompt is too long (Cerebras). Default false. */
  readonly emptyErrorIsOverflow: boolean;
  /** Header of the key. Default `authorization`, as a bearer token. */
  readonly keyHeader: "authorization" | "api-key";
  /** Provider under which the catalog has the server's models. Default undefined: the catalog has none. */
  readonly catalog: string | undefined;
}
