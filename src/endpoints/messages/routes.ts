/** `POST /v1/messages` and `/v1/messages/count_tokens`: Anthropic's Messages API, for the models of every provider. */

import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import type { RouteDefinition } from "../../http/route-table.ts";
import { answerRequest, type StatelessParts } from "../answers/answer-request.ts";
import { checkContentType } from "../openai/fields.ts";
import { countRequest } from "../stateless/count-request.ts";
import { failedMessage } from "./errors.ts";
import { type ReadMessagesRequest, readRequest } from "./read-request.ts";
import { MessageWriter } from "./write-events.ts";
import { writeMessage } from "./write-response.ts";

/** Creates the routes. */
export function messagesRoutes(parts: StatelessParts): RouteDefinition[] {
  // Relayed answers of Anthropic have their request id in this header.
  const common = { method: "POST", fail: failedMessage, requestIdHeader: "request-id" };
  return [
    { ...common, path: "/v1/messages", serve: (request) => createMessage(request, parts) },
    { ...common, path: "/v1/messages/count_tokens", serve: (request) => countTokens(request, parts) },
  ];
}

async function createMessage(request: EndpointRequest, parts: StatelessParts): Promise<EndpointResponse> {
  const read = await readBody(request, parts, false);
  const format = {
    writeAnswer: (response: Response) => writeMessage(response, read.anthropic),
    createWriter: () => new MessageWriter(read.anthropic),
  };
  return answerRequest(read, format, request, parts);
}

async function countTokens(request: EndpointRequest, parts: StatelessParts): Promise<EndpointResponse> {
  const read = await readBody(request, parts, true);
  return countRequest(read, request, parts, (inputTokens) => ({ input_tokens: inputTokens }));
}

async function readBody(
  request: EndpointRequest,
  { models }: StatelessParts,
  isCount: boolean,
): Promise<ReadMessagesRequest> {
  const { headers } = request;
  checkContentType(headers["content-type"]);
  return readRequest(await request.readBody(), { models, betas: headers["anthropic-beta"], isCount });
}
