import { isJsonObject } from "../json-object.ts";
import type { ModelChoice } from "../model-choice.ts";
import { namedModel } from "../named-model.ts";
import { countPromptTokens } from "../script/prompt.ts";
import type { Turn } from "../script/turn.ts";
import type { ModelCall, PreparedCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import { type RenderedBlock, renderBlocks } from "./answer-blocks.ts";
import { authenticate, readVersion } from "./authenticate.ts";
import { missing, string } from "./check.ts";
import { checkConversation } from "./conversation.ts";
import type { CreateRequest } from "./create-request.ts";
import { rejectAsAnthropic, renderFailed } from "./failure.ts";
import { anthropicHeaders } from "./headers.ts";
import { withoutOptions } from "./ids.ts";
import { finishedMessage, type TransformedInput } from "./message-object.ts";
import { checkCountRequest, checkCreateRequest } from "./parameters.ts";
import { invalidRequest, methodNotAllowed, rejectingProblems } from "./problem.ts";
import { readPrompt } from "./read-prompt.ts";
import { renderEvents } from "./stream.ts";
import { type CheckedThinking, checkThinkingBlocks } from "./thinking-checks.ts";
import { checkToolUse } from "./tool-checks.ts";

const messagesPath = "/v1/messages";
const countPath = `${messagesPath}/count_tokens`;

/** Anthropic's Messages API: `POST /v1/messages`, streaming and not, and `POST /v1/messages/count_tokens`. */
export function createAnthropicMessages(): WireFormat {
  return {
    name: "anthropic-messages",
    endpoints: [`POST ${messagesPath}`, `POST ${countPath}`],
    matches: ({ path }) => path === messagesPath || path === countPath,
    getModel: namedModel,
    read: (request) => rejectingProblems(request, () => read(request)),
    reject: rejectAsAnthropic,
  };
}

function read(request: ReceivedRequest): ModelCall {
  if (request.method !== "POST") throw methodNotAllowed();
  authenticate(request.headers);
  readVersion(request.headers);
  const model = readModel(request);
  const answer = request.path === countPath ? countTokens : prepare;
  return { model, prepare: (choice) => rejectingProblems(request, () => answer(request, choice)) };
}

function readModel({ body }: ReceivedRequest): string {
  if (!isJsonObject(body)) {
    throw invalidRequest("The request body is not valid JSON: expected an object");
  }
  const { model } = body;
  if (model === undefined) throw missing("model");
  string({ minimum: 1 })(model, "model");
  return String(model);
}

function prepare(received: ReceivedRequest, choice: ModelChoice): PreparedCall {
  const request = checkCreateRequest(received);
  checkToolUse(request);
  const turns = checkConversation(request);
  const thinking = checkThinkingBlocks(request, turns, choice);
  const call: Call = { received, request, model: withoutOptions(choice.model), thinking };
  const transformed = reportDropped(request, thinking);
  return {
    prompt: readPrompt(request, turns),
    stream: request.stream === true,
    renderWhole: (turn) => {
      const content = getBlocks(call, turn).map(({ whole }) => whole);
      const message = { ...finishedMessage(received.number, request.model, turn, content), ...transformed };
      const headers = createHeaders(call, turn, "application/json");
      return { status: 200, headers, body: JSON.stringify(message) };
    },
    renderFailed: (_turn, code) => renderFailed(received, code),
    renderStream: (turn) =>
      renderEvents(
        {
          requestNumber: received.number,
          model: request.model,
          turn,
          blocks: getBlocks(call, turn),
          transformed,
        },
        createHeaders(call, turn, "text/event-stream; charset=utf-8"),
      ),
  };
}

function countTokens(received: ReceivedRequest, choice: ModelChoice): WholeAnswer {
  const request = checkCountRequest(received);
  checkToolUse(request);
  const turns = checkConversation(request);
  checkThinkingBlocks(request, turns, choice);
  const headers = anthropicHeaders(received, { contentType: "application/json", usage: undefined });
  const body = { input_tokens: countPromptTokens(readPrompt(request, turns)) };
  return { status: 200, headers, body: JSON.stringify(body) };
}

interface Call {
  readonly received: ReceivedRequest;
  readonly request: CreateRequest;
  readonly model: string;
  readonly thinking: CheckedThinking;
}

/** Reports the blocks that the API dropped, if the request can ask for that. */
function reportDropped({ thinking }: CreateRequest, { dropped }: CheckedThinking): TransformedInput {
  if (thinking == null || !("block_binding" in thinking)) return {};
  const input_transformations = dropped.map((path) => ({
    type: "thinking_dropped" as const,
    reason: "prefix_binding_mismatch" as const,
    path,
  }));
  return { input_transformations };
}

function getBlocks(
  { received, request, model, thinking: { before } }: Call,
  turn: Turn,
): readonly RenderedBlock[] {
  return renderBlocks(turn, {
    requestNumber: received.number,
    model,
    before,
    showsThinking: showsThinking(request),
  });
}

/** Adaptive thinking is hidden unless the request asks for it; thinking with a budget is shown. */
function showsThinking({ thinking }: CreateRequest): boolean {
  const requested = thinking != null && "display" in thinking ? thinking.display : undefined;
  const display = requested ?? (thinking?.type === "enabled" ? "summarized" : "omitted");
  return display === "summarized";
}

function createHeaders(call: Call, { usage }: Turn, contentType: string): Record<string, string> {
  return anthropicHeaders(call.received, { contentType, usage });
}
