import type { FunctionTool, ReasoningSettings, Tool } from "../../src/wire/openai-responses/request.ts";
import type { ResponseObject } from "../../src/wire/openai-responses/response.ts";
import { makeStrict } from "../openai/strict-schema.ts";
import type { CheckedRequest } from "./checked-request.ts";

/**
 * Settings as an answer repeats them: the settings within `text` and `tools` are null if a request does not set them.
 */
export interface EchoedSettings extends Partial<Omit<ResponseObject, "output" | "text" | "tools">> {
  readonly text?: object;
  readonly tools?: readonly object[];
}

/**
 * Returns the settings of a request as its answer repeats them, with OpenAI's defaults filled in. `reasons`: whether
 * the model is a reasoning model; other models have no such settings.
 */
export function echoSettings(request: CheckedRequest, reasons: boolean): EchoedSettings {
  return {
    frequency_penalty: 0,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    moderation: null,
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    presence_penalty: 0,
    previous_response_id: request.previous_response_id ?? null,
    prompt_cache_key: request.prompt_cache_key ?? null,
    prompt_cache_retention: request.prompt_cache_retention ?? "24h",
    reasoning: echoReasoning(request, reasons),
    safety_identifier: request.safety_identifier ?? null,
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: echoText(request),
    tool_choice: request.tool_choice ?? "auto",
    tools: (request.tools ?? []).map(echoTool),
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? 0.98,
    truncation: request.truncation ?? "disabled",
    user: request.user ?? null,
  };
}

function echoReasoning({ reasoning }: CheckedRequest, reasons: boolean): ReasoningSettings {
  if (!reasons && !reasoning) return { context: null, effort: null, summary: null };
  const { context, effort, mode, summary } = reasoning ?? {};
  return {
    context: context === "current_turn" ? context : "all_turns",
    effort: effort ?? "medium",
    mode: mode ?? "standard",
    summary: summary ?? null,
  };
}

function echoText({ text }: CheckedRequest): object {
  const format = text?.format ?? { type: "text" };
  const echoed = format.type === "json_schema" ? { description: null, strict: false, ...format } : format;
  return { format: echoed, verbosity: text?.verbosity ?? "medium" };
}

function echoTool(tool: Tool): object {
  switch (tool.type) {
    case "function":
      return echoFunction(tool);
    case "web_search":
      return { filters: null, search_context_size: "medium", user_location: usualLocation, ...tool };
    case "image_generation":
      return {
        background: "auto",
        moderation: "auto",
        n: 1,
        output_format: "png",
        quality: "auto",
        size: "auto",
        ...tool,
      };
    default:
      return tool;
  }
}

const usualLocation = {
  type: "approximate",
  city: null,
  country: "US",
  region: null,
  timezone: null,
};

/** A function whose `strict` is unset becomes strict if its schema allows it. */
function echoFunction(tool: FunctionTool): object {
  const strict = typeof tool.strict === "boolean" ? undefined : makeStrict(tool.parameters);
  return {
    ...tool,
    description: tool.description ?? null,
    output_schema: null,
    parameters: strict ?? tool.parameters ?? null,
    strict: tool.strict ?? strict !== undefined,
  };
}
