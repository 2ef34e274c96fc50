/** `POST /v1/embeddings`: OpenAI's embeddings, for the models of every provider that has some. */
import { withFieldPaths } from "../../client/field-paths.ts";
import { toSdkError } from "../../core/errors.ts";
import type { EmbedResponse } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import { embed } from "../../generation/loop/model-calls.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { RouteDefinition } from "../../http/route-table.ts";
import type { ModelDirectory } from "../models/model-directory.ts";
import { checkContentType } from "../openai/fields.ts";
import { toWarningsHeader } from "../openai/warnings-header.ts";
import { type ReadEmbeddingRequest, readRequest } from "./read-request.ts";

/** Creates the routes. */
export function embeddingRoutes(models: Pick<ModelDirectory, "resolve">): RouteDefinition[] {
  return [{ method: "POST", path: "/v1/embeddings", serve: (request) => createEmbeddings(request, models) }];
}

async function createEmbeddings(
  request: EndpointRequest,
  models: Pick<ModelDirectory, "resolve">,
): Promise<EndpointResponse> {
  checkContentType(request.headers["content-type"]);
  const read = readRequest(await request.readBody(), models);
  try {
    const response = await embed(request.client, read.request, { signal: request.signal });
    const answer = jsonResponse(writeEmbeddings(response, read));
    const told = response.warnings.map(({ code, field, message }) => ({
      code,
      param: read.toBodyPath(field),
      message,
    }));
    return { ...answer, headers: { ...answer.headers, ...toWarningsHeader([...read.warnings, ...told]) } };
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => read.toBodyPath(field));
  }
}

/** Usage is a required field of the API: without one it is zero. */
function writeEmbeddings(
  { embeddings, model, usage }: EmbedResponse,
  { isBase64 }: ReadEmbeddingRequest,
): object {
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
