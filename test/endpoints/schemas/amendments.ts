import type { Amendment, Schema } from "./closed-schemas.ts";

const text = { type: "string" };
const number = { type: "number" };
const boolean = { type: "boolean" };

/** Random characters that pad an event, so that its size does not reveal the delta ("Streaming", `stream_options`). */
const padded: Amendment = { properties: { obfuscation: text } };

/** The text that a source says, if the provider reports it: an extension of the sidecar. */
const quoted: Amendment = { properties: { cited_text: text } };

const call: Amendment = { properties: { async: boolean, caller: {} } };

function orNull(schema: Schema): Schema {
  return { anyOf: [schema, { type: "null" }] };
}

function reference(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * Differences between the API and its published description: properties of OpenAI's SDK, which is newer, and of
 * recorded answers.
 */
export const amendments: Readonly<Record<string, Amendment>> = {
  Response: {
    properties: {
      access_programs: {},
      billing: { type: "object", properties: { payer: text } },
      frequency_penalty: number,
      image: {},
      input_transformations: {},
      moderation: {},
      presence_penalty: number,
      prompt_cache_diagnostics: {},
      prompt_cache_key: orNull(text),
      prompt_cache_options: {},
      safety_identifier: orNull(text),
      store: orNull(boolean),
      tool_usage: {},
      usage: orNull(reference("ResponseUsage")),
      user: orNull(text),
      // An extension of the sidecar: the parts of a request that had no effect.
      warnings: {
        type: "array",
        items: { type: "object", properties: { code: text, param: text, message: text } },
      },
    },
  },
  UrlCitationBody: quoted,
  FileCitationBody: quoted,
  // Codes for failures: some are sent by the API, the others by the sidecar only.
  ResponseErrorCode: {
    values: [
      "access_denied",
      "cancelled",
      "configuration",
      "content_filter",
      "context_length_exceeded",
      "insufficient_quota",
      "invalid_api_key",
      "model_not_found",
      "timeout",
      "unsupported_value",
    ],
  },
  // The API sends the members under `error`, as Open Responses has them. The sidecar sends both forms.
  ResponseErrorEvent: {
    properties: {
      error: {
        type: "object",
        properties: { type: text, code: orNull(text), message: text, param: orNull(text) },
        required: ["type", "code", "message", "param"],
        additionalProperties: false,
      },
    },
  },
  Reasoning: { properties: { context: orNull(text), mode: orNull(text) } },
  ResponseUsage: {
    properties: {
      input_tokens_details: {
        type: "object",
        properties: { cached_tokens: { type: "integer" }, cache_write_tokens: { type: "integer" } },
        required: ["cached_tokens"],
      },
    },
  },
  TextResponseFormatJsonSchema: { properties: { description: orNull(text) } },
  FunctionTool: { properties: { allowed_callers: {}, async: boolean, output_schema: {} } },
  CustomToolParam: { properties: { allowed_callers: {} } },
  WebSearchToolCall: { optional: ["action"] },
  ImageGenToolCall: {
    properties: {
      action: {},
      background: {},
      output_format: text,
      quality: text,
      revised_prompt: orNull(text),
      size: text,
      url: text,
    },
  },
  FunctionToolCall: call,
  CustomToolCall: call,
  ResponseFunctionCallArgumentsDoneEvent: { optional: ["name"] },
  ResponseReasoningSummaryPartDoneEvent: { properties: { status: text } },
  ResponseTextDeltaEvent: padded,
  ResponseRefusalDeltaEvent: padded,
  ResponseReasoningTextDeltaEvent: padded,
  ResponseReasoningSummaryTextDeltaEvent: padded,
  ResponseFunctionCallArgumentsDeltaEvent: padded,
  ResponseCustomToolCallInputDeltaEvent: padded,
  ResponseMCPCallArgumentsDeltaEvent: padded,
  ResponseCodeInterpreterCallCodeDeltaEvent: padded,
};
