/** Statuses of a provider reach the SDKs of other APIs as statuses on which they decide in the same way. */
import Anthropic from "@anthropic-ai/sdk";
import { ApiError, GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";

const servers = useTestServers();

/** Calls a model by the SDK of an API, with one retry. */
type Call = (url: string, sim: string) => Promise<unknown>;

const SDKS: readonly (readonly [string, Call])[] = [
  [
    "Responses",
    (url, sim) =>
      new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 1 }).responses.create({
        model: `anthropic/${sim}`,
        input: "Hello",
        max_output_tokens: 100,
      }),
  ],
  [
    "Chat Completions",
    (url, sim) =>
      new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 1 }).chat.completions.create({
        model: `anthropic/${sim}`,
        messages: [{ role: "user", content: "Hello" }],
        max_tokens: 100,
      }),
  ],
  [
    "Messages",
    (url, sim) =>
      new Anthropic({ apiKey: "any", baseURL: url, maxRetries: 1 }).messages.create({
        model: `openai/${sim}`,
        messages: [{ role: "user", content: "Hello" }],
        max_tokens: 100,
      }),
  ],
];

describe.each(SDKS)("The SDK of %s", (name, call) => {
  const type = (own: string) => (name === "Messages" ? own : "invalid_request_error");

  it("tries again after a conflict at the provider", async () => {
    const { server, simulator } = await startApi(servers);
    const error = { status: 409, type: type("conflict_error") };
    await expect(call(server.url, "sim-text:status=409")).rejects.toMatchObject(error);
    expect(simulator.requests).toHaveLength(2);
  });

  it("does not try again after a request that is too large for the provider", async () => {
    const { server, simulator } = await startApi(servers);
    const error = { status: 413, type: type("request_too_large") };
    await expect(call(server.url, "sim-text:status=413")).rejects.toMatchObject(error);
    expect(simulator.requests).toHaveLength(1);
  });

  it("does not try again if the provider's account is not paid", async () => {
    const { server, simulator } = await startApi(servers);
    const isMessages = name === "Messages";
    const error = {
      status: isMessages ? 402 : 429,
      type: isMessages ? "billing_error" : "insufficient_quota",
    };
    await expect(call(server.url, "sim-text:status=402")).rejects.toMatchObject(error);
    expect(simulator.requests).toHaveLength(1);
  });
});

it("Google's SDK gets the statuses of another API's provider", async () => {
  const { server } = await startApi(servers);
  const { models } = new GoogleGenAI({ apiKey: "any", httpOptions: { baseUrl: server.url } });
  for (const status of [409, 413]) {
    const model = `openai/sim-text:status=${status}`;
    const error = await models.generateContent({ model, contents: "Hello" }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error.status).toBe(status);
  }
});

it.each([
  ["/v1/responses", { input: "a" }],
  ["/v1/chat/completions", { messages: [{ role: "user", content: "a" }] }],
  ["/v1/messages", { messages: [{ role: "user", content: "a" }], max_tokens: 100 }],
])("%s takes a top_p of 0 and names its range for others", async (path, body) => {
  const api = await startApi(servers);
  const post = (top_p: number) =>
    api.fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ...body, model: "gemini/sim-text", top_p }),
    });
  expect((await post(0)).status).toBe(200);
  expect(JSON.stringify(api.simulator.requests.at(-1)?.body)).toContain('"topP":0');
  const refused = await post(1.5);
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain("from 0 to 1");
});
