/** The failure reports of servers of the Chat Completions API ("Error codes"), in the shape of each server. */
import type { ErrorObject as OpenAIErrorObject } from "openai/resources/shared";

/** Body of a failed answer, and of the chunk by which a stream reports one. */
export interface ErrorBody extends Partial<ErrorFields> {
  /** The failure: an object at OpenAI ("Error codes"), a text at xAI, Ollama and others. */
  error?: ErrorObject | string | null;
  /** A list of failures (Cloudflare documentation: "API response"). */
  errors?: ErrorObject[];
  /**
   * A text, or a list of mistakes with their paths, from FastAPI ("Handling errors") and the servers that are built
   * with it.
   */
  detail?: string | ValidationDetail[] | { message?: string; error?: string };
  /** `error` if the fields of the failure are at the top level (vLLM: "OpenAI-compatible server"; Mistral). */
  object?: string;
  /** Why a stream stopped early (Groq documentation: "Errors"). */
  x_groq?: { error?: string };
  /** Status of every answer (MiniMax documentation: "Error codes"). */
  base_resp?: BaseStatus;
  /** The texts that a filter stopped (Z.ai documentation: "Chat completion"). */
  contentFilter?: { role?: string; level?: number }[];
  /** Kind of the failure, alongside a text in `error` (Hugging Face documentation: "Text Generation Inference"). */
  error_type?: string;
  /** A word at Databricks ("Foundation Model APIs"), a number at Baidu ("Error codes"). */
  error_code?: string | number;
  /** Description of the failure (Baidu documentation: "Error codes"). */
  error_msg?: string;
  /** Description of the failure by RFC 9457, which NVIDIA's servers follow. */
  title?: string;
  /** Apigee, a gateway in front of some servers ("Fault handling"). */
  fault?: { faultstring?: string };
}

/** `base_resp` of an answer (MiniMax documentation: "Error codes"). */
export interface BaseStatus {
  /** Zero for success. */
  status_code: number | string;
  /** Description of the failure. */
  status_msg?: string;
}

/** The fields of a failure ("Error codes"), with the types that other servers send. */
export interface ErrorFields extends Omit<OpenAIErrorObject, "code" | "message" | "param"> {
  /** A word; from some servers the HTTP status (OpenRouter, llama.cpp, vLLM), from xAI a sentence. */
  code: string | number | null;
  /** Description of the failure; from Mistral also an object with the description in `detail`. */
  message: string | { detail?: ValidationDetail[] };
  /** The invalid parameter. */
  param: string | null;
  /** The HTTP status: by name from Gemini ("Error codes"), as a number from other servers. */
  status: number | string;
  /** The HTTP status, as some proxies spell it. */
  status_code: number;
  /** The HTTP status, inside a stream (Hugging Face documentation: "Text Generation Inference"). */
  http_status_code: number;
  /** The HTTP status (Azure API Management, in front of Azure OpenAI). */
  statusCode: number;
  /** Further details from OpenRouter ("Errors"). */
  metadata: ErrorMetadata;
}

/** `error` of a failed answer. */
export type ErrorObject = Partial<ErrorFields>;

/**
 * OpenRouter's report about a failure of the server behind it, or about its moderation (OpenRouter documentation:
 * "Errors").
 */
export interface ErrorMetadata {
  /** The failure as that server reported it: the body of its answer, parsed or as text. */
  raw?: string | ErrorBody;
  /** Name of that server. */
  provider_name?: string;
  /** Why the moderation rejected the request. */
  reasons?: string[];
}

/** One entry of FastAPI's `detail` ("Handling errors"). */
export interface ValidationDetail {
  /** Path of the invalid value. */
  loc?: (string | number)[];
  /** Description of the mistake. */
  msg?: string;
  /** Kind of the mistake. */
  type?: string;
}
