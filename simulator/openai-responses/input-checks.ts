import {
  anything,
  array,
  type Check,
  literal,
  nullable,
  object,
  openObject,
  required,
  string,
  variants,
  wrongType,
} from "../openai/check.ts";
import { invalidRequest } from "../openai/problem.ts";

const text = required(string());
const status = nullable(literal(["in_progress", "completed", "incomplete"]));
const callId = required(string({ minimum: 1, maximum: 64 }));
const detail = nullable(literal(["low", "high", "auto", "original"]));
const breakpoint = anything;

/** Parts that are allowed in a message of a user, a system or a developer, and in the output of a tool. */
const inputParts: Readonly<Record<string, Check>> = {
  input_text: object({ type: anything, text, prompt_cache_breakpoint: breakpoint }),
  input_image: object({
    type: anything,
    image_url: nullable(string()),
    file_id: nullable(string()),
    detail,
    prompt_cache_breakpoint: breakpoint,
  }),
  input_file: object({
    type: anything,
    file_id: nullable(string()),
    file_url: nullable(string()),
    file_data: nullable(string()),
    filename: nullable(string()),
    detail,
    prompt_cache_breakpoint: breakpoint,
  }),
};

/** Parts that are allowed in a message of the assistant. */
const outputParts: Readonly<Record<string, Check>> = {
  output_text: object({ type: anything, text, annotations: array(openObject()), logprobs: anything }),
  refusal: object({ type: anything, refusal: text }),
};

/** A string, or a list of parts. */
function content(parts: Readonly<Record<string, Check>>): Check {
  const list = array(variants("type", parts));
  return (value, path) => {
    if (typeof value === "string") return;
    if (!Array.isArray(value)) throw wrongType(value, path, "one of a string or an array of content parts");
    list(value, path);
  };
}

/** An id that the provider created, whose prefix is the kind of its item. */
function itemId(prefix: string): Check {
  return nullable((value, path) => {
    string()(value, path);
    if (!String(value).startsWith(prefix)) {
      const message = `Invalid '${path}': '${String(value).slice(0, 64)}'. Expected an ID that begins with '${prefix}'.`;
      throw invalidRequest(message, path, "invalid_value");
    }
  });
}

function message(parts: Readonly<Record<string, Check>>): Check {
  return object({
    type: anything,
    role: required(anything),
    content: required(content(parts)),
    id: itemId("msg"),
    status,
    phase: nullable(literal(["commentary", "final_answer"])),
  });
}

const userMessage = message(inputParts);

/** Items that the simulator reads. They are checked field by field. */
const knownItems: Readonly<Record<string, Check>> = {
  message: variants("role", {
    assistant: message(outputParts),
    system: userMessage,
    developer: userMessage,
    user: userMessage,
  }),
  function_call: object({
    type: anything,
    id: itemId("fc"),
    call_id: callId,
    name: required(string({ minimum: 1, maximum: 128, pattern: /^[a-zA-Z0-9_-]+$/ })),
    arguments: text,
    status,
    namespace: nullable(string()),
    caller: anything,
    async: anything,
  }),
  function_call_output: object({
    type: anything,
    id: nullable(string()),
    call_id: callId,
    output: required(content(inputParts)),
    status,
    caller: anything,
  }),
  custom_tool_call: object({
    type: anything,
    id: itemId("ctc"),
    call_id: callId,
    name: required(string({ minimum: 1 })),
    input: text,
    status,
    namespace: nullable(string()),
    caller: anything,
  }),
  custom_tool_call_output: object({
    type: anything,
    id: nullable(string()),
    call_id: callId,
    output: required(content(inputParts)),
    status,
    caller: anything,
  }),
  reasoning: object({
    type: anything,
    id: itemId("rs"),
    summary: required(array(object({ type: required(literal(["summary_text"])), text }))),
    content: nullable(array(object({ type: required(literal(["reasoning_text"])), text }))),
    encrypted_content: nullable(string()),
    status,
  }),
  item_reference: object({ type: anything, id: required(string({ minimum: 1 })) }),
};

/** Items of hosted tools. The simulator accepts them unchecked. */
const hostedItems = [
  "web_search_call",
  "image_generation_call",
  "file_search_call",
  "code_interpreter_call",
  "computer_call",
  "computer_call_output",
  "local_shell_call",
  "local_shell_call_output",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "apply_patch_call_output",
  "mcp_call",
  "mcp_list_tools",
  "mcp_approval_request",
  "mcp_approval_response",
  "tool_search_call",
  "tool_search_output",
  "additional_tools",
  "program",
  "program_output",
  "compaction",
  "compaction_trigger",
  "configuration_update",
];

/** Checks one of `input`. An item without a type is a message. */
export const inputItem: Check = variants(
  "type",
  { ...knownItems, ...Object.fromEntries(hostedItems.map((type) => [type, openObject()])) },
  "message",
);
