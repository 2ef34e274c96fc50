/** Reads answers and failures of the four HTTP APIs by the paths of their fields, without code of the project. */
import type { ApiName } from "./features.ts";

/** The parts of an answer, and of a failure, that the tables compare. */
export type AnswerField =
  | "text"
  | "reasoning"
  | "refusal"
  | "calls"
  | "finish"
  | "inputTokens"
  | "outputTokens"
  | "cachedTokens"
  | "reasoningTokens"
  | "error"
  /** The text in an event of a stream. */
  | "delta"
  /** The failure in an event of a stream. */
  | "streamError";

/**
 * The paths of the fields. `*` is every element of a list; `(name=value)` keeps the objects in which a member has a
 * value, and `(name!=value)` the others.
 */
const PATHS: Readonly<Record<ApiName, Readonly<Record<AnswerField, readonly string[]>>>> = {
  responses: {
    text: ["output.*(type=message).content.*.text"],
    reasoning: ["output.*(type=reasoning).summary.*.text", "output.*(type=reasoning).content.*.text"],
    refusal: ["output.*.content.*.refusal"],
    calls: ["output.*(type=function_call).name"],
    finish: ["incomplete_details.reason", "status"],
    inputTokens: ["usage.input_tokens"],
    outputTokens: ["usage.output_tokens"],
    cachedTokens: ["usage.input_tokens_details.cached_tokens"],
    reasoningTokens: ["usage.output_tokens_details.reasoning_tokens"],
    error: ["error.code"],
    delta: ["(type=response.output_text.delta).delta"],
    streamError: ["(type=error).code", "(type=response.failed).response.error.code"],
  },
  chat: {
    text: ["choices.*.message.content"],
    reasoning: ["choices.*.message.reasoning_content"],
    refusal: ["choices.*.message.refusal"],
    calls: ["choices.*.message.tool_calls.*.function.name"],
    finish: ["choices.*.finish_reason"],
    inputTokens: ["usage.prompt_tokens"],
    outputTokens: ["usage.completion_tokens"],
    cachedTokens: ["usage.prompt_tokens_details.cached_tokens"],
    reasoningTokens: ["usage.completion_tokens_details.reasoning_tokens"],
    error: ["error.code"],
    delta: ["choices.*.delta.content"],
    streamError: ["error.code"],
  },
  messages: {
    text: ["content.*(type=text).text"],
    reasoning: ["content.*(type=thinking).thinking"],
    refusal: [],
    calls: ["content.*(type=tool_use).name"],
    finish: ["stop_reason"],
    inputTokens: ["usage.input_tokens"],
    outputTokens: ["usage.output_tokens"],
    cachedTokens: ["usage.cache_read_input_tokens"],
    reasoningTokens: ["usage.output_tokens_details.thinking_tokens"],
    error: ["error.type"],
    delta: ["delta(type=text_delta).text"],
    streamError: ["(type=error).error.type"],
  },
  gemini: {
    text: ["candidates.*.content.parts.*(thought!=true).text"],
    reasoning: ["candidates.*.content.parts.*(thought=true).text"],
    refusal: [],
    calls: ["candidates.*.content.parts.*.functionCall.name"],
    finish: ["promptFeedback.blockReason", "candidates.*.finishReason"],
    inputTokens: ["usageMetadata.promptTokenCount"],
    outputTokens: ["usageMetadata.candidatesTokenCount"],
    cachedTokens: ["usageMetadata.cachedContentTokenCount"],
    reasoningTokens: ["usageMetadata.thoughtsTokenCount"],
    error: ["error.status"],
    delta: ["candidates.*.content.parts.*(thought!=true).text"],
    streamError: ["error.status"],
  },
};

/** Returns the values of a field, in the order of its paths: texts and numbers only. */
export function readField(api: ApiName, field: AnswerField, body: unknown): (string | number)[] {
  return PATHS[api][field].flatMap((path) => follow([body], path)).filter(isValue);
}

function isValue(value: unknown): value is string | number {
  return typeof value === "string" || typeof value === "number";
}

/** A step of a path: a name, `*` or nothing, and a condition. */
const STEP = /([\w*]*)(?:\((\w+)(!?)=([^)]*)\))?(?:\.|$)/y;

function follow(values: readonly unknown[], path: string): readonly unknown[] {
  STEP.lastIndex = 0;
  let found = values;
  while (STEP.lastIndex < path.length) {
    const [, name = "", member, isNegated, wanted] = STEP.exec(path) ?? [];
    if (name === "*") found = found.flatMap((value) => (Array.isArray(value) ? value : []));
    else if (name !== "") found = found.flatMap((value) => getMember(value, name));
    if (member === undefined) continue;
    found = found.filter(
      (value) => getMember(value, member).some((found) => String(found) === wanted) !== (isNegated === "!"),
    );
  }
  return found;
}

function getMember(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== "object" || value === null || !(name in value)) return [];
  return [(value as Readonly<Record<string, unknown>>)[name]];
}
