import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { embeddingRoutes } from "../../../src/endpoints/embeddings/routes.ts";
import { EmbedResponseSchema } from "../../../src/gen/outrigger/v1/embedding_service_pb.ts";
import type { ModelClient } from "../../../src/generation/loop/model-calls.ts";
import { call } from "../support/call.ts";
import { createDirectory } from "../support/directory.ts";

it("Embeddings have the warnings of their provider in a header, by the paths of the body", async () => {
  const client: ModelClient = {
    complete: () => expect.fail("was called"),
    stream: () => expect.fail("was called"),
    embed: async () =>
      create(EmbedResponseSchema, {
        model: "m",
        embeddings: [{ values: [0.5] }],
        warnings: [{ code: "cut_text", field: "texts[0]", message: "the text was cut" }],
      }),
  };
  const routes = embeddingRoutes(createDirectory({ providers: new Map([["gemini", "gemini"]]) }));
  const body = { model: "m", input: ["a"], user: "u" };
  const headers = { "content-type": "application/json" };
  const answer = await call(routes, "POST /v1/embeddings", { body, headers, client });
  expect(answer.body).toEqual({
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: [0.5] }],
    model: "m",
    usage: { prompt_tokens: 0, total_tokens: 0 },
  });
  const warnings = JSON.parse(answer.headers["outrigger-warnings"] ?? "[]");
  expect(warnings.map(({ param }: { param: string }) => param)).toEqual(["user", "input[0]"]);
});
