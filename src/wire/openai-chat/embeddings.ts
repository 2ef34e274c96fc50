/** Embeddings ("Create embeddings"), which OpenAI and compatible servers have alongside each of their APIs. */
import type {
  EmbeddingCreateParams,
  CreateEmbeddingResponse as SdkEmbeddingResponse,
} from "openai/resources/embeddings";

/** The path below a base URL with its version. */
export const EMBEDDINGS_PATH = "/embeddings";

/** The body ("Create embeddings", request). */
export type EmbeddingRequest = EmbeddingCreateParams;

/** The answer ("Create embeddings", response). */
export interface EmbeddingResponse extends Omit<SdkEmbeddingResponse, "data"> {
  readonly data: readonly EmbeddingObject[];
}

/** One vector ("The embedding object"). */
export interface EmbeddingObject {
  readonly index: number;
  /** Numbers, or base64 of floats with 32 bits, little-endian. */
  readonly embedding: readonly number[] | string;
}
