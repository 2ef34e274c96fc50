/** Bodies of `POST /v1/embeddings` -> requests of the contract. */
import { it } from "vitest";
import { readRequest } from "../../../src/endpoints/embeddings/read-request.ts";
import { expectReadOrRefused } from "../support/changed-bodies.ts";
import { createDirectory } from "../support/directory.ts";

const models = createDirectory({
  providers: new Map([
    ["openai", "openai-responses"],
    ["gemini", "gemini"],
  ]),
});

it.each([
  { model: "openai/m", input: ["a", "b"], dimensions: 8, encoding_format: "float", user: "u" },
  { model: "gemini/m", input: [[1, 2], [3]], dimensions: 8, encoding_format: "base64", user: "u" },
])("A body like %j is read, or refused as invalid, with anything at any place", (whole) =>
  expectReadOrRefused(whole, (body) => readRequest(Buffer.from(body), models)),
);
