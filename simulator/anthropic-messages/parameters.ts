import { THINKING_BINDING_BETA } from "../../src/wire/anthropic-messages/request.ts";
import type { ReceivedRequest } from "../wire-format.ts";
import { readVersion } from "./authenticate.ts";
import { cacheControl, messageBlock, systemBlock } from "./block-checks.ts";
import {
  anything,
  array,
  boolean,
  type Check,
  type Fields,
  fraction,
  integer,
  literal,
  nullable,
  object,
  openObject,
  required,
  string,
  stringOrArray,
  tagged,
} from "./check.ts";
import type { CreateRequest } from "./create-request.ts";
import { invalidAt, invalidRequest, Problem } from "./problem.ts";
import { checkClosedSchema } from "./schema-checks.ts";
import { tool, toolChoice } from "./tool-checks.ts";

const message = object({
  role: required(literal(["user", "assistant", "system"])),
  content: required(stringOrArray(messageBlock)),
});

const messages: Check = (value, path) => {
  array(message)(value, path);
  if ((value as readonly unknown[]).length === 0) throw invalidAt(path, "at least one message is required");
};

const stopSequences: Check = (value, path) => {
  array(string())(value, path);
  for (const sequence of value as readonly string[]) {
    if (sequence.trim() === "") throw invalidAt(path, "each stop sequence must contain non-whitespace");
  }
};

const display = nullable(literal(["summarized", "omitted"]));

const blockBinding = nullable(
  object({ prefix_mismatch_behavior: nullable(literal(["error", "drop_block"])) }),
);

const thinking = tagged({
  adaptive: object({ type: anything, display, block_binding: blockBinding }),
  enabled: object({
    type: anything,
    budget_tokens: required(integer(1024)),
    display,
    block_binding: blockBinding,
  }),
  disabled: object({ type: anything }),
  between_tools: object({ type: anything }),
});

const outputConfig = object({
  effort: nullable(literal(["low", "medium", "high", "xhigh", "max"])),
  format: nullable(tagged({ json_schema: object({ type: anything, schema: required(openObject()) }) })),
});

const fields: Fields = {
  model: required(string({ minimum: 1, maximum: 256 })),
  max_tokens: required(integer(0)),
  messages: required(messages),
  cache_control: cacheControl,
  container: anything,
  diagnostics: anything,
  inference_geo: nullable(string()),
  metadata: nullable(object({ user_id: nullable(string({ maximum: 256 })) })),
  output_config: nullable(outputConfig),
  service_tier: nullable(literal(["auto", "standard_only"])),
  speed: nullable(literal(["standard", "fast"])),
  stop_sequences: nullable(stopSequences),
  stream: nullable(boolean),
  system: nullable(stringOrArray(systemBlock)),
  thinking: nullable(thinking),
  tool_choice: nullable(toolChoice),
  tools: nullable(array(tool)),
  user_profile_id: nullable(string()),
  workspace_id: nullable(string()),
};

/** Settings that newer versions of the API no longer have. */
const sampling: Fields = {
  temperature: nullable(fraction),
  top_k: nullable(integer(0)),
  top_p: nullable(fraction),
};

/** Parameters in beta, which need the header `anthropic-beta`. They are accepted and not used. */
const betas: Fields = {
  context_management: anything,
  fallbacks: anything,
  mcp_servers: anything,
  thread: nullable(noThread),
};

/** Conversations kept by the server are not simulated; Anthropic's SDK then sends the whole conversation each time. */
function noThread(): void {
  throw new Problem(400, {
    type: "invalid_request_error",
    message: "The simulator does not know how to honour `thread`. Send the full conversation without it.",
    details: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
  });
}

/**
 * Checks the body of `POST /v1/messages`: types, ranges, and that no parameter is unknown to the version of the API.
 * Throws the problem that Anthropic would find first.
 */
export function checkCreateRequest({ body, headers }: ReceivedRequest): CreateRequest {
  const { takesSampling } = readVersion(headers);
  const hasBeta = headers["anthropic-beta"] !== undefined;
  object({ ...fields, ...(takesSampling ? sampling : {}), ...(hasBeta ? betas : {}) })(body, "");
  const request = body as CreateRequest;
  checkThinking(request);
  checkBindingBeta(request, headers);
  checkClosedSchema(request.output_config?.format?.schema, "output_config.format.schema");
  return request;
}

/** Parameters of requests whose tokens are counted. */
const countedNames = [
  "model",
  "messages",
  "cache_control",
  "output_config",
  "speed",
  "system",
  "thinking",
  "tool_choice",
  "tools",
  "user_profile_id",
];

const countedFields: Fields = Object.fromEntries(
  Object.entries(fields).filter(([name]) => countedNames.includes(name)),
);

/** Checks the body of `POST /v1/messages/count_tokens`, as `checkCreateRequest` does. */
export function checkCountRequest({ body, headers }: ReceivedRequest): CreateRequest {
  const hasBeta = headers["anthropic-beta"] !== undefined;
  object({ ...countedFields, ...(hasBeta ? betas : {}) })(body, "");
  // A budget of thinking tokens need not fit into a limit.
  const request = { ...(body as Omit<CreateRequest, "max_tokens">), max_tokens: Infinity };
  checkThinking(request);
  checkBindingBeta(request, headers);
  checkClosedSchema(request.output_config?.format?.schema, "output_config.format.schema");
  return request;
}

/** `thinking.block_binding` is refused without its beta. */
function checkBindingBeta({ thinking: config }: CreateRequest, headers: ReceivedRequest["headers"]): void {
  if (config == null || !("block_binding" in config)) return;
  if (String(headers["anthropic-beta"]).includes(THINKING_BINDING_BETA)) return;
  const path = `thinking.${config.type}.block_binding`;
  throw invalidAt(path, `Extra inputs are not permitted without the beta ${THINKING_BINDING_BETA}`);
}

function checkThinking({ thinking: config, max_tokens: limit, temperature }: CreateRequest): void {
  if (config?.type !== "enabled" && config?.type !== "adaptive") return;
  if (limit <= (config.type === "enabled" ? config.budget_tokens : 0)) {
    throw invalidRequest("`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  if ((temperature ?? 1) !== 1) {
    throw invalidRequest("`temperature` may only be set to 1 when thinking is enabled.");
  }
}
