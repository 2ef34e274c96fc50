import type { ModelChoice } from "../model-choice.ts";
import { namedModel } from "../named-model.ts";
import { authenticate } from "../openai/authenticate.ts";
import { missingParameter } from "../openai/check.ts";
import { rejectAsOpenAI } from "../openai/failure.ts";
import { openaiHeaders } from "../openai/headers.ts";
import { listModels } from "../openai/models.ts";
import { rejectingProblems } from "../openai/problem.ts";
import { checkMethod, readModel } from "../openai/receive.ts";
import type { Turn } from "../script/turn.ts";
import type { ModelCall, PreparedCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import type { CheckedItem, CheckedRequest } from "./checked-request.ts";
import { gatherConversation } from "./conversation.ts";
import { responseIdOf } from "./item-ids.ts";
import { finishedItem, itemSettingsOf } from "./output-items.ts";
import { checkCreateRequest, rejectSampling } from "./parameters.ts";
import { readPrompt } from "./read-prompt.ts";
import { createResponseStates, type ResponseStates, type SimulatedResponse } from "./response-object.ts";
import { createStoredResponses, type StoredResponses } from "./stored-responses.ts";
import { renderEvents } from "./stream.ts";
import { checkToolUse } from "./tool-checks.ts";

const createPath = "/v1/responses";
const modelsPath = "/v1/models";

/**
 * OpenAI's Responses API: `POST /v1/responses`, streaming and not, and `GET /v1/models`. It remembers responses for
 * `previous_response_id` unless the request has `store: false`.
 */
export function createOpenAIResponses(): WireFormat {
  const stored = createStoredResponses();
  return {
    name: "openai-responses",
    endpoints: [`POST ${createPath}`, `GET ${modelsPath}`],
    matches: ({ path }) => path === createPath || path === modelsPath,
    modelOf: namedModel,
    read: (request) => rejectingProblems(request, () => read(request, stored)),
    reject: rejectAsOpenAI,
  };
}

function read(request: ReceivedRequest, stored: StoredResponses): ModelCall | WholeAnswer {
  authenticate(request.headers);
  checkMethod(request, request.path === modelsPath ? "GET" : "POST");
  if (request.path === modelsPath) return listModels(request);
  const model = readModel(request, () => missingParameter("model"));
  return { model, prepare: (choice) => rejectingProblems(request, () => prepare(request, choice, stored)) };
}

function prepare(received: ReceivedRequest, choice: ModelChoice, stored: StoredResponses): PreparedCall {
  const request = checkCreateRequest(received.body);
  const reasons = choice.script === "reasoning";
  if (reasons && request.reasoning?.effort !== "none") rejectSampling(request);
  checkToolUse(request);
  const items = gatherConversation(request, stored);
  const states = createResponseStates({
    requestNumber: received.number,
    request,
    startedAt: received.receivedAt,
    reasons,
  });
  const call: Call = { received, request, items, states, stored };
  return {
    prompt: readPrompt(request, items),
    stream: request.stream === true,
    renderWhole: (turn) => wholeAnswer(call, turn, finish(call, turn)),
    renderFailed: (turn, code) => wholeAnswer(call, turn, states.failed(code)),
    renderStream: (turn) => renderStream(call, turn),
  };
}

interface Call {
  readonly received: ReceivedRequest;
  readonly request: CheckedRequest;
  readonly items: readonly CheckedItem[];
  readonly states: ResponseStates;
  readonly stored: StoredResponses;
}

/** The finished response. It can be continued by its id from now on if it is stored. */
function finish(call: Call, turn: Turn): SimulatedResponse {
  const settings = itemSettingsOf(call.received.number, call.request, turn);
  const output = turn.parts.map((part, index) => finishedItem(part, index, settings, "completed"));
  keep(call, output);
  return call.states.finished(turn, output);
}

function keep(call: Call, output: readonly CheckedItem[]): void {
  if (call.request.store === false) return;
  call.stored.keep(responseIdOf(call.received.number), [...call.items, ...output]);
}

/** Whole answers have the field `billing`, which streams do not have. */
function wholeAnswer(call: Call, turn: Turn, response: SimulatedResponse): WholeAnswer {
  const body = JSON.stringify({ ...response, billing: { payer: "developer" } });
  return { status: 200, headers: headersOf(call, turn, "application/json"), body };
}

function renderStream(call: Call, turn: Turn): ReturnType<PreparedCall["renderStream"]> {
  const items = itemSettingsOf(call.received.number, call.request, turn);
  const obfuscates = call.request.stream_options?.include_obfuscation ?? true;
  const headers = headersOf(call, turn, "text/event-stream; charset=utf-8");
  const onFinished = (output: readonly CheckedItem[]): void => keep(call, output);
  return renderEvents({ turn, items, states: call.states, obfuscates, onFinished }, headers);
}

function headersOf(call: Call, turn: Turn, contentType: string): Record<string, string> {
  return openaiHeaders(call.received, { contentType, inputTokens: turn.usage.inputTokens });
}
