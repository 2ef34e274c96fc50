/** Embeddings of Gemini (provider documentation: "Embeddings", `batchEmbedContents`). */
import { invalidField } from "../../core/errors.ts";
import type { EmbedRequest } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import type { EmbeddingAnswer, EmbeddingProtocol } from "../../kit/adapter/http-adapter.ts";
import { asJson, mergeObjects, objectIn, objectsIn, tryReadJson } from "../../kit/json/json.ts";
import {
  type BatchEmbedContentsResponse,
  type EmbedContentRequest,
  MAX_BATCH,
} from "../../wire/gemini/embeddings.ts";
import { readOptions, requireVectors, toNumbers } from "../embeddings.ts";
import { PROVIDER_NAME } from "./context.ts";
import { toMethodPath, toResourceName } from "./request.ts";
import { toUsage } from "./usage.ts";

/** Creates the protocol. @param version Version of the API, for instance `v1beta`. */
export function createEmbeddingProtocol(provider: string, version: string): EmbeddingProtocol {
  return {
    toWire(request) {
      check(request);
      const options = readOptions(request, [provider, PROVIDER_NAME]);
      const requests = request.texts.map((text) => mergeObjects(asJson(toRequest(request, text)), options));
      const path = toMethodPath(version, request.model, "batchEmbedContents");
      return { path, headers: {}, body: JSON.stringify({ requests }), warnings: [] };
    },
    toAnswer,
  };
}

function check({ texts, tokenSequences }: EmbedRequest): void {
  if (tokenSequences.length > 0)
    throw invalidField("token_sequences", "the Gemini API embeds only texts; send texts");
  if (texts.length > MAX_BATCH)
    throw invalidField(
      "texts",
      `expected at most ${MAX_BATCH} texts for this provider, found ${texts.length}`,
    );
}

function toRequest({ model, taskType, dimensions }: EmbedRequest, text: string): EmbedContentRequest {
  return {
    model: toResourceName(model),
    content: { parts: [{ text }] },
    ...(taskType === "" ? {} : { taskType: taskType.toUpperCase() }),
    ...(dimensions === undefined ? {} : { outputDimensionality: dimensions }),
  };
}

function toAnswer(body: string, { texts }: EmbedRequest): EmbeddingAnswer {
  const { embeddings, usageMetadata } = objectIn<BatchEmbedContentsResponse>(tryReadJson(body));
  const vectors = objectsIn<{ values: number[] }>(embeddings).map(({ values }) => toNumbers(values));
  return { vectors: requireVectors(vectors, texts.length), model: "", usage: toUsage(usageMetadata, false) };
}
