/** The methods of a model of the Gemini API, for the models of every provider. */

import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import type { RouteDefinition } from "../../http/route-table.ts";
import { answerRequest, type StatelessParts } from "../answers/answer-request.ts";
import { checkContentType } from "../openai/fields.ts";
import { countRequest } from "../stateless/count-request.ts";
import { batchEmbedContents, embedContent } from "./embeddings.ts";
import { failedGeneration } from "./errors.ts";
import { readCountRequest, readRequest } from "./read-request.ts";
import { GenerationWriter } from "./write-events.ts";
import { writeAnswer } from "./write-response.ts";

/**
 * The beginning of the paths: Google's newer clients use `/v1`, others `/v1beta`. The AI SDK leaves out `models` before
 * names with a slash.
 */
export type GeminiRoot = "/v1/models" | "/v1beta/models" | "/v1beta";

/** Creates the routes. Names of models may contain slashes, plain or percent-encoded. */
export function geminiRoutes(root: GeminiRoot, parts: StatelessParts): RouteDefinition[] {
  const toRoute = (name: string, serve: RouteDefinition["serve"]): RouteDefinition => ({
    method: "POST",
    path: `${root}/{model+}:${name}`,
    fail: failedGeneration,
    keyParameter: "key",
    serve,
  });
  return [
    toRoute("generateContent", (request, model = "") => generate(request, model, false, parts)),
    toRoute("streamGenerateContent", (request, model = "") => generate(request, model, true, parts)),
    toRoute("countTokens", (request, model = "") => countModelTokens(request, model, parts)),
    toRoute("embedContent", (request, model = "") => embedContent(request, model, parts.models)),
    toRoute("batchEmbedContents", (request, model = "") => batchEmbedContents(request, model, parts.models)),
  ];
}

async function generate(
  request: EndpointRequest,
  model: string,
  isStreamed: boolean,
  parts: StatelessParts,
): Promise<EndpointResponse> {
  checkContentType(request.headers["content-type"]);
  const form = request.query.get("alt") === "sse" ? "events" : "list";
  // Adapters stream server-sent events, so a list cannot be relayed.
  const mayRelay = !isStreamed || form === "events";
  const read = readRequest(await request.readBody(), { models: parts.models, model, isStreamed, mayRelay });
  const format = {
    writeAnswer: (response: Response) => writeAnswer(response, read),
    createWriter: () => new GenerationWriter(read, form),
  };
  return answerRequest(read, format, request, parts);
}

async function countModelTokens(
  request: EndpointRequest,
  model: string,
  parts: StatelessParts,
): Promise<EndpointResponse> {
  checkContentType(request.headers["content-type"]);
  const read = readCountRequest(await request.readBody(), { models: parts.models, model });
  return countRequest(read, request, parts, (totalTokens) => ({ totalTokens }));
}
