import type { ModelOptions } from "../model-options.ts";
import {
  anything,
  array,
  type Check,
  type Fields,
  nullable,
  object,
  oneOf,
  openObject,
  required,
  string,
  variants,
  wrongType,
} from "../openai/check.ts";
import { namePattern } from "../openai/parameters.ts";
import { invalidRequest } from "../openai/problem.ts";

const text = required(string());

/** The id of a tool call. OpenAI bounds it, others do not. */
function callId({ lenient }: ModelOptions): Check {
  return string({ minimum: 1, maximum: lenient === true ? Infinity : 40 });
}

const speaker = string({ maximum: 64, pattern: /^[^\s<|\\/>]+$/ });
const toolName = required(string({ minimum: 1, maximum: 64, pattern: namePattern }));

const textPart = object({ type: anything, text, prompt_cache_breakpoint: anything });

const userParts: Readonly<Record<string, Check>> = {
  text: textPart,
  image_url: object({
    type: anything,
    image_url: required(
      object({
        url: required(string({ minimum: 1 })),
        detail: nullable(oneOf(["auto", "low", "high", "original"])),
      }),
    ),
    prompt_cache_breakpoint: anything,
  }),
  input_audio: object({
    type: anything,
    input_audio: required(object({ data: text, format: required(oneOf(["wav", "mp3"])) })),
    prompt_cache_breakpoint: anything,
  }),
  file: object({
    type: anything,
    file: required(object({ file_data: string(), file_id: string(), filename: string() })),
    prompt_cache_breakpoint: anything,
  }),
};

/** The parts of a message whose role takes texts alone. OpenAI says more of pictures there than of other parts. */
function textParts(role: string): Readonly<Record<string, Check>> {
  return { text: textPart, image_url: refuseImage(role) };
}

function refuseImage(role: string): Check {
  return (_, path) => {
    const place = path.replace(/\.content\[\d+\]$/, "");
    const message = `Invalid '${place}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`;
    throw invalidRequest(message, place, "invalid_value");
  };
}

/** A string, or a list of parts. */
function content(parts: Readonly<Record<string, Check>>): Check {
  const list = array(variants("type", parts), { minimum: 1 });
  return (value, path) => {
    if (value === null) throw missingContent(path);
    if (typeof value === "string") return;
    if (!Array.isArray(value)) throw wrongType(value, path, "one of a string or an array of content parts");
    list(value, path);
  };
}

/** What OpenAI says of a message without content, with the path as it spells it there. */
function missingContent(path: string): Error {
  const message = "Invalid value for 'content': expected a string, got null.";
  return invalidRequest(message, path.replace(/\[(\d+)\]/, ".[$1]"), null);
}

/** Fields in which a server of that dialect takes back the thinking that it showed. */
function reasoningFields(dialect: ModelOptions["reasoning_field"]): Fields {
  switch (dialect ?? "reasoning_content") {
    case "reasoning_content":
      return { reasoning_content: nullable(string()) };
    case "reasoning":
      return { reasoning: nullable(string()) };
    case "details":
      return { reasoning: nullable(string()), reasoning_details: nullable(array(reasoningDetail)) };
    default:
      return {};
  }
}

const reasoningDetail = variants("type", {
  "reasoning.text": openObject({ text: string() }),
  "reasoning.encrypted": openObject({ data: required(string()) }),
});

const thinkingPart = object({
  type: anything,
  thinking: required(array(variants("type", { text: textPart }))),
});

function toolCall(options: ModelOptions): Check {
  const extra: Fields = options.thought_signatures === true ? { extra_content: openObject() } : {};
  const input = required(options.object_arguments === true ? anything : string());
  const id = required(callId(options));
  return variants("type", {
    function: object({
      type: anything,
      id,
      function: required(object({ name: toolName, arguments: input })),
      ...extra,
    }),
    custom: object({
      type: anything,
      id,
      custom: required(object({ name: toolName, input: text })),
      ...extra,
    }),
  });
}

/** Checks an assistant message. What an answer holds may come back as it was, in the dialect that it was in. */
function assistantMessage(options: ModelOptions): Check {
  const dialect = options.reasoning_field;
  const parts: Record<string, Check> = {
    ...textParts("assistant"),
    refusal: object({ type: anything, refusal: text }),
    ...(dialect === "chunks" ? { thinking: thinkingPart } : {}),
  };
  const check = object({
    role: anything,
    content: nullable(content(parts)),
    name: speaker,
    refusal: nullable(string()),
    annotations: nullable(array(openObject())),
    audio: nullable(openObject({ id: required(string()) })),
    function_call: nullable(openObject()),
    tool_calls: array(toolCall(options), { minimum: 1 }),
    ...reasoningFields(dialect),
  });
  return (value, path) => {
    check(value, path);
    if (saysNothing(value)) throw missingContent(`${path}.content`);
  };
}

/** Whether an assistant message holds nothing at all. */
function saysNothing(message: unknown): boolean {
  const known = message as Readonly<Record<string, unknown>>;
  return ["content", "tool_calls", "refusal", "function_call", "audio"].every(
    (name) => (known[name] ?? null) === null,
  );
}

function instructions(role: string): Check {
  return object({ role: anything, content: required(content(textParts(role))), name: speaker });
}

const userMessage = object({ role: anything, content: required(content(userParts)), name: speaker });

const toolMessageFields = object({
  role: anything,
  content: required(content(textParts("tool"))),
  tool_call_id: string(),
});

const toolMessage: Check = (value, path) => {
  const { tool_call_id: id } = value as { tool_call_id?: unknown };
  if (id === undefined) {
    const message = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.";
    throw invalidRequest(message, `${path.replace("[", ".[")}.tool_call_id`, null);
  }
  toolMessageFields(value, path);
};

const functionMessage: Check = (_, path) => {
  const message = "The simulator does not know messages with role 'function', which tools have replaced.";
  throw invalidRequest(message, `${path}.role`, "unsupported_by_simulator");
};

/** Checks one of `messages`, as a server with these quirks does. */
export function chatMessage(options: ModelOptions): Check {
  return variants("role", {
    system: instructions("system"),
    assistant: assistantMessage(options),
    user: userMessage,
    function: functionMessage,
    tool: toolMessage,
    developer: instructions("developer"),
  });
}
