import type { AssistantMessageParam, ToolMessageParam } from "../../src/wire/openai-chat/request.ts";
import type { Untrusted } from "../../src/wire/untrusted.ts";
import type { ModelOptions } from "../model-options.ts";
import {
  anything,
  array,
  type Check,
  type Fields,
  literal,
  nullable,
  object,
  openObject,
  required,
  string,
  variants,
  wrongType,
} from "../openai/check.ts";
import { namePattern } from "../openai/parameters.ts";
import { invalidRequest } from "../openai/problem.ts";

const text = required(string());

/** Checks the id of a tool call. OpenAI limits its length, others do not. */
function callId({ lenient }: ModelOptions): Check {
  return string({ minimum: 1, maximum: lenient === true ? Infinity : 40 });
}

const participantName = string({ maximum: 64, pattern: /^[^\s<|\\/>]+$/ });
const toolName = required(string({ minimum: 1, maximum: 64, pattern: namePattern }));

const textPart = object({ type: anything, text, prompt_cache_breakpoint: anything });

const userParts: Readonly<Record<string, Check>> = {
  text: textPart,
  image_url: object({
    type: anything,
    image_url: required(
      object({
        url: required(string({ minimum: 1 })),
        detail: nullable(literal(["auto", "low", "high", "original"])),
      }),
    ),
    prompt_cache_breakpoint: anything,
  }),
  input_audio: object({
    type: anything,
    input_audio: required(object({ data: text, format: required(literal(["wav", "mp3"])) })),
    prompt_cache_breakpoint: anything,
  }),
  file: object({
    type: anything,
    file: required(object({ file_data: string(), file_id: string(), filename: string() })),
    prompt_cache_breakpoint: anything,
  }),
};

/** Returns the parts of a message whose role accepts only text. OpenAI has a special error for images there. */
function textParts(role: string): Readonly<Record<string, Check>> {
  return { text: textPart, image_url: refuseImage(role) };
}

function refuseImage(role: string): Check {
  return (_, path) => {
    const messagePath = path.replace(/\.content\[\d+\]$/, "");
    const message = `Invalid '${messagePath}'. Image URLs are only allowed for messages with role 'user', but this message with role '${role}' contains an image URL.`;
    throw invalidRequest(message, messagePath, "invalid_value");
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

/** Returns OpenAI's error for a message without content, with the path as OpenAI writes it. */
function missingContent(path: string): Error {
  const message = "Invalid value for 'content': expected a string, got null.";
  return invalidRequest(message, path.replace(/\[(\d+)\]/, ".[$1]"), null);
}

/** Returns the fields in which a server with that dialect accepts its reasoning. */
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

const thinkPart = object({
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

/** Checks an assistant message. All fields of an answer may be sent back unchanged, in the dialect of the server. */
function assistantMessage(options: ModelOptions): Check {
  const dialect = options.reasoning_field;
  const parts: Record<string, Check> = {
    ...textParts("assistant"),
    refusal: object({ type: anything, refusal: text }),
    ...(dialect === "chunks" ? { thinking: thinkPart } : {}),
  };
  const check = object({
    role: anything,
    content: nullable(content(parts)),
    name: participantName,
    refusal: nullable(string()),
    annotations: nullable(array(openObject())),
    audio: nullable(openObject({ id: required(string()) })),
    function_call: nullable(openObject()),
    tool_calls: array(toolCall(options), { minimum: 1 }),
    ...reasoningFields(dialect),
  });
  return (value, path) => {
    check(value, path);
    if (isEmpty(value)) throw missingContent(`${path}.content`);
  };
}

/** Reports whether an assistant message has no content at all. */
function isEmpty(message: unknown): boolean {
  const { content, tool_calls, refusal, function_call, audio } = message as Untrusted<AssistantMessageParam>;
  return [content, tool_calls, refusal, function_call, audio].every((value) => (value ?? null) === null);
}

function instructions(role: string): Check {
  return object({ role: anything, content: required(content(textParts(role))), name: participantName });
}

const userMessage = object({ role: anything, content: required(content(userParts)), name: participantName });

const toolMessageFields = object({
  role: anything,
  content: required(content(textParts("tool"))),
  tool_call_id: string(),
  name: participantName,
});

const toolMessage: Check = (value, path) => {
  const { tool_call_id: id } = value as Untrusted<ToolMessageParam>;
  if (id === undefined) {
    const message = "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.";
    throw invalidRequest(message, `${path.replace("[", ".[")}.tool_call_id`, null);
  }
  toolMessageFields(value, path);
};

const functionMessage: Check = (_, path) => {
  const message = "The simulator does not support messages with role 'function', which tools have replaced.";
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
