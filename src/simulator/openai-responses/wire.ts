/** The body of `POST /v1/responses`, as far as the simulator reads it, once it has been checked. */
export interface CreateRequest {
  readonly model: string;
  readonly input?: string | readonly InputItem[];
  readonly instructions?: string | null;
  readonly previous_response_id?: string | null;
  readonly include?: readonly string[] | null;
  readonly max_output_tokens?: number | null;
  readonly max_tool_calls?: number | null;
  readonly metadata?: Readonly<Record<string, string>> | null;
  readonly parallel_tool_calls?: boolean | null;
  readonly prompt_cache_key?: string | null;
  readonly prompt_cache_retention?: string | null;
  readonly reasoning?: ReasoningSettings | null;
  readonly safety_identifier?: string | null;
  readonly service_tier?: string | null;
  readonly store?: boolean | null;
  readonly stream?: boolean | null;
  readonly stream_options?: { readonly include_obfuscation?: boolean } | null;
  readonly temperature?: number | null;
  readonly text?: TextSettings | null;
  readonly tool_choice?: string | NamedToolChoice | null;
  readonly tools?: readonly Tool[] | null;
  readonly top_logprobs?: number | null;
  readonly top_p?: number | null;
  readonly truncation?: string | null;
  readonly user?: string | null;
}

/** `reasoning` of a request. */
interface ReasoningSettings {
  readonly effort?: string | null;
  readonly summary?: string | null;
  readonly context?: string | null;
  readonly mode?: string | null;
}

/** `text` of a request. */
interface TextSettings {
  readonly format?: TextFormat | null;
  readonly verbosity?: string | null;
}

/** `text.format` of a request. */
export interface TextFormat {
  readonly type: "text" | "json_object" | "json_schema";
  readonly name?: string;
  readonly description?: string | null;
  readonly schema?: unknown;
  readonly strict?: boolean | null;
}

/** `tool_choice` where it is not a word. */
export interface NamedToolChoice {
  readonly type: string;
  readonly name?: string;
  readonly mode?: string;
  readonly tools?: readonly { readonly type: string; readonly name?: string }[];
}

/** One of `tools`. */
export interface Tool {
  readonly type: string;
  readonly name?: string;
  readonly description?: string | null;
  readonly parameters?: unknown;
  readonly strict?: boolean | null;
  readonly partial_images?: number;
  readonly [field: string]: unknown;
}

/** One of `input`. Which fields are set depends on the type, which is `message` where it is missing. */
export interface InputItem {
  readonly type?: string;
  readonly id?: string | null;
  readonly role?: string;
  readonly content?: string | readonly ContentPart[];
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly output?: string | readonly ContentPart[];
  readonly summary?: readonly { readonly text: string }[];
  readonly encrypted_content?: string | null;
}

/** Part of a message or of a tool's output. */
export interface ContentPart {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly image_url?: string | null;
  readonly file_id?: string | null;
  readonly file_url?: string | null;
  readonly file_data?: string | null;
  readonly filename?: string | null;
}

/** An item of `output`. */
export type OutputItem = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string };

/** The response object, in whatever state. */
export type ResponseObject = Readonly<Record<string, unknown>> & { readonly id: string };
