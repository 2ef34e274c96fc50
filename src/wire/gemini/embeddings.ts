/** Embeddings (provider documentation: "Embeddings", `embedContent`, `batchEmbedContents`). */
import type { ContentEmbedding } from "@google/genai";
import type { Content } from "./request.ts";
import type { UsageMetadata } from "./response.ts";

/** The body of `embedContent`, and an element of `requests` ("EmbedContentRequest"). */
export interface EmbedContentRequest {
  readonly model?: string;
  readonly content?: Content;
  /** For instance `RETRIEVAL_QUERY`. */
  readonly taskType?: string;
  readonly title?: string;
  readonly outputDimensionality?: number;
}

/** The body of `batchEmbedContents`. */
export interface BatchEmbedContentsRequest {
  readonly requests: readonly EmbedContentRequest[];
}

/** The answer of `batchEmbedContents`. */
export interface BatchEmbedContentsResponse {
  readonly embeddings?: readonly ContentEmbedding[];
  /** Only newer models report it. */
  readonly usageMetadata?: UsageMetadata;
}

/** Maximum number of requests in a batch. */
export const MAX_BATCH = 100;
