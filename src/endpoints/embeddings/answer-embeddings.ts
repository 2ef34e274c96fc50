import { withFieldPaths } from "../../client/field-paths.ts";
import { toSdkError } from "../../core/errors.ts";
import type { EmbedRequest, EmbedResponse } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import { embed } from "../../generation/loop/model-calls.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { RequestWarning } from "../openai/request-notes.ts";
import { writeWarnings } from "../openai/warnings-header.ts";

/** A request for embeddings that was read from a body. */
export interface ReadEmbeddingRequest {
  readonly request: EmbedRequest;
  /** Parts of the request that have no effect. */
  readonly warnings: readonly RequestWarning[];
  /** Returns the path in the body of a field of the contract. */
  toBodyPath(field: string): string;
}

/**
 * Embeds the texts of a request, and returns them in the form of the API.
 * @throws SDKError with the paths of the body.
 */
export async function answerEmbeddings(
  read: ReadEmbeddingRequest,
  { client, signal }: EndpointRequest,
  write: (response: EmbedResponse) => object,
): Promise<EndpointResponse> {
  try {
    const response = await embed(client, read.request, { signal });
    const answer = jsonResponse(write(response));
    const warnings = writeWarnings(read, read.warnings, response.warnings);
    return { ...answer, headers: { ...answer.headers, ...warnings } };
  } catch (thrown) {
    throw withFieldPaths(toSdkError(thrown), (field) => read.toBodyPath(field));
  }
}
