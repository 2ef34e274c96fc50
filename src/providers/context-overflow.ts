/** The ways in which providers say that a conversation is too long for the model: one table for all wire APIs. */

/** The parts of a failure that may say so. */
export interface OverflowReport {
  /** The codes and types that the provider gives; empty ones count as none. */
  readonly codes: readonly string[];
  /** The provider's message; empty if it repeats the caller's text. */
  readonly message: string;
  /** The HTTP status; undefined inside a stream. */
  readonly status: number | undefined;
}

/**
 * Reports whether a failure means that the conversation is too long: by a specific code, else by the message, unless a
 * code names another problem.
 */
export function isContextOverflow({ codes, message, status }: OverflowReport): boolean {
  if (codes.some((code) => OVERFLOW_CODES.has(code.toLowerCase()))) return true;
  const isOpen = codes.every((code) => GENERAL_CODE.test(code)) && isOverflowStatus(status);
  return isOpen && OVERFLOW_TEXT.test(message) && !RATE_TEXT.test(message);
}

/** Codes in lower case. */
const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  "context_length_exceeded",
  "context_window_exceeded",
  "contextwindowexceedederror",
  "exceed_context_size_error", // llama.cpp
  "too_many_prompt_tokens", // Perplexity
  "tokens_limit_reached", // GitHub Models
]);

/** Codes that only mean that a request is invalid or that a server failed, and statuses given as codes. */
const GENERAL_CODE =
  /^(?:\d{3,5}|error|unknown_error|.*(?:invalid[_ ]?(?:request|argument|param)|bad[_ ]?request|validation).*|(?:api|server)_error|internal(?:_server_?|server)?_?error)?$/i;

/** Servers disagree on the status: 413 and 422 are used, and 500 by LiteLLM and older llama.cpp. */
function isOverflowStatus(status: number | undefined): boolean {
  return status === undefined || [400, 413, 422, 500].includes(status);
}

/** Words of a limit on tokens over time, which some servers report in the same words. */
const RATE_TEXT = /rate.?limit|too many requests|throttl|tokens per (?:minute|day)/i;

/** Case-insensitive. Each pattern names the servers that use it; other servers use several of these too. */
const OVERFLOW_TEXT = new RegExp(
  [
    "prompt is too long", // Anthropic, Fireworks
    "exceeds? (?:the )?context (?:limit|window)", // Anthropic, OpenAI's Responses API
    "input is too long", // Bedrock
    "too many input tokens", // Bedrock
    "input token count .{0,80}(?:exceeds the maximum|only supports up to)", // Gemini, Vertex AI
    "maximum prompt length is \\d+", // xAI
    "maximum context length (?:of|is|:) ?\\d+", // OpenAI, DeepSeek, OpenRouter, vLLM, SGLang, Fireworks
    "\\d+ maximum context length", // Mistral
    "exceeds (?:the |model's )?(?:maximum )?context length", // Ollama, SGLang
    "max(?:imum)? context length by \\d+", // Ollama
    "longer than the (?:maximum model length|model's context length)", // vLLM, SGLang
    "exceeds the available context size", // llama.cpp
    "context size has been exceeded", // llama.cpp, while it writes
    "greater than the context length", // LM Studio
    "context length of only \\d+", // LM Studio
    "context window exceed", // LiteLLM, MiniMax
    "contextwindowexceedederror", // LiteLLM
    "reduce the length of (?:the )?(?:messages|prompt|input)", // OpenAI, Groq, Cerebras
    "prompt too long; exceeded", // Ollama
    "exceeded model token limit", // Moonshot
    "prompt exceeds max(?:imum)? length", // Z.ai
    "range of input length should be", // DashScope
    "`?inputs`? tokens \\+ `?max_new_tokens`? must be <=", // Together, Hugging Face
    "context[_ ]length[_ ]exceeded", // DeepInfra and others, in words
    "too many (?:prompt )?tokens", // Cohere, Perplexity
    "token limit exceeded", // Novita and others
  ].join("|"),
  "i",
);
