/**
 * Answers of the Chat Completions API. The types come from OpenAI ("The chat completion object" in its API reference).
 * Fields that compatible servers add are here alongside these, with the documentation that describes them.
 */
import type {
  ChatCompletion,
  ChatCompletionTokenLogprob,
} from "openai/resources/chat/completions/completions";
import type { CompletionUsage } from "openai/resources/completions";
import type { BaseStatus, ErrorObject } from "./error.ts";
import type { Delta, Message } from "./message.ts";

/** A whole answer ("The chat completion object"). */
export interface Completion
  extends Omit<ChatCompletion, "choices" | "system_fingerprint" | "usage">,
    CompletionExtensions {
  /** The answers; several if the request has an `n`. */
  choices: Choice[];
  /** Identifies the configuration of the server; null for OpenAI's reasoning models. */
  system_fingerprint?: string | null;
  /** Token counts. */
  usage?: Usage | null;
}

/** Fields that servers other than OpenAI send alongside the choices, in a whole answer and in a chunk alike. */
export interface CompletionExtensions {
  /** URLs that the text refers to by number (Perplexity documentation: "Chat completions"; xAI: "Live search"). */
  citations?: string[];
  /** The results of a search (Perplexity documentation: "Chat completions"). */
  search_results?: SearchResult[];
  /** The results of a search (Z.ai documentation: "Chat completion"). */
  web_search?: WebPage[];
  /** Groq ("Text generation", "Streaming"). */
  x_groq?: { id?: string; usage?: Usage; error?: string };
  /** Status of the answer (MiniMax documentation: "Error codes"). */
  base_resp?: BaseStatus;
  /** Whether a filter objects to the prompt (MiniMax documentation: "Chat Completions"). */
  input_sensitive?: boolean;
  /** Whether a filter objects to the answer (MiniMax documentation: "Chat Completions"). */
  output_sensitive?: boolean;
  /** Id of the exchange (Z.ai documentation: "Chat completion"). */
  request_id?: string;
  /** The failure that ended an answer (OpenRouter documentation: "Errors"). */
  error?: ErrorObject | string | null;
}

/** One of `search_results` (Perplexity documentation: "Chat completions"). */
export interface SearchResult {
  /** Title of the page. */
  title?: string;
  /** Its address. */
  url?: string;
  /** Text of the page. */
  snippet?: string;
  /** When it was published. */
  date?: string;
}

/** One of `web_search` (Z.ai documentation: "Chat completion"). */
export interface WebPage {
  /** Title of the page. */
  title?: string;
  /** Its address. */
  link?: string;
  /** Text of the page. */
  content?: string;
  /** The mark by which the text refers to it: `ref_1`. */
  refer?: string;
}

/** Fields by which servers other than OpenAI explain why a choice ended, alongside `finish_reason`. */
export interface StopExtensions {
  /** The stop sequence or the id of the token that ended it (vLLM documentation: "OpenAI-Compatible Server"). */
  stop_reason?: string | number | null;
  /** The same (SGLang documentation: "OpenAI APIs - Completions"). */
  matched_stop?: string | number | null;
}

/** One of `choices` ("The chat completion object"). */
export interface Choice
  extends Omit<ChatCompletion.Choice, "finish_reason" | "logprobs" | "message">,
    StopExtensions {
  /** The model's output. */
  message: Message;
  /** Perplexity sends an empty one alongside the message. */
  delta?: Delta;
  /** Why it ended. Servers add values, and some omit it. */
  finish_reason?: string | null;
  /** Log probabilities of the tokens; OpenAI's reasoning models do not have the field. */
  logprobs?: Logprobs | null;
  /** Token counts (Moonshot documentation: "Chat", `usage` of a choice). */
  usage?: Usage;
  /** The failure that ended this answer (OpenRouter documentation: "Errors"). */
  error?: ErrorObject;
}

/** Log probabilities of a choice ("The chat completion object", `logprobs`). */
export interface Logprobs {
  /** Of the tokens of `content`. */
  content: TokenLogprob[] | null;
  /** Of the tokens of `refusal`. */
  refusal: TokenLogprob[] | null;
}

/** Log probability of a token ("The chat completion object", `logprobs`). */
export type TokenLogprob = ChatCompletionTokenLogprob;

/** Log probability of a token that the model might have chosen ("The chat completion object", `logprobs`). */
export type TopLogprob = ChatCompletionTokenLogprob.TopLogprob;

/** Token counts ("The chat completion object", `usage`), with the names that other servers have for them. */
export interface Usage
  extends Omit<CompletionUsage, "completion_tokens_details" | "prompt_tokens_details">,
    Partial<ServerUsage> {
  /** Details of the output tokens. */
  completion_tokens_details?: CompletionUsage.CompletionTokensDetails;
  /** Details of the prompt tokens. */
  prompt_tokens_details?: PromptTokensDetails;
}

/** Details of the prompt tokens ("The chat completion object", `usage`). */
export interface PromptTokensDetails extends CompletionUsage.PromptTokensDetails {
  /** Tokens written to the cache (Alibaba Model Studio documentation: "Context cache"). */
  cache_creation_input_tokens?: number;
}

/** Counts that servers other than OpenAI have. */
export interface ServerUsage {
  /** `prompt_tokens` by its name in OpenAI's Responses API, which some proxies use. */
  input_tokens: number;
  /** `completion_tokens` by its name in OpenAI's Responses API. */
  output_tokens: number;
  /** `prompt_tokens_details` by its name in OpenAI's Responses API. */
  input_tokens_details: PromptTokensDetails;
  /** `completion_tokens_details` by its name in OpenAI's Responses API. */
  output_tokens_details: CompletionUsage.CompletionTokensDetails;
  /** Tokens of reasoning (Perplexity documentation: "Chat completions"). */
  reasoning_tokens: number;
  /** DeepSeek ("Context caching"). */
  prompt_cache_hit_tokens: number;
  /** DeepSeek ("Context caching"). */
  prompt_cache_miss_tokens: number;
  /** Moonshot ("Chat"), Together. */
  cached_tokens: number;
  /** Mistral ("Chat completion"). */
  num_cached_tokens: number;
  /** Anthropic's name, which proxies pass on. */
  cache_read_input_tokens: number;
  /** Anthropic's name, which proxies pass on. */
  cache_creation_input_tokens: number;
  /** In dollars: OpenRouter ("Usage accounting"); an object at Perplexity ("Chat completions"). */
  cost: number | { total_cost?: number };
  /** In 1e-10 dollars: xAI ("Chat completions"). */
  cost_in_usd_ticks: number;
  /** Whether a key of the caller was used: OpenRouter ("Usage accounting"). */
  is_byok: boolean;
}
