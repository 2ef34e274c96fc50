import type { GenerateContentRequest } from "../../src/wire/gemini/request.ts";
import type { ModelChoice } from "../model-choice.ts";
import type { Turn } from "../script/turn.ts";
import type { ModelCall, PreparedCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import { type PartSettings, wholeParts } from "./answer-parts.ts";
import { authenticate } from "./authenticate.ts";
import { checkConversation } from "./conversation.ts";
import { countTokens } from "./count-tokens.ts";
import { embedAll, embedOne } from "./embeddings.ts";
import { describeFailure, rejectAsGemini } from "./failure.ts";
import { geminiHeaders, jsonAnswer, jsonType } from "./headers.ts";
import { checkGenerateRequest } from "./parameters.ts";
import { notFound, rejectingProblems, renderError } from "./problem.ts";
import { readPrompt } from "./read-prompt.ts";
import { blockedObject, finalObject, isBlocked, type ResponseOrigin } from "./response-object.ts";
import { renderStream } from "./stream.ts";
import { methods, readTarget, type Target } from "./target.ts";
import { checkSignatures } from "./thought-signatures.ts";
import { checkToolUse } from "./tool-checks.ts";

/** Gemini's `generateContent` and `streamGenerateContent`, token counts and embeddings. */
export function createGemini(): WireFormat {
  return {
    name: "gemini",
    endpoints: methods.map((method) => `POST /v1beta/models/{model}:${method}`),
    matches: (request) => readTarget(request) !== undefined,
    getModel: (request) => readTarget(request)?.model ?? "",
    read: (request) => rejectingProblems(request, () => read(request)),
    reject: rejectAsGemini,
  };
}

function read(request: ReceivedRequest): ModelCall {
  const target = readTarget(request);
  if (target === undefined || request.method !== "POST") {
    throw notFound();
  }
  authenticate(request);
  return {
    model: target.model,
    prepare: (choice) => rejectingProblems(request, () => prepare(request, target, choice)),
  };
}

function prepare(received: ReceivedRequest, target: Target, choice: ModelChoice): PreparedCall | WholeAnswer {
  switch (target.method) {
    case "countTokens":
      return countTokens(received);
    case "embedContent":
      return embedOne(received);
    case "batchEmbedContents":
      return embedAll(received);
    default:
      return prepareAnswer(received, target, choice);
  }
}

function prepareAnswer(received: ReceivedRequest, target: Target, choice: ModelChoice): PreparedCall {
  const request = checkGenerateRequest(received.body);
  checkToolUse(request);
  const contents = checkConversation(request);
  const signs = choice.script === "reasoning";
  checkSignatures(contents, signs);
  const prompt = readPrompt(request, contents);
  const settings = toSettings(received, request, signs);
  const getOrigin = (turn: Turn): ResponseOrigin => ({
    responseId: received.requestId,
    model: target.model,
    turn,
    attachments: prompt.attachments,
  });
  return {
    prompt,
    stream: target.streams,
    renderWhole: (turn) => renderWhole(received, getOrigin(turn), settings),
    renderFailed: (_turn, code) => renderError(received, describeFailure(code)),
    renderStream: (turn) =>
      renderStream(
        { origin: getOrigin(turn), settings, sse: target.sse },
        geminiHeaders(received, target.sse ? "text/event-stream" : jsonType),
      ),
  };
}

function toSettings(
  { number: requestNumber }: ReceivedRequest,
  { generationConfig: { thinkingConfig, responseModalities = [] } = {} }: GenerateContentRequest,
  signs: boolean,
): PartSettings {
  return {
    requestNumber,
    signs,
    showsThoughts: thinkingConfig?.includeThoughts === true,
    allowsText: responseModalities.length === 0 || responseModalities.includes("TEXT"),
  };
}

function renderWhole(received: ReceivedRequest, origin: ResponseOrigin, settings: PartSettings): WholeAnswer {
  const { turn } = origin;
  const answer = isBlocked(turn) ? blockedObject(origin) : finalObject(origin, wholeParts(turn, settings));
  return jsonAnswer(received, answer);
}
