/** The events of a stream of the Chat Completions API ("Streaming", "The chat completion chunk object"). */
import type { ChatCompletionChunk } from "openai/resources/chat/completions/completions";
import type { ErrorObject } from "./error.ts";
import type {
  Annotation,
  AnswerPart,
  Choice,
  Completion,
  CompletionExtensions,
  Logprobs,
  Message,
  MessageExtensions,
  ToolCallExtensions,
  Usage,
} from "./response.ts";

/** Data of the event that ends a stream ("Streaming"). */
export const END_OF_STREAM = "[DONE]";

/** Data of each other event of a stream ("The chat completion chunk object"). */
export interface CompletionChunk
  extends Omit<ChatCompletionChunk, "choices" | "system_fingerprint" | "usage">,
    CompletionExtensions {
  /** What is added to the answers; empty in a chunk that has only the usage. */
  choices: ChunkChoice[];
  /** Identifies the configuration of the server; null for OpenAI's reasoning models. */
  system_fingerprint?: string | null;
  /** Token counts, in the last chunk where the request asks for them; null in those before it. */
  usage?: Usage | null;
}

/** A whole answer, or a chunk of a stream. */
export type AnyCompletion = Completion | CompletionChunk;

/** One of `choices`, of a whole answer or of a chunk. */
export type AnyChoice = Choice | ChunkChoice;

/** What a choice holds: the message of a whole answer, or the delta of a chunk. */
export type AnyMessage = Message | Delta;

/** One of `choices` ("The chat completion chunk object"). */
export interface ChunkChoice
  extends Omit<ChatCompletionChunk.Choice, "delta" | "finish_reason" | "logprobs"> {
  /** What is added to the message. */
  delta: Delta;
  /** The message so far, beside the delta (Perplexity). */
  message?: Message;
  /** Why the answer ended, in its last chunk. Servers add values. */
  finish_reason?: string | null;
  /** Log probabilities of the tokens in the delta. */
  logprobs?: Logprobs | null;
  /** Token counts (Moonshot documentation: "Chat", `usage` of a choice). */
  usage?: Usage;
  /** The failure that ended this answer (OpenRouter documentation: "Errors"). */
  error?: ErrorObject;
}

/**
 * What a chunk adds to a message ("The chat completion chunk object", `delta`). Some servers send null for "nothing".
 */
export interface Delta
  extends Omit<ChatCompletionChunk.Choice.Delta, "content" | "role" | "tool_calls">,
    MessageExtensions {
  /** A piece of text; at Mistral ("Reasoning") also a list of parts. */
  content?: string | AnswerPart[] | null;
  /** Role of the author, in the first chunk. */
  role?: ChatCompletionChunk.Choice.Delta["role"] | null;
  /** Sources that the text refers to (OpenRouter documentation: "Web search"). */
  annotations?: Annotation[];
  /** Pieces of tool calls. */
  tool_calls?: ToolCallDelta[] | null;
}

/** A piece of a tool call ("The chat completion chunk object", `delta.tool_calls`). */
export interface ToolCallDelta
  extends Omit<ChatCompletionChunk.Choice.Delta.ToolCall, "function" | "index">,
    ToolCallExtensions {
  /** Which call it belongs to; left out by some servers. */
  index?: number;
  /** Name and a piece of the arguments. Arguments are JSON text; some servers send the object itself. */
  function?: { name?: string; arguments?: string | object };
}

/** Audio of an answer, whole or a piece of it ("The chat completion chunk object"; "Audio and speech"). */
export type AudioDelta = ChatCompletionChunk.Choice.Delta.Audio;
