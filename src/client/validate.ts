import {
  FinalResponseSchema,
  LossPolicySchema,
  type Request,
  type ResponseFormat,
  ResponseFormat_Type,
  ResponseFormat_TypeSchema,
  StatePolicySchema,
  type Timeouts,
} from "../gen/outrigger/v1/request_pb.ts";
import { isEmpty } from "../kit/json/json.ts";
import { checkMessages } from "./validate-messages.ts";
import { checkToolChoice, checkTools } from "./validate-tools.ts";
import { checkDuration, checkEnum, checkJsonObject, quote, Violations } from "./violations.ts";

const NO_NAMES: ReadonlySet<string> = new Set();

const SCHEMA_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Checks for requests that no provider could accept, before they are routed, for all APIs alike. Requests that only
 * some providers reject are checked by their adapters.
 * @param options `mayNameNoModel`: whether the model is chosen later. Default false.
 * @throws InvalidRequestError with every invalid field in `violations`, by proto path.
 */
export function validateRequest(request: Request, { mayNameNoModel = false } = {}): void {
  const violations = new Violations();
  const needsModel = request.model !== "" || !mayNameNoModel;
  if (needsModel && request.model.trim() === "")
    violations.add("model", "is empty, expected the provider's id of a model");
  const options = isEmpty(request.providerOptionsJson)
    ? NO_OPTIONS
    : checkProviderOptions(request.providerOptionsJson, violations);
  if (request.messages.length === 0) violations.add("messages", "is empty, expected at least one message");
  checkMessages(request.messages, { open: options.bringConversation }, violations);
  const names = request.tools.length === 0 ? NO_NAMES : checkTools(request.tools, violations);
  if (request.toolChoice !== undefined) {
    checkToolChoice(request.toolChoice, { names, open: options.bringTools }, violations);
  }
  if (request.responseFormat !== undefined) checkResponseFormat(request.responseFormat, violations);
  checkSampling(request, violations);
  checkEnum(StatePolicySchema, request.foreignState, "foreign_state", violations);
  checkEnum(LossPolicySchema, request.lossPolicy, "loss_policy", violations);
  checkEnum(FinalResponseSchema, request.finalResponse, "final_response", violations);
  if (request.timeouts !== undefined) checkTimeouts(request.timeouts, violations);
  violations.throwIfAny();
}

/** Requests that were validated before they were given to a client. */
const validated = new WeakSet<Request>();

/**
 * Validates a request whose model is chosen later, and which is given to a client as it is: the client does not
 * validate it again.
 * @throws InvalidRequestError as `validateRequest`.
 */
export function validateOnce(request: Request): void {
  validateRequest(request, { mayNameNoModel: true });
  validated.add(request);
}

/** Reports whether a request was validated ahead. True once: it may be changed before it is sent again. */
export function isValidated(request: Request): boolean {
  return validated.delete(request);
}

interface ProviderOptions {
  /** Whether some options continue a conversation that the provider stores. */
  readonly bringConversation: boolean;
  /** Whether some options append tools to the tools of the request. */
  readonly bringTools: boolean;
}

const NO_OPTIONS: ProviderOptions = { bringConversation: false, bringTools: false };

function checkProviderOptions(
  options: Request["providerOptionsJson"],
  violations: Violations,
): ProviderOptions {
  let bringConversation = false;
  let bringTools = false;
  for (const [provider, text] of Object.entries(options)) {
    const body = checkJsonObject(text, `provider_options_json[${quote(provider)}]`, violations);
    if (body === undefined) continue;
    // Limits, budgets, the cache and circuit breakers depend on the model of the request. The case is ignored, as
    // servers that are written in Go ignore it.
    const model = Object.keys(body).find((name) => name.toLowerCase() === "model");
    if (model !== undefined)
      violations.add(
        `provider_options_json[${quote(provider)}].${model}`,
        "expected no model here: it is set by `model` of the request",
      );
    bringConversation ||= "previous_response_id" in body || "conversation" in body;
    bringTools ||= "tools" in body;
  }
  return { bringConversation, bringTools };
}

function checkResponseFormat({ type, schemaJson, name }: ResponseFormat, violations: Violations): void {
  checkEnum(ResponseFormat_TypeSchema, type, "response_format.type", violations);
  if (type === ResponseFormat_Type.JSON_SCHEMA) {
    checkJsonObject(schemaJson, "response_format.schema_json", violations);
  } else if (schemaJson !== "") {
    violations.add("response_format.schema_json", "expected nothing unless the type is TYPE_JSON_SCHEMA");
  }
  if (name !== "" && !SCHEMA_NAME.test(name)) {
    const expected = 'at most 64 letters, digits, "_" or "-"';
    violations.add("response_format.name", `expected ${expected}, found ${quote(name)}`);
  }
}

function checkSampling(request: Request, violations: Violations): void {
  const { temperature, topP, maxTokens, stopSequences } = request;
  if (temperature !== undefined && !(temperature >= 0 && temperature < Infinity)) {
    violations.add("temperature", `expected a number from 0, found ${temperature}`);
  }
  if (topP !== undefined && !(topP >= 0 && topP <= 1)) {
    violations.add("top_p", `expected a number from 0 to 1, found ${topP}`);
  }
  if (maxTokens !== undefined && !(maxTokens >= 1)) {
    violations.add("max_tokens", `expected at least 1, found ${maxTokens}`);
  }
  for (const [index, sequence] of stopSequences.entries()) {
    if (sequence === "") violations.add(`stop_sequences[${index}]`, "is empty");
  }
}

function checkTimeouts({ connect, request, betweenBytes }: Timeouts, violations: Violations): void {
  checkDuration(connect, "timeouts.connect", violations);
  checkDuration(request, "timeouts.request", violations);
  checkDuration(betweenBytes, "timeouts.between_bytes", violations);
}
