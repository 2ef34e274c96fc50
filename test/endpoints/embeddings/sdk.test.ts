/** OpenAI's official SDK against `/v1/embeddings` over real sockets, with a simulator of each provider behind it. */
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { accessKey } from "../../server/support/access-keys.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { startApi } from "../support/api-server.ts";

const servers = useTestServers();

const TEXTS = ["Grüße 👋", "Hello", "Hello"];

/** Cosine similarity of two vectors. */
function compare(left: readonly number[] = [], right: readonly number[] = []): number {
  const dot = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
}

describe.each(["openai", "gemini", "compatible"])("With %s behind it, /v1/embeddings", (provider) => {
  it("embeds texts, as base64 and as numbers, with the dimensions that are asked for", async () => {
    const { openai, simulator } = await startApi(servers);
    const request = { model: `${provider}/sim-text`, input: TEXTS, dimensions: 8 };
    // The SDK asks for base64 and decodes it.
    const { data, model, usage } = await openai.embeddings.create(request);
    const floats = await openai.embeddings.create({ ...request, encoding_format: "float" });
    expect(data.map(({ embedding, index, object }) => [embedding.length, index, object])).toEqual(
      TEXTS.map((_, index) => [8, index, "embedding"]),
    );
    expect(floats.data.map(({ embedding }) => embedding.map(Math.fround))).toEqual(
      data.map(({ embedding }) => embedding.map(Math.fround)),
    );
    expect(compare(data[1]?.embedding, data[2]?.embedding)).toBeCloseTo(1);
    expect(compare(data[0]?.embedding, data[2]?.embedding)).toBeLessThan(0.99);
    expect(model).toBe("sim-text");
    expect(usage.prompt_tokens).toBe(usage.total_tokens);
    if (provider !== "gemini") expect(usage.prompt_tokens).toBeGreaterThan(0);
    expect(simulator.requests).toHaveLength(2);
  });

  it("embeds one text", async () => {
    const { openai } = await startApi(servers);
    const { data } = await openai.embeddings.create({ model: `${provider}/sim-text`, input: "Hello" });
    expect(data).toHaveLength(1);
    expect(data[0]?.embedding.length).toBeGreaterThan(100);
  });

  it("takes ids of tokens if the provider does, and names the field otherwise", async () => {
    const { openai } = await startApi(servers);
    for (const input of [
      [1, 2, 3],
      [[1, 2], [3]],
    ]) {
      const asked = openai.embeddings.create({ model: `${provider}/sim-text`, input });
      if (provider === "gemini") await expect(asked).rejects.toMatchObject({ status: 400, param: "input" });
      else expect((await asked).data).toHaveLength(Array.isArray(input[0]) ? 2 : 1);
    }
  });

  it("throws the SDK's typed errors, with the paths of the body", async () => {
    const { openai } = await startApi(servers);
    const call = (body: object) =>
      openai.embeddings.create({ model: `${provider}/sim-text`, input: "Hello", ...body });
    const limited = call({ model: `${provider}/sim-text:status=429,retry_after=2` });
    await expect(limited).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    for (const [body, param] of [
      [{ input: ["a", ""] }, "input[1]"],
      [{ input: [] }, "input"],
      [{ input: ["a", [1]] }, "input[0]"],
      [{ dimensions: 0 }, "dimensions"],
      [{ encoding_format: "hex" }, "encoding_format"],
    ] as const)
      await expect(call(body), JSON.stringify(body)).rejects.toMatchObject({ status: 400, param });
  });
});

describe("/v1/embeddings", () => {
  it("says that a provider has no embeddings", async () => {
    const { openai } = await startApi(servers);
    const asked = openai.embeddings.create({ model: "anthropic/sim-text", input: "Hello" });
    await expect(asked).rejects.toMatchObject({
      status: 400,
      param: "model",
      message: expect.stringContaining('provider "anthropic" has no embeddings'),
    });
  });

  it("passes further settings to a provider of the same API, and warns elsewhere", async () => {
    const { openai, simulator } = await startApi(servers);
    const ask = (model: string) =>
      openai.embeddings.create({ model, input: "Hello", user: "u" }).withResponse();
    const same = await ask("openai/sim-text");
    expect(simulator.requests.at(-1)?.body).toMatchObject({ user: "u" });
    expect(same.response.headers.get("outrigger-warnings")).toBeNull();
    const other = await ask("gemini/sim-text");
    expect(JSON.parse(other.response.headers.get("outrigger-warnings") ?? "")).toMatchObject([
      { param: "user" },
    ]);
  });

  it("needs an access key", async () => {
    const access = new AccessControl({ current: () => [accessKey("a", ["a-key"])] });
    const { openai } = await startApi(servers, { access });
    const asked = openai.embeddings.create({ model: "openai/sim-text", input: "Hello" });
    await expect(asked).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });
});
