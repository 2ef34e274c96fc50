/** `POST /v1/embeddings`: OpenAI's embeddings, for the models of every provider that offers embeddings. */
import type { EmbedResponse } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import type { RouteDefinition } from "../../http/route-table.ts";
import type { ModelResolver } from "../models/model-directory.ts";
import { checkContentType } from "../openai/fields.ts";
import { answerEmbeddings } from "./answer-embeddings.ts";
import { readRequest } from "./read-request.ts";

/** Creates the routes. */
export function embeddingRoutes(models: ModelResolver): RouteDefinition[] {
  return [{ method: "POST", path: "/v1/embeddings", serve: (request) => createEmbeddings(request, models) }];
}

async function createEmbeddings(request: EndpointRequest, models: ModelResolver): Promise<EndpointResponse> {
  checkContentType(request.headers["content-type"]);
  const read = readRequest(await request.readBody(), models);
  return answerEmbeddings(read, request, (response) => writeEmbeddings(response, read.isBase64));
}

/** Usage is a required field of the API: without one it is zero. */
function writeEmbeddings({ embeddings, model, usage }: EmbedResponse, isBase64: boolean): object {
  const tokens = usage?.inputTokens ?? 0;
  return {
    object: "list",
    data: embeddings.map(({ values }, index) => ({
      object: "embedding",
      index,
      embedding: isBase64 ? toBase64(values) : values,
    })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

/** Floats with 32 bits, little-endian, as in the memory of every machine that Node runs on. */
function toBase64(values: readonly number[]): string {
  return Buffer.from(Float32Array.from(values).buffer).toString("base64");
}
