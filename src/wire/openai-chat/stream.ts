/** The events of a stream of the Chat Completions API ("Streaming", "The chat completion chunk object"). */
import type { ChatCompletionChunk } from "openai/resources/chat/completions/completions";
import type { ErrorObject } from "./error.ts";
import type { Delta, Message } from "./message.ts";
import type {
  Choice,
  Completion,
  CompletionExtensions,
  Logprobs,
  StopExtensions,
  Usage,
} from "./response.ts";

/** Data of the event that ends a stream ("Streaming"). */
export const END_OF_STREAM = "[DONE]";

/** Data of each other event of a stream ("The chat completion chunk object"). */
export interface CompletionChunk
  extends Omit<ChatCompletionChunk, "choices" | "system_fingerprint" | "usage">,
    CompletionExtensions {
  /** The additions to the answers; empty in a chunk that has only the usage. */
  choices: ChunkChoice[];
  /** Identifies the configuration of the server; null for OpenAI's reasoning models. */
  system_fingerprint?: string | null;
  /** Token counts, in the last chunk if the request asks for them; null in earlier ones. */
  usage?: Usage | null;
}

/** A whole answer, or a chunk of a stream. */
export type AnyCompletion = Completion | CompletionChunk;

/** One of `choices`, of a whole answer or of a chunk. */
export type AnyChoice = Choice | ChunkChoice;

/** One of `choices` ("The chat completion chunk object"). */
export interface ChunkChoice
  extends Omit<ChatCompletionChunk.Choice, "delta" | "finish_reason" | "logprobs">,
    StopExtensions {
  /** The addition to the message. */
  delta: Delta;
  /** The message so far, alongside the delta (Perplexity). */
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
