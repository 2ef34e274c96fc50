import { CHAT_COMPLETIONS_PATH } from "../../src/wire/openai-chat/request.ts";
import type { Completion } from "../../src/wire/openai-chat/response.ts";
import type { ModelChoice } from "../model-choice.ts";
import type { ModelOptions } from "../model-options.ts";
import { namedModel } from "../named-model.ts";
import { authenticate } from "../openai/authenticate.ts";
import { describeFailure, rejectAsOpenAI, toStatus } from "../openai/failure.ts";
import { openaiHeaders } from "../openai/headers.ts";
import { invalidRequest, Problem, rejectingProblems, renderProblem } from "../openai/problem.ts";
import { checkMethod, readModel } from "../openai/receive.ts";
import type { Turn } from "../script/turn.ts";
import type { ModelCall, PreparedCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import type { ChatCall } from "./chat-call.ts";
import { failedCompletion, wholeCompletion } from "./completion.ts";
import { checkConversation } from "./conversation.ts";
import { checkChatRequest, refuseForReasoning } from "./parameters.ts";
import { readPrompt } from "./read-prompt.ts";
import { renderChunks } from "./stream.ts";
import { checkToolUse } from "./tool-checks.ts";
import { chatWordings } from "./wordings.ts";

const path = `/v1${CHAT_COMPLETIONS_PATH}`;

/**
 * OpenAI's Chat Completions API, `POST /v1/chat/completions`, streaming and not: as OpenAI speaks it, and with the
 * quirks of other servers if the model string asks for them.
 */
export function createOpenAIChat(): WireFormat {
  return {
    name: "openai-chat",
    endpoints: [`POST ${path}`],
    matches: (request) => request.path === path,
    getModel: namedModel,
    read: (request) => rejectingProblems(request, () => read(request)),
    reject: (failure, request) => rejectAsOpenAI(failure, request, chatWordings),
  };
}

function read(request: ReceivedRequest): ModelCall {
  authenticate(request.headers);
  checkMethod(request, "POST");
  const model = readModel(request, () => invalidRequest("you must provide a model parameter", null, null));
  const prepareCall = (choice: ModelChoice): PreparedCall =>
    rejectingProblems(request, () => prepare(request, choice), choice.options.error_shape);
  return { model, prepare: prepareCall };
}

function prepare(received: ReceivedRequest, { script, options }: ModelChoice): PreparedCall {
  const request = checkChatRequest(received.body, options);
  const hidesReasoning = script === "reasoning" && options.reasoning_field === "none";
  if (hidesReasoning) refuseForReasoning(request);
  checkToolUse(request, options);
  checkConversation(request.messages, options);
  const call: ChatCall = { received, request, options, hidesReasoning };
  return {
    prompt: readPrompt(request, options),
    stream: request.stream === true && options.plain_json !== true,
    renderWhole: (turn) => answer(call, turn, wholeCompletion(turn, call)),
    renderFailed: (turn, code) => renderFailed(call, turn, code),
    renderStream: (turn) =>
      renderChunks(turn, call, createHeaders(call, turn, "text/event-stream; charset=utf-8")),
  };
}

/**
 * Renders a failed answer without streaming: OpenAI answers with the status of the error, OpenRouter with an error in
 * the answer.
 */
function renderFailed(call: ChatCall, turn: Turn, code: string | undefined): WholeAnswer {
  const { error_style: style = "event", error_shape: shape }: ModelOptions = call.options;
  if (style !== "event") return answer(call, turn, failedCompletion(turn, call, style, code));
  const error = describeFailure(code, chatWordings);
  return renderProblem(call.received, new Problem(toStatus(error.code), error), shape);
}

function answer(call: ChatCall, turn: Turn, completion: Completion): WholeAnswer {
  return {
    status: 200,
    headers: createHeaders(call, turn, "application/json"),
    body: JSON.stringify(completion),
  };
}

function createHeaders(call: ChatCall, turn: Turn, contentType: string): Record<string, string> {
  return openaiHeaders(call.received, { contentType, inputTokens: turn.usage.inputTokens });
}
