/** Bodies of `POST /v1/embeddings` -> requests of the contract. */
import { expect, it } from "vitest";
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
])("A body like %j is read, or refused as invalid, with any value at any path", (whole) =>
  expectReadOrRefused(whole, (body) => readRequest(Buffer.from(body), models)),
);

function read(input: unknown) {
  return readRequest(Buffer.from(JSON.stringify({ model: "openai/m", input })), models);
}

it.each<[unknown, field: string, path: string]>([
  ["a", "texts[0]", "input"],
  [["a", "b"], "texts[1]", "input[1]"],
  [["a", "b"], "texts", "input"],
  [[1, 2], "token_sequences[0].ids", "input"],
  [[[1], [2]], "token_sequences[1].ids", "input[1]"],
  ["a", "provider", "model"],
  ["a", 'provider_options_json["openai"].user', "user"],
])("With the input %j the field %s is %s in the body", (input, field, path) => {
  expect(read(input).toBodyPath(field)).toBe(path);
});

it("Ids of tokens are whole numbers from 0 of 31 bits", () => {
  const largest = 2 ** 31 - 1;
  const { tokenSequences } = read([0, largest]).request;
  expect(tokenSequences.map(({ ids }) => ids)).toEqual([[0, largest]]);
  for (const id of [-1, 0.5, largest + 1, "1", null])
    expect(() => read([[1, id]])).toThrow(
      "input[0][1]: expected a token id, a whole number from 0 to 2147483647",
    );
});
