/**
 * What the Chat Completions API answers with. The types are OpenAI's own ("The chat completion object" in its API
 * reference); what compatible servers add is here beside them, with the documentation that describes it.
 */
import type {
  ChatCompletion,
  ChatCompletionMessage,
  ChatCompletionMessageCustomToolCall,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionTokenLogprob,
} from "openai/resources/chat/completions/completions";
import type { CompletionUsage } from "openai/resources/completions";
import type { ErrorObject } from "./error.ts";
import type { ReasoningParam, RefusalPart, TextPart } from "./request.ts";
import type { Delta } from "./stream.ts";

/** A whole answer ("The chat completion object"). */
export interface Completion
  extends Omit<ChatCompletion, "choices" | "system_fingerprint" | "usage">,
    CompletionExtensions {
  /** The answers; several where the request has an `n`. */
  choices: Choice[];
  /** Identifies the configuration of the server; null for OpenAI's reasoning models. */
  system_fingerprint?: string | null;
  /** Token counts. */
  usage?: Usage | null;
}

/** What servers other than OpenAI say beside the choices, of a whole answer and of a chunk alike. */
export interface CompletionExtensions {
  /** URLs that the text refers to by number (Perplexity documentation: "Chat completions"; xAI: "Live search"). */
  citations?: string[];
  /** What was found (Perplexity documentation: "Chat completions"). */
  search_results?: SearchResult[];
  /** Groq ("Text generation", "Streaming"). */
  x_groq?: { id?: string; usage?: Usage; error?: string };
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

/** One of `choices` ("The chat completion object"). */
export interface Choice extends Omit<ChatCompletion.Choice, "finish_reason" | "logprobs" | "message"> {
  /** What the model wrote. */
  message: Message;
  /** Empty, beside the message (Perplexity). */
  delta?: Delta;
  /** Why it ended. Servers add values; left out by some. */
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

/** What the model wrote ("The chat completion object", `message`). */
export interface Message
  extends Omit<ChatCompletionMessage, "annotations" | "content" | "tool_calls">,
    MessageExtensions {
  /** A text; at Mistral ("Reasoning") also a list of parts, at Cloudflare ("JSON mode") also a JSON object. */
  content: string | AnswerPart[] | object | null;
  /** Sources that the text refers to. */
  annotations?: Annotation[];
  /** What the model calls. */
  tool_calls?: ToolCall[];
}

/** What servers other than OpenAI have in a message and in a delta alike. */
export interface MessageExtensions extends ReasoningParam {
  /** GitHub Copilot's name of the reasoning. */
  reasoning_text?: string | null;
  /** Images that the model made (OpenRouter documentation: "Image generation"). */
  images?: GeneratedImage[];
}

/** A part of the content where it is a list (Mistral documentation: "Reasoning"). */
export type AnswerPart = string | TextPart | RefusalPart | ThinkPart;

/** Reasoning as a part of a content list (Mistral documentation: "Reasoning", `ThinkChunk`). */
export interface ThinkPart {
  /** Discriminates the parts. */
  type: "thinking";
  /** What it says: texts, and references to sources. */
  thinking: (TextPart | { type: string })[] | string;
  /** Proves that the model wrote it. */
  signature?: string | null;
  /** Whether the part is complete. */
  closed?: boolean;
}

/** One of `annotations` ("The chat completion object", `annotations`). What it says is under the name of its type. */
export interface Annotation {
  /** `url_citation`; servers add others. */
  type: string;
  /** A page of the web. */
  url_citation?: UrlCitation;
}

/** A page of the web that the text cites ("The chat completion object", `annotations`). */
export interface UrlCitation extends ChatCompletionMessage.Annotation.URLCitation {
  /** Text of the page (OpenRouter documentation: "Web search"). */
  content?: string;
}

/** A file that the text cites ("Responses API", `file_citation`; proxies pass it on in annotations). */
export interface FileCitation {
  /** Id of the file. */
  file_id?: string;
  /** Its name. */
  filename?: string;
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

/** What servers other than OpenAI have in a tool call. */
export interface ToolCallExtensions {
  /** Thought signature of the call (Gemini documentation: "Thought signatures", "OpenAI compatibility"). */
  extra_content?: { google?: { thought_signature?: string } };
}

/** The call of a function before there were tools ("The chat completion object", `function_call`, deprecated). */
export type FunctionCall = ChatCompletionMessage.FunctionCall;

/** One of `images` (OpenRouter documentation: "Image generation"). */
export interface GeneratedImage {
  /** `image_url`. */
  type?: string;
  /** Where it is, mostly a data: URL. Some servers send the URL alone. */
  image_url: { url: string; detail?: string } | string;
  /** Position among the images. */
  index?: number;
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
  /** Whose format the signature or data has. */
  format?: string | null;
  /** Position among the details. Pieces of one detail in a stream have the same. */
  index?: number;
  /** Id of the detail. */
  id?: string | null;
}

/** Token counts ("The chat completion object", `usage`), with the names that other servers have for them. */
export interface Usage
  extends Omit<CompletionUsage, "completion_tokens_details" | "prompt_tokens_details">,
    Partial<ServerUsage> {
  /** What the written tokens were. */
  completion_tokens_details?: CompletionUsage.CompletionTokensDetails;
  /** What the tokens of the prompt were. */
  prompt_tokens_details?: PromptTokensDetails;
}

/** What the tokens of the prompt were ("The chat completion object", `usage`). */
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
  /** Whether the caller's own key was used: OpenRouter ("Usage accounting"). */
  is_byok: boolean;
}
