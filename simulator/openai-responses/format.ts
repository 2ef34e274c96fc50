import type { ModelChoice } from "../model-choice.ts";
import { namedModel } from "../named-model.ts";
import { authenticate } from "../openai/authenticate.ts";
import { missingParameter } from "../openai/check.ts";
import { rejectAsOpenAI } from "../openai/failure.ts";
import { openaiHeaders } from "../openai/headers.ts";
import { rejectingProblems } from "../openai/problem.ts";
import { checkMethod, readModel } from "../openai/receive.ts";
import { countPromptTokens } from "../script/prompt.ts";
import type { Turn } from "../script/turn.ts";
import type { ModelCall, PreparedCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import type { CheckedItem, CheckedRequest } from "./checked-request.ts";
import { gatherConversation } from "./conversation.ts";
import { finishedItem, getItemSettings } from "./output-items.ts";
import { checkCountRequest, checkCreateRequest, rejectSampling } from "./parameters.ts";
import { readPrompt } from "./read-prompt.ts";
import { createResponseStates, type ResponseStates, type SimulatedResponse } from "./response-object.ts";
import { answerStored, wholeBody } from "./retrieve.ts";
import { createStoredResponses, type StoredResponses } from "./stored-responses.ts";
import { renderEvents } from "./stream.ts";
import { checkToolUse } from "./tool-checks.ts";

const createPath = "/v1/responses";
const countPath = `${createPath}/input_tokens`;

/**
 * OpenAI's Responses API: `POST /v1/responses`, streaming and not, and `POST /v1/responses/input_tokens`. Unless a
 * request has `store: false`, its response can be continued with `previous_response_id`, fetched and deleted.
 */
export function createOpenAIResponses(): WireFormat {
  const stored = createStoredResponses();
  return {
    name: "openai-responses",
    endpoints: [
      `POST ${createPath}`,
      `POST ${countPath}`,
      `GET ${createPath}/{id}`,
      `DELETE ${createPath}/{id}`,
    ],
    matches: (request) => request.path === createPath || idIn(request) !== undefined,
    getModel: namedModel,
    read: (request) => rejectingProblems(request, () => read(request, stored)),
    reject: rejectAsOpenAI,
  };
}

function read(request: ReceivedRequest, stored: StoredResponses): ModelCall | WholeAnswer {
  authenticate(request.headers);
  const isCount = request.path === countPath;
  const id = idIn(request);
  if (id !== undefined && !isCount) return answerStored(request, id, stored);
  checkMethod(request, "POST");
  const model = readModel(request, () => missingParameter("model"));
  const answer = isCount ? countTokens : prepare;
  return { model, prepare: (choice) => rejectingProblems(request, () => answer(request, choice, stored)) };
}

/** Returns the last part of a path below `/v1/responses`. */
function idIn({ path }: ReceivedRequest): string | undefined {
  return /^\/v1\/responses\/([^/]+)$/.exec(path)?.[1];
}

function countTokens(received: ReceivedRequest, _choice: ModelChoice, stored: StoredResponses): WholeAnswer {
  const request = checkCountRequest(received.body);
  checkToolUse(request);
  const prompt = readPrompt(request, gatherConversation(request, stored));
  const body = { object: "response.input_tokens", input_tokens: countPromptTokens(prompt) };
  const headers = openaiHeaders(received, { contentType: "application/json", inputTokens: 0 });
  return { status: 200, headers, body: JSON.stringify(body) };
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

/** Creates the finished response. If it is stored, requests can continue it by its id from now on. */
function finish(call: Call, turn: Turn): SimulatedResponse {
  const settings = getItemSettings(call.received.number, call.request, turn);
  const output = turn.parts.map((part, index) => finishedItem(part, index, settings, "completed"));
  const response = call.states.finished(turn, output);
  keep(call, response);
  return response;
}

function keep(call: Call, response: SimulatedResponse): void {
  if (call.request.store !== false) call.stored.keep(response, call.items);
}

function wholeAnswer(call: Call, turn: Turn, response: SimulatedResponse): WholeAnswer {
  return { status: 200, headers: createHeaders(call, turn, "application/json"), body: wholeBody(response) };
}

function renderStream(call: Call, turn: Turn): ReturnType<PreparedCall["renderStream"]> {
  const items = getItemSettings(call.received.number, call.request, turn);
  const obfuscates = call.request.stream_options?.include_obfuscation ?? true;
  const headers = createHeaders(call, turn, "text/event-stream; charset=utf-8");
  const onFinished = (response: SimulatedResponse): void => keep(call, response);
  return renderEvents({ turn, items, states: call.states, obfuscates, onFinished }, headers);
}

function createHeaders(call: Call, turn: Turn, contentType: string): Record<string, string> {
  return openaiHeaders(call.received, { contentType, inputTokens: turn.usage.inputTokens });
}
