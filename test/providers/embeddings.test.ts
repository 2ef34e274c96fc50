/** Answers with embeddings that are not what they should be. */
import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ServerError } from "../../src/core/errors.ts";
import { EmbedRequestSchema } from "../../src/gen/outrigger/v1/embedding_service_pb.ts";
import { createEmbeddingProtocol } from "../../src/providers/embeddings.ts";
import { createEmbeddingProtocol as createGeminiProtocol } from "../../src/providers/gemini/embeddings.ts";

const openai = createEmbeddingProtocol("openai", "openai");
const gemini = createGeminiProtocol("gemini", "v1beta");
const request = create(EmbedRequestSchema, { model: "m", texts: ["a", "b"] });

describe("An answer with embeddings", () => {
  it("is read by the indices of its vectors, in either encoding", () => {
    const base64 = Buffer.from(Float32Array.of(0.5, 2).buffer).toString("base64");
    const data = [
      { index: 1, embedding: [1, 2] },
      { index: 0, embedding: base64 },
    ];
    const answer = openai.toAnswer(
      JSON.stringify({ data, model: "x", usage: { prompt_tokens: 3 } }),
      request,
    );
    expect(answer.vectors).toEqual([
      [0.5, 2],
      [1, 2],
    ]);
    expect(answer).toMatchObject({ model: "x", usage: { inputTokens: 3, outputTokens: 0, totalTokens: 3 } });
    expect(
      openai.toAnswer(JSON.stringify({ data: [{ embedding: [1] }, { embedding: [2] }] }), request).vectors,
    ).toEqual([[1], [2]]);
  });

  it.each([
    ["[1e999,1]", "Infinity"],
    ["[1,-1e999]", "-Infinity"],
    ["[3.5e38]", "3.5e+38"],
    [JSON.stringify(Buffer.from(Float32Array.of(1, Number.NaN).buffer).toString("base64")), "NaN"],
  ])("is refused if a vector is %s, which no caller could read", (vector, found) => {
    const problem = `the provider's answer has a vector with ${found}; expected finite 32-bit floats`;
    const body = `{"data":[{"embedding":[3.4028234663852886e38]},{"embedding":${vector}}]}`;
    expect(() => openai.toAnswer(body, request)).toThrow(new ServerError(problem));
    if (vector.startsWith('"')) return;
    const values = `{"embeddings":[{"values":[-3.4028234663852886e38]},{"values":${vector}}]}`;
    expect(() => gemini.toAnswer(values, request)).toThrow(new ServerError(problem));
  });

  it.each([
    "",
    "null",
    "{}",
    '{"data":[{"index":0,"embedding":[1]}]}',
    '{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}',
    '{"data":[{"index":0,"embedding":[1]},{"index":5,"embedding":[1]}]}',
    '{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}',
    '{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":["1"]}]}',
  ])("is a failure of the provider if a vector is missing: %s", (body) => {
    expect(() => openai.toAnswer(body, request)).toThrow(ServerError);
  });

  it.each([
    "",
    "{}",
    '{"embeddings":[{"values":[1]}]}',
    '{"embeddings":[{"values":[1]},{"values":[2]},{"values":[3]}]}',
  ])("of Gemini is a failure of the provider if the vectors are not one for each text: %s", (body) => {
    expect(() => gemini.toAnswer(body, request)).toThrow(ServerError);
  });

  it("of Gemini has the vectors in the order of the texts", () => {
    const body = '{"embeddings":[{"values":[1]},{"values":[2]}],"usageMetadata":{"promptTokenCount":4}}';
    expect(gemini.toAnswer(body, request)).toMatchObject({ vectors: [[1], [2]], usage: { inputTokens: 4 } });
  });
});

describe("A request for embeddings", () => {
  it("has the provider's options in its body", () => {
    const asked = create(EmbedRequestSchema, {
      model: "m",
      texts: ["a"],
      dimensions: 2,
      providerOptionsJson: { openai: '{"user":"u"}', gemini: '{"title":"t"}' },
    });
    expect(JSON.parse(openai.toWire(asked).body)).toEqual({
      model: "m",
      input: ["a"],
      encoding_format: "base64",
      dimensions: 2,
      user: "u",
    });
    const { path, body } = gemini.toWire(asked);
    expect(path).toBe("/v1beta/models/m:batchEmbedContents");
    expect(JSON.parse(body)).toEqual({
      requests: [
        { model: "models/m", content: { parts: [{ text: "a" }] }, outputDimensionality: 2, title: "t" },
      ],
    });
  });
});
