/** A tool choice beyond leaving it to the model. */
export type ToolChoiceWord = "none" | "required" | "named";

/** How a request steers reasoning. */
export type ThinkingFormat =
  /** `reasoning_effort: "low"`: OpenAI, Groq, Mistral, xAI, Cerebras. */
  | "openai"
  /** `reasoning: {effort: "low"}`: OpenRouter. */
  | "openrouter"
  /** `thinking: {type: "enabled"}`, with `reasoning_effort` where the server has efforts: DeepSeek, Z.ai, Moonshot. */
  | "deepseek"
  /** `enable_thinking: true`: Qwen at Alibaba. */
  | "qwen"
  /** `chat_template_kwargs: {enable_thinking: true}`, with `reasoning_effort` where the server has efforts: vLLM, SGLang, llama.cpp. */
  | "template"
  /** Nothing steers it. */
  | "none";

/**
 * How one server's Chat Completions API differs from the others'. A quirk is a value in here and
 * never a subclass. What a field says of requests is obeyed; answers are read liberally whatever
 * it says.
 */
export interface ServerProfile {
  /** Field that limits how many tokens the model writes. OpenAI's reasoning models refuse the old name. Default `max_tokens`. */
  readonly maxTokensField: "max_tokens" | "max_completion_tokens";
  /** Role of developer messages; most servers refuse `developer`. System messages always are `system`. Default `system`. */
  readonly systemRole: "system" | "developer";
  /** Whether the server keeps answers unless it is told `store: false`. Default false. */
  readonly supportsStore: boolean;
  /** Whether `metadata` is taken; where the server stores answers, only with those that it stores. Default false. */
  readonly supportsMetadata: boolean;
  /** Whether a message may carry the `name` of its speaker. Default true. */
  readonly supportsNames: boolean;
  /** Whether `stream_options: {include_usage: true}` is taken. Servers that refuse it count unasked. Default true. */
  readonly supportsUsageInStreaming: boolean;
  /** Whether a function tool may ask for `strict`. Default false. */
  readonly supportsStrictTools: boolean;
  /** Whether tools of type `custom` are accepted; elsewhere they become functions. Default false. */
  readonly supportsCustomTools: boolean;
  /**
   * What a schema that is to be enforced must look like: OpenAI's strict mode, Mistral's, or any
   * schema, as servers take it that hold the model to a grammar. Default `any`.
   */
  readonly strictSchemas: "openai" | "mistral" | "any";
  /** Whether `response_format` takes `json_schema`. Default true. */
  readonly supportsJsonSchema: boolean;
  /** Whether `response_format` takes `json_object`. Default true. */
  readonly supportsJsonObject: boolean;
  /** Whether `parallel_tool_calls` is taken. Default true. */
  readonly supportsParallelToolCalls: boolean;
  /** What `tool_choice` takes beyond `auto`. Default all. */
  readonly toolChoices: readonly ToolChoiceWord[];
  /** Most characters of a tool's name. Default 128, the most that the contract allows. */
  readonly maxToolNameChars: number;
  /** Most entries of `stop`; infinite where there is no limit. Default 4. */
  readonly maxStopSequences: number;
  /** How reasoning is steered. Default `openai`. */
  readonly thinkingFormat: ThinkingFormat;
  /** Efforts that the server's models have; undefined where the model decides or it is not known. Default undefined. */
  readonly efforts: readonly string[] | undefined;
  /**
   * Field of a message that holds its reasoning: looked at first where several do, and written
   * where reasoning goes back. `received`: the one that it came in. Default `received`.
   */
  readonly reasoningField: "received" | "reasoning_content" | "reasoning";
  /** Whether the server takes its own reasoning back. Others refuse it, or pay for it without use. Default false. */
  readonly replayReasoning: boolean;
  /** Whether every assistant message must have its reasoning field, an empty one where it has no reasoning (DeepSeek). Default false. */
  readonly requiresReasoning: boolean;
  /** Whether an answer that begins with `<think>…</think>` is split into thinking and text. Default false. */
  readonly thinkTags: boolean;
  /** `content` of an assistant message that has none. Default null. */
  readonly emptyAssistantContent: null | "";
  /**
   * Shape of tool call ids. `forty_characters`: at most so many (OpenAI). `nine_alphanumerics`: exactly
   * nine of `[a-zA-Z0-9]` (Mistral). Ids that do not fit are hashed, the same in every turn. Default `any`.
   */
  readonly toolCallIdPattern: "any" | "forty_characters" | "nine_alphanumerics";
  /**
   * Whether the server parses the arguments of earlier calls and so refuses a conversation in
   * which a model wrote broken ones; these then go as an object that holds their text. Default true.
   */
  readonly parsesArguments: boolean;
  /** Whether a tool message may hold images and documents. Elsewhere they follow in a user message. Default false. */
  readonly supportsToolResultMedia: boolean;
  /** Media types of images that are taken; undefined where that is not known. Default undefined. */
  readonly imageTypes: readonly string[] | undefined;
  /** Form of sounds. `base64`: the text alone (Mistral). `none`: refused. Default `object`, as OpenAI has it. */
  readonly audioInput: "object" | "base64" | "none";
  /** Formats of sounds that are taken, as `input_audio.format` spells them; undefined where that is not known. Default undefined. */
  readonly audioFormats: readonly string[] | undefined;
  /**
   * Form of documents. `file`: bytes or an uploaded file, as OpenAI has it; `file_or_url`: the same,
   * with a URL in the place of the bytes (OpenRouter). `none`: refused. Default `file`.
   */
  readonly documentInput: "file" | "file_or_url" | "document_url" | "file_url" | "none";
  /** Whether only `[DONE]` ends a stream. Elsewhere a clean end after a `finish_reason` does too. Default false. */
  readonly requireDone: boolean;
  /** Whether an answer without a `finish_reason` is broken. Where not, `[DONE]` alone ends a stream. Default true. */
  readonly requireFinishReason: boolean;
  /** Whether a 400 without a body says that the prompt is too long (Cerebras). Default false. */
  readonly emptyErrorIsOverflow: boolean;
  /** Header of the key. Default `authorization`, as a bearer token. */
  readonly keyHeader: "authorization" | "api-key";
  /** Provider under which the catalog knows the server's models. Default undefined: it does not. */
  readonly catalog: string | undefined;
}
