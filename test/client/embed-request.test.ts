/** The checks of a request for embeddings that hold for all providers, and its form for middleware. */
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Client, InvalidRequestError, type Middleware, type Response, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { type EmbedInput, toInputRequest } from "../../src/client/embed-request.ts";
import {
  type EmbedRequest,
  EmbedRequestSchema,
  EmbedResponseSchema,
} from "../../src/gen/outrigger/v1/embedding_service_pb.ts";
import { ScriptedAdapter } from "./support/scripted-adapter.ts";

/** The mistakes that a client finds. The provider has no embeddings, which is noticed after them. */
async function getViolations(changes: EmbedInput): Promise<string[]> {
  const client = new Client({ providers: { one: new ScriptedAdapter("one") } });
  const failure: unknown = await client.embed({ model: "m", ...changes }).catch((thrown: unknown) => thrown);
  if (!(failure instanceof InvalidRequestError)) throw failure;
  return failure.violations.map(({ field, description }) => `${field}: ${description}`);
}

const VALID = 'model: provider "one" has no embeddings';

describe("A request for embeddings", () => {
  it.each<[EmbedInput, string]>([
    [{ texts: ["a"] }, VALID],
    [{ tokenSequences: [{ ids: [1] }] }, VALID],
    [{ texts: ["a"], dimensions: 1, providerOptionsJson: { one: '{"models":[]}' } }, VALID],
    [{ texts: ["a"], model: " " }, "model: is empty, expected the provider's id of a model"],
    [{}, "texts: is empty, expected at least one text"],
    [{ texts: ["a", ""] }, "texts[1]: is empty, expected a text"],
    [
      { texts: ["a"], tokenSequences: [{ ids: [1] }] },
      "tokenSequences: is set together with texts, expected one of them",
    ],
    [
      { tokenSequences: [{ ids: [1] }, { ids: [] }] },
      "tokenSequences[1].ids: is empty, expected at least one id",
    ],
    [{ texts: ["a"], dimensions: 0 }, "dimensions: expected at least 1, found 0"],
    [
      { texts: ["a"], providerOptionsJson: { one: '{"Model":"other"}' } },
      'providerOptionsJson["one"].Model: expected no model here: it is set by `model` of the request',
    ],
    [
      { texts: ["a"], providerOptionsJson: { one: "[]" } },
      'providerOptionsJson["one"]: expected the text of a JSON object, found a list',
    ],
  ])("like %o has the outcome %s", async (changes, outcome) => {
    expect(await getViolations(changes)).toEqual([outcome]);
  });

  it("becomes a request for middleware, with the settings that apply and an estimate of its input", () => {
    const request = toInputRequest(
      create(EmbedRequestSchema, {
        model: "m",
        provider: "one",
        tokenSequences: [{ ids: [1, 2, 3] }],
        timeouts: { request: durationFromMs(5) },
        providerOptionsJson: { one: "{}" },
      }),
    );
    expect(request).toMatchObject({ model: "m", provider: "one", maxTokens: 1 });
    expect(request.messages.map(({ content }) => content[0]?.part.value)).toEqual(["000000000000"]);
    expect(request.timeouts?.request).toEqual(durationFromMs(5));
    expect(request.providerOptionsJson).toEqual({ one: "{}" });
  });
});

it("Embeddings and token counts use the model that middleware chooses, and report their usage to it", async () => {
  const adapter = Object.assign(new ScriptedAdapter("one"), {
    embed: async ({ provider, model }: EmbedRequest) =>
      create(EmbedResponseSchema, { provider, model, usage: { inputTokens: 3, totalTokens: 3 } }),
    countTokens: async () => 7,
  });
  const seen: Response[] = [];
  const middleware: Middleware = async (request, next) => {
    const response = await next({ ...request, model: "other" });
    seen.push(response);
    return response;
  };
  const client = new Client({ providers: { one: adapter }, middleware: [middleware] });
  const counted = { provider: "one", model: "other", inputTokens: 7, estimated: false };
  expect(await client.embed({ model: "m", texts: ["a"] })).toMatchObject({ provider: "one", model: "other" });
  expect(await client.countTokens({ model: "m", messages: [userMessage("hi")] })).toMatchObject(counted);
  const facts = { provider: "one", model: "other" };
  expect(seen).toMatchObject([{ ...facts, usage: { inputTokens: 3 } }, facts]);
  expect(seen[1]?.usage).toBeUndefined();
});
