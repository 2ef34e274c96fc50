import {
  anything,
  array,
  boolean,
  type Check,
  decimal,
  type Fields,
  integer,
  literal,
  missingParameter,
  nullable,
  object,
  openObject,
  required,
  string,
  variants,
  wrongType,
} from "../openai/check.ts";
import { efforts, formatName, metadata, serviceTiers } from "../openai/parameters.ts";
import { invalidRequest } from "../openai/problem.ts";
import type { CheckedRequest } from "./checked-request.ts";
import { inputItem } from "./input-checks.ts";
import { namedToolChoice, tool } from "./tool-checks.ts";

/** Values that `include` may list. */
const includables = [
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "reasoning.encrypted_content",
  "message.output_text.logprobs",
];

const input: Check = (value, path) => {
  if (typeof value === "string") return;
  if (!Array.isArray(value)) throw wrongType(value, path, "one of a string or an array of items");
  array(inputItem, { minimum: 1 })(value, path);
};

const textFormat = variants("type", {
  text: object({ type: anything }),
  json_object: object({ type: anything }),
  json_schema: object({
    type: anything,
    name: formatName,
    schema: required(openObject()),
    description: nullable(string()),
    strict: nullable(boolean),
  }),
});

const toolChoice: Check = (value, path) => {
  if (typeof value === "string") literal(["none", "auto", "required"])(value, path);
  else namedToolChoice(value, path);
};

const fields: Fields = {
  model: required(string({ minimum: 1 })),
  input,
  access_programs: anything,
  background: nullable(boolean),
  // OpenAI's clients, such as Codex, describe themselves with it.
  client_metadata: nullable(openObject()),
  context_management: anything,
  conversation: anything,
  image: anything,
  include: nullable(array(literal(includables))),
  instructions: nullable(string()),
  max_output_tokens: nullable(integer(16)),
  max_tool_calls: nullable(integer(1)),
  metadata: nullable(metadata),
  moderation: anything,
  parallel_tool_calls: nullable(boolean),
  previous_response_id: nullable(string({ minimum: 1 })),
  prompt: anything,
  prompt_cache_key: nullable(string({ maximum: 1024 })),
  prompt_cache_options: anything,
  prompt_cache_retention: nullable(literal(["in_memory", "24h"])),
  reasoning: nullable(
    object({
      effort: nullable(literal(efforts)),
      summary: nullable(literal(["concise", "detailed", "auto"])),
      generate_summary: nullable(literal(["concise", "detailed", "auto"])),
      context: nullable(literal(["auto", "current_turn", "all_turns"])),
      mode: nullable(literal(["standard", "pro"])),
    }),
  ),
  safety_identifier: nullable(string({ maximum: 128 })),
  service_tier: nullable(literal(serviceTiers)),
  store: nullable(boolean),
  stream: nullable(boolean),
  stream_options: nullable(object({ include_obfuscation: boolean })),
  temperature: nullable(decimal(0, 2)),
  text: nullable(
    object({ format: nullable(textFormat), verbosity: nullable(literal(["low", "medium", "high"])) }),
  ),
  tool_choice: nullable(toolChoice),
  tools: nullable(array(tool, { maximum: 128 })),
  top_logprobs: nullable(integer(0, 20)),
  top_p: nullable(decimal(0, 1)),
  truncation: nullable(literal(["auto", "disabled"])),
  user: nullable(string()),
};

const body = object(fields);

/** Parameters of requests whose tokens are counted. */
const countedNames = [
  "model",
  "input",
  "conversation",
  "instructions",
  "parallel_tool_calls",
  "previous_response_id",
  "reasoning",
  "text",
  "tool_choice",
  "tools",
  "truncation",
];

const countedBody = object({
  ...Object.fromEntries(Object.entries(fields).filter(([name]) => countedNames.includes(name))),
  personality: nullable(string()),
});

/** Parameters of OpenAI that need features which the simulator lacks, such as stored conversations. */
const notSimulated = ["background", "conversation", "prompt"] as const;

/**
 * Checks the body of `POST /v1/responses`: types, ranges, and that no parameter is unknown. Throws the first problem
 * that OpenAI would report.
 */
export function checkCreateRequest(value: unknown): CheckedRequest {
  return checkRequest(value, body);
}

/** Checks the body of `POST /v1/responses/input_tokens`, as `checkCreateRequest` does. */
export function checkCountRequest(value: unknown): CheckedRequest {
  return checkRequest(value, countedBody);
}

function checkRequest(value: unknown, check: Check): CheckedRequest {
  check(value, "");
  const request = value as CheckedRequest & Readonly<Record<string, unknown>>;
  for (const name of notSimulated) {
    if (request[name] === undefined || request[name] === null || request[name] === false) continue;
    throw invalidRequest(`The simulator does not support '${name}'.`, name, "unsupported_by_simulator");
  }
  if (request.input === undefined && (request.previous_response_id ?? null) === null)
    throw missingParameter("input");
  return request;
}

/** Rejects sampling parameters, as reasoning models do unless their effort is `none`. */
export function rejectSampling(request: CheckedRequest): void {
  for (const name of ["temperature", "top_p"] as const) {
    if ((request[name] ?? null) === null) continue;
    throw invalidRequest(
      `Unsupported parameter: '${name}' is not supported with this model.`,
      name,
      "unsupported_parameter",
    );
  }
}
