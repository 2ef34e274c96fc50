/**
 * The parts that messages of a request and messages of an answer have in common: texts, reasoning, tool calls, images.
 */
import type {
  ChatCompletionContentPartRefusal,
  ChatCompletionContentPartText,
  ChatCompletionMessageCustomToolCall,
  ChatCompletionMessageFunctionToolCall,
} from "openai/resources/chat/completions/completions";

/** A text in a content list ("Create chat completion", `messages`). */
export type TextPart = ChatCompletionContentPartText;

/** A refusal in a content list ("Create chat completion", `messages`, "Assistant message"). */
export type RefusalPart = ChatCompletionContentPartRefusal;

/** Reasoning as a part of a content list (Mistral documentation: "Reasoning", `ThinkChunk`). */
export interface ThinkPart {
  /** Discriminates the parts. */
  type: "thinking";
  /** Content of the reasoning: texts, and references to sources. */
  thinking: (TextPart | { type: string })[] | string;
  /** Proves that the model wrote it. */
  signature?: string | null;
  /** Whether the part is complete. */
  closed?: boolean;
}

/** The fields in which servers take reasoning back. */
export interface ReasoningParam {
  /** DeepSeek ("Thinking mode"), Moonshot, Z.ai. */
  reasoning_content?: string | null;
  /** OpenRouter ("Reasoning tokens"), Groq ("Reasoning"), Cerebras ("Reasoning"). */
  reasoning?: string | null;
  /** OpenRouter ("Reasoning tokens", "Preserving reasoning"). */
  reasoning_details?: ReasoningDetail[] | null;
  /** LiteLLM ("Reasoning content"). */
  thinking_blocks?: ThinkingBlock[] | null;
}

/** Proof that the model wrote a message, which goes back with it. */
export interface SignatureParam {
  /**
   * Thought signature of the message; in an answer also whether its content begins with thoughts (Gemini documentation:
   * "Thought signatures", "OpenAI compatibility").
   */
  extra_content?: { google?: { thought_signature?: string; thought?: boolean } } | null;
  /** The same, as proxies of Gemini pass it on. */
  thought_signature?: string | null;
  /** GitHub Copilot's state of the reasoning. */
  reasoning_opaque?: string | null;
  /** Reasoning items of OpenAI's Responses API, as LiteLLM passes them on; a stream sends them one by one. */
  reasoning_items?: object[] | null;
}

/** One of `reasoning_details` (OpenRouter documentation: "Reasoning tokens", "Preserving reasoning"). */
export interface ReasoningDetail {
  /** `reasoning.text`, `reasoning.summary`, `reasoning.encrypted`. */
  type: string;
  /** Of `reasoning.text`. */
  text?: string | null;
  /** Of `reasoning.summary`. */
  summary?: string;
  /** Of `reasoning.encrypted`. */
  data?: string;
  /** Proves that the model wrote the text. */
  signature?: string | null;
  /** Name of the provider's format of the signature or data, for instance `anthropic-claude-v1`. */
  format?: string | null;
  /** Position among the details. Pieces of one detail in a stream have the same. */
  index?: number;
  /** Id of the detail. */
  id?: string | null;
}

/** One of `thinking_blocks`, which come from Anthropic's API (LiteLLM documentation: "Reasoning content"). */
export interface ThinkingBlock {
  /** `thinking`, `redacted_thinking`. */
  type: string;
  /** Of `thinking`: its text. */
  thinking?: string;
  /** Of `thinking`: proves that the model wrote it. Empty or left out in the pieces of a stream before the last. */
  signature?: string | null;
  /** Of `redacted_thinking`: the encrypted text. */
  data?: string;
}

/** An entry of `tool_calls` ("The chat completion object", `tool_calls`). */
export type ToolCall = FunctionToolCall | CustomToolCall;

/** The call of a function ("The chat completion object", `tool_calls`). */
export interface FunctionToolCall
  extends Omit<ChatCompletionMessageFunctionToolCall, "function">,
    ToolCallExtensions {
  /** Name and arguments. Arguments are JSON text; some servers send the object itself. */
  function: { name: string; arguments: string | object };
}

/** The call of a custom tool ("The chat completion object", `tool_calls`). */
export interface CustomToolCall extends ChatCompletionMessageCustomToolCall, ToolCallExtensions {}

/** Fields that servers other than OpenAI have in a tool call. */
export interface ToolCallExtensions {
  /** Thought signature of the call (Gemini documentation: "Thought signatures", "OpenAI compatibility"). */
  extra_content?: { google?: { thought_signature?: string } };
}

/** One of `images` (OpenRouter documentation: "Image generation"). */
export interface GeneratedImage {
  /** `image_url`. */
  type?: string;
  /** Address of the image, usually a data: URL. Some servers send the URL alone. */
  image_url: { url: string; detail?: string } | string;
  /** Position among the images. */
  index?: number;
}
