import type { GenerateContentRequest } from "../../src/wire/gemini/request.ts";
import { countPromptTokens } from "../script/prompt.ts";
import type { ReceivedRequest, WholeAnswer } from "../wire-format.ts";
import { checkConversation } from "./conversation.ts";
import { jsonAnswer } from "./headers.ts";
import { invalidArgument } from "./problem.ts";
import { message, type Read, readMessage, repeated } from "./proto-json.ts";
import { readPrompt } from "./read-prompt.ts";
import { content, generateContentRequest as requestMessage } from "./request-message.ts";

/** The body: a conversation, or a whole request. */
interface CountTokensRequest {
  readonly contents?: GenerateContentRequest["contents"];
  readonly generateContentRequest?: GenerateContentRequest;
}

const countTokensRequest: Read = message<CountTokensRequest>("CountTokensRequest", () => ({
  contents: repeated(content),
  generateContentRequest: requestMessage,
}));

/** Answers `countTokens`. Throws the error that Google returns. */
export function countTokens(received: ReceivedRequest): WholeAnswer {
  const { contents = [], generateContentRequest } = readMessage<CountTokensRequest>(
    countTokensRequest,
    received.body,
  );
  if (contents.length > 0 && generateContentRequest !== undefined) {
    throw invalidArgument("Only one of contents and generate_content_request can be set.");
  }
  const request = generateContentRequest ?? { contents };
  const totalTokens = countPromptTokens(readPrompt(request, checkConversation(request)));
  const promptTokensDetails = [{ modality: "TEXT", tokenCount: totalTokens }];
  return jsonAnswer(received, { totalTokens, promptTokensDetails });
}
