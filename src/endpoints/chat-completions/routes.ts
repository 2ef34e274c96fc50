/** `POST /v1/chat/completions`: OpenAI's Chat Completions API, for the models of every provider. */
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import type { RouteDefinition } from "../../http/route-table.ts";
import { answerRequest, type StatelessParts } from "../answers/answer-request.ts";
import { checkContentType } from "../openai/fields.ts";
import { readRequest } from "./read-request.ts";
import { ChunkWriter } from "./write-events.ts";
import { writeCompletion } from "./write-response.ts";

/** Creates the routes. */
export function chatRoutes(parts: StatelessParts): RouteDefinition[] {
  return [
    { method: "POST", path: "/v1/chat/completions", serve: (request) => createCompletion(request, parts) },
  ];
}

async function createCompletion(request: EndpointRequest, parts: StatelessParts): Promise<EndpointResponse> {
  checkContentType(request.headers["content-type"]);
  const read = readRequest(await request.readBody(), parts.models);
  const format = {
    writeAnswer: (response: Response) => writeCompletion(response, read.customTools),
    createWriter: () => new ChunkWriter(read.includesUsage, read.customTools),
  };
  return answerRequest(read, format, request, parts);
}
