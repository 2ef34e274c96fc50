/** Embeddings in OpenAI's form ("Create embeddings"), which the adapters of its two APIs share. */
import { ServerError } from "../core/errors.ts";
import type { EmbedRequest } from "../gen/outrigger/v1/embedding_service_pb.ts";
import type { EmbeddingAnswer, EmbeddingProtocol } from "../kit/adapter/http-adapter.ts";
import { createUsage } from "../kit/adapter/usage.ts";
import { warning } from "../kit/call/loss-report.ts";
import {
  asCount,
  asJson,
  asString,
  type JsonObject,
  mergeObjects,
  objectIn,
  objectsIn,
  parseObjectField,
  textIn,
  tryReadJson,
} from "../kit/json/json.ts";
import {
  EMBEDDINGS_PATH,
  type EmbeddingObject,
  type EmbeddingRequest,
  type EmbeddingResponse,
} from "../wire/openai-chat/embeddings.ts";
import type { Untrusted } from "../wire/untrusted.ts";

/**
 * Creates the protocol of a server.
 * @param provider Name under which it is registered.
 * @param api Name of its API in `provider_options_json`.
 * @param toPath Returns a path with the query of every request.
 */
export function createEmbeddingProtocol(
  provider: string,
  api: string,
  toPath: (path: string) => string = (path) => path,
): EmbeddingProtocol {
  return {
    toWire(request) {
      const body = JSON.stringify(mergeObjects(toBody(request), readOptions(request, [provider, api])));
      const { taskType } = request;
      const message = "the provider has no such setting; it was left out";
      const warnings = taskType === "" ? [] : [warning("task_type", "unsupported_setting", message)];
      return { path: toPath(EMBEDDINGS_PATH), headers: {}, body, warnings };
    },
    toAnswer,
  };
}

/** Reads the options for a provider, by its registered name or by the name of its API. */
export function readOptions({ providerOptionsJson }: EmbedRequest, names: readonly string[]) {
  const name = names.find((each) => providerOptionsJson[each] !== undefined);
  if (name === undefined) return {};
  return parseObjectField(providerOptionsJson[name] ?? "", `provider_options_json["${name}"]`);
}

/** Base64 is a third as long as numbers; servers that do not know it send numbers. */
function toBody({ model, texts, tokenSequences, dimensions }: EmbedRequest): JsonObject {
  const input = tokenSequences.length === 0 ? [...texts] : tokenSequences.map(({ ids }) => [...ids]);
  const size = dimensions === undefined ? {} : { dimensions };
  return asJson({ model, input, encoding_format: "base64", ...size } satisfies EmbeddingRequest);
}

function toAnswer(body: string, { texts, tokenSequences }: EmbedRequest): EmbeddingAnswer {
  const answer = objectIn<EmbeddingResponse>(tryReadJson(body));
  const count = texts.length + tokenSequences.length;
  const vectors = new Map<number, number[]>();
  for (const [position, { index, embedding }] of objectsIn<EmbeddingObject>(answer.data).entries()) {
    const vector = toVector(embedding);
    if (vector !== undefined) vectors.set(asCount(index) ?? position, vector);
  }
  const inOrder = Array.from({ length: count }, (_, index) => vectors.get(index));
  return {
    vectors: requireVectors(inOrder, count),
    model: textIn(answer.model),
    usage: toUsage(answer.usage),
  };
}

function toVector(embedding: Untrusted<EmbeddingObject>["embedding"]): number[] | undefined {
  const base64 = asString(embedding);
  if (base64 === undefined) return toNumbers(embedding);
  const bytes = Buffer.from(base64, "base64");
  // A copy, since floats are read at addresses that are multiples of four.
  const floats = new Uint8Array(bytes.subarray(0, bytes.byteLength - (bytes.byteLength % 4)));
  const numbers = new Float32Array(floats.buffer);
  const values = new Array<number>(numbers.length);
  // Several times as fast as an iteration: a batch has millions of numbers.
  for (let index = 0; index < numbers.length; index += 1) values[index] = numbers[index] ?? 0;
  return values;
}

/** Returns a vector of an answer; undefined if it is none. */
export function toNumbers(value: unknown): number[] | undefined {
  const isVector = Array.isArray(value) && value.every((each) => typeof each === "number");
  return isVector ? value : undefined;
}

/** Largest number of the contract, which has vectors of 32-bit floats. */
const MAX_FLOAT = 3.4028234663852886e38;

/** Checks that there is a vector for each input. @throws ServerError if there is not, or if it has no valid numbers. */
export function requireVectors(
  vectors: readonly (number[] | undefined)[],
  count: number,
): readonly number[][] {
  const found = vectors.filter((vector): vector is number[] => vector !== undefined && vector.length > 0);
  if (found.length !== count || vectors.length !== count)
    throw new ServerError(`the provider's answer has ${found.length} vectors; expected ${count}`);
  for (const vector of found)
    for (let index = 0; index < vector.length; index += 1) checkFloat(vector[index] ?? 0);
  return found;
}

function checkFloat(value: number): void {
  // False for NaN too.
  if (Math.abs(value) <= MAX_FLOAT) return;
  throw new ServerError(`the provider's answer has a vector with ${value}; expected finite 32-bit floats`);
}

function toUsage(usage: unknown): EmbeddingAnswer["usage"] {
  const inputTokens = asCount(objectIn<EmbeddingResponse["usage"]>(usage).prompt_tokens);
  return inputTokens === undefined ? undefined : createUsage({ inputTokens, outputTokens: 0 });
}
