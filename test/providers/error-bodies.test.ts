/** Failures that every wire API may get from the provider's server or from a proxy before the provider. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { SDKError } from "../../src/core/errors.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import type { WireFailure } from "../../src/kit/adapter/http-adapter.ts";
import { createHeaders } from "../../src/kit/http/headers.ts";
import { toError as anthropicError } from "../../src/providers/anthropic-messages/error.ts";
import { toError as geminiError } from "../../src/providers/gemini/error.ts";
import { toError as chatError } from "../../src/providers/openai-chat/error.ts";
import { getProfile } from "../../src/providers/openai-chat/profiles.ts";
import { toError as responsesError } from "../../src/providers/openai-responses/error.ts";

interface WireFormat {
  readonly name: string;
  readonly toError: (failure: WireFailure) => SDKError;
  /** A failure in the API's format, with the code for an invalid request. */
  readonly body: (message: string) => object;
}

const openai = (message: string) => ({
  error: { message, type: "invalid_request_error", param: null, code: "invalid_request_error" },
});

const FORMATS: readonly WireFormat[] = [
  { name: "openai-responses", toError: responsesError, body: openai },
  {
    name: "anthropic-messages",
    toError: anthropicError,
    body: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  },
  {
    name: "gemini",
    toError: geminiError,
    body: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  },
  {
    name: "openai-chat",
    toError: (failure) => chatError(failure, getProfile(undefined, "http://localhost")),
    body: openai,
  },
];

function failure({ toError }: WireFormat, status: number, body: string | object): SDKError {
  return toError({
    provider: "p",
    status,
    headers: createHeaders({}),
    body: typeof body === "string" ? body : JSON.stringify(body),
    request: create(RequestSchema, { model: "m" }),
  });
}

/** The messages with which servers report that a conversation is too long. */
const OVERFLOWS: readonly (readonly [server: string, message: string])[] = [
  ["OpenAI", "Your input exceeds the context window of this model. Please adjust your input and try again."],
  [
    "OpenAI's Chat Completions",
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 180000 tokens. Please reduce the length of the messages.",
  ],
  [
    "Azure",
    "This model's maximum context length is 16385 tokens. However, you requested 17000 tokens (16900 in the messages, 100 in the completion).",
  ],
  [
    "DeepSeek",
    "This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (136000 in the messages, 4000 in the completion).",
  ],
  ["Perplexity", "Your prompt has too many prompt tokens for this model."],
  ["llama.cpp", "the request exceeds the available context size (4096 tokens), try increasing it"],
  ["llama.cpp while it writes", "Context size has been exceeded."],
  [
    "llama.cpp, later",
    "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
  ],
  [
    "LiteLLM",
    "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - too long",
  ],
  ["LiteLLM, its router", "litellm.BadRequestError: Context Window exceeded for model group"],
  [
    "vLLM",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages",
  ],
  [
    "vLLM, later",
    "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
  ],
  ["SGLang", "The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
  ["SGLang, later", "Requested token count exceeds the model's maximum context length of 4096 tokens."],
  ["Ollama", "prompt too long; exceeded max context length by 9 tokens"],
  ["Ollama's embedding", "the input length exceeds the context length"],
  ["LM Studio", "The number of tokens to keep from the initial prompt is greater than the context length"],
  ["Groq", "Please reduce the length of the messages or completion."],
  [
    "Mistral",
    "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
  ],
  [
    "Together",
    "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`",
  ],
  ["Anthropic", "prompt is too long: 213462 tokens > 200000 maximum"],
  [
    "Anthropic with its output",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
  ],
  ["Bedrock", "The model returned the following errors: Input is too long for requested model."],
  ["Bedrock's Titan", "Too many input tokens. Max input tokens: 8192, request input token count: 9000"],
  ["Gemini", "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."],
  [
    "Vertex AI",
    "Unable to submit request because the input token count is 40000 but the model only supports up to 32768.",
  ],
  ["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ["Cohere", "too many tokens: total number of tokens in this request cannot exceed 128000"],
  [
    "Cerebras",
    "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
  ],
  ["Fireworks", "The prompt is too long: 140000, model maximum context length: 131071"],
  [
    "OpenRouter",
    "This endpoint's maximum context length is 4096 tokens. However, you requested about 5000 tokens",
  ],
  ["Moonshot", "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)"],
  ["MiniMax", "invalid params, context window exceeds limit (2013)"],
  ["DashScope", "Range of input length should be [1, 30720]"],
  ["Z.ai", "Prompt exceeds max length"],
];

/** Messages in similar words about something else. */
const OTHERS: readonly string[] = [
  "Unsupported value: 'max_tokens' is above the maximum of 8192.",
  "Rate limit reached: too many tokens per minute.",
  "ThrottlingException: Too many tokens, please wait before trying again.",
  "Invalid 'input[0].name': string too long. Expected a string with maximum length 64.",
  "The context of the tool call is missing.",
];

describe.each(FORMATS)("a failed answer over $name", (format) => {
  it.each(OVERFLOWS)("is CONTEXT_LENGTH in the words of %s alongside a general code", (_server, message) => {
    for (const status of [400, 413, 422])
      expect(failure(format, status, format.body(message)).kind).toBe(ErrorKind.CONTEXT_LENGTH);
    // A proxy may send the words as plain text.
    expect(failure(format, 400, message).kind).toBe(ErrorKind.CONTEXT_LENGTH);
  });

  it.each(OTHERS)("is an invalid request in other words: %s", (message) => {
    expect(failure(format, 400, format.body(message)).kind).toBe(ErrorKind.INVALID_REQUEST);
  });

  it("keeps the kind of a status that is about something else", () => {
    const [, message] = OVERFLOWS[1] ?? ["", ""];
    expect(failure(format, 429, { error: { message } }).kind).toBe(ErrorKind.RATE_LIMIT);
    expect(failure(format, 404, { error: { message } }).kind).toBe(ErrorKind.NOT_FOUND);
  });

  it("has the bounded text of a body that is not JSON", () => {
    expect(failure(format, 502, "upstream connect error\n or disconnect").message).toBe(
      "p answered 502: upstream connect error or disconnect",
    );
    expect(failure(format, 500, "x".repeat(9000)).message).toHaveLength("p answered 500: ".length + 500);
  });

  it("has the title of an HTML page, and is empty for an empty body", () => {
    const page = "<!DOCTYPE html><html><head><title>503 Busy</title></head><body>secret</body></html>";
    expect(failure(format, 503, page).message).toBe("p answered 503: an HTML page: 503 Busy");
    expect(failure(format, 503, "<html></html>").message).toBe("p answered 503: an HTML page");
    expect(failure(format, 503, "").message).toBe("p answered 503");
  });
});

describe("a separate code for an overflow", () => {
  const [responses, anthropic, , chat] = FORMATS;

  it.each([
    ["context_length_exceeded", "code"],
    ["exceed_context_size_error", "type"],
    ["too_many_prompt_tokens", "type"],
    ["ContextWindowExceededError", "type"],
  ])("is CONTEXT_LENGTH whatever the message says: %s as %s", (code, field) => {
    for (const format of [responses, chat]) {
      if (format === undefined) throw new Error("no such format");
      const error = { message: "no", type: "invalid_request_error", code: "400", [field]: code };
      expect(failure(format, 400, { error }).kind).toBe(ErrorKind.CONTEXT_LENGTH);
    }
    if (anthropic === undefined) throw new Error("no such format");
    const error = { message: "no", type: code };
    expect(failure(anthropic, 400, { type: "error", error }).kind).toBe(ErrorKind.CONTEXT_LENGTH);
  });
});
