/** The endpoints alongside those that answer prompts, called by the providers' SDKs. */
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { useSimulator } from "./support.ts";

const simulator = useSimulator({ aliases: { "gpt-5.6": "sim-tools" } });

const openai = () => new OpenAI({ apiKey: "key", baseURL: simulator().openaiBaseUrl, maxRetries: 0 });
const anthropic = () =>
  new Anthropic({ apiKey: "key", baseURL: simulator().anthropicBaseUrl, maxRetries: 0 });
const gemini = () => new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: simulator().geminiBaseUrl } });

const MODELS = [
  ...["sim-text", "sim-echo", "sim-tools", "sim-call", "sim-reasoning", "sim-long", "sim-refusal"],
  "gpt-5.6",
];

async function collectIds<Entry>(
  entries: AsyncIterable<Entry>,
  toId: (entry: Entry) => string | undefined,
): Promise<(string | undefined)[]> {
  const ids: (string | undefined)[] = [];
  for await (const entry of entries) ids.push(toId(entry));
  return ids;
}

describe("the lists of models", () => {
  it("have every script and alias, in each provider's form", async () => {
    expect(await collectIds(openai().models.list(), ({ id }) => id)).toEqual(MODELS);
    expect(await collectIds(anthropic().models.list(), ({ id }) => id)).toEqual(MODELS);
    const named = MODELS.map((id) => `models/${id}`);
    expect(await collectIds(await gemini().models.list(), ({ name }) => name)).toEqual(named);
  });

  it("have pages at Anthropic and Gemini", async () => {
    expect(await collectIds(anthropic().models.list({ limit: 2 }), ({ id }) => id)).toEqual(MODELS);
    const before = await anthropic().models.list({ limit: 2, before_id: "sim-reasoning" });
    expect(before.data.map(({ id }) => id)).toEqual(["sim-tools", "sim-call"]);
    expect(before.has_more).toBe(true);
    const pages = await gemini().models.list({ config: { pageSize: 3 } });
    expect(pages.page).toHaveLength(3);
    expect(await collectIds(pages, ({ displayName }) => displayName)).toEqual(MODELS);
  });

  it("describe one model by its name, with its options", async () => {
    const name = "sim-text:rate=50";
    expect(await openai().models.retrieve(name)).toMatchObject({ id: name, object: "model" });
    expect(await anthropic().models.retrieve(name)).toMatchObject({ id: name, type: "model" });
    expect(await gemini().models.get({ model: name })).toMatchObject({ name: `models/${name}` });
  });

  it("do not have a model that is unknown", async () => {
    await expect(openai().models.retrieve("gpt-1")).rejects.toMatchObject({
      status: 404,
      code: "model_not_found",
    });
    await expect(anthropic().models.retrieve("claude-1")).rejects.toMatchObject({ status: 404 });
    await expect(gemini().models.get({ model: "gemini-0" })).rejects.toMatchObject({ status: 404 });
  });

  it("refuse wrong pages", async () => {
    await expect(anthropic().models.list({ limit: 0 })).rejects.toMatchObject({ status: 400 });
    await expect(anthropic().models.list({ after_id: "claude-1" })).rejects.toMatchObject({ status: 400 });
    await expect(gemini().models.list({ config: { pageToken: "x" } })).rejects.toMatchObject({ status: 400 });
  });
});

describe("requests of Codex", () => {
  it("describe the client and have tools in a namespace", async () => {
    const tool = { type: "function", name: "spawn_agent", strict: false, parameters: { type: "object" } };
    const { output_text } = await openai().responses.create({
      model: "sim-echo",
      input: "parrot",
      client_metadata: { session_id: "01a2031a", "x-codex-window-id": "01a2031a:0" },
      tools: [{ type: "namespace", name: "agents", description: "Runs agents.", tools: [tool] }],
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    expect(output_text).toBe("parrot");
  });
});

describe("token counts", () => {
  const system = "Answer in one sentence.";
  const question = "How is the weather in Oslo? ".repeat(20);

  it("equal the input tokens in Anthropic's answer", async () => {
    const prompt = { model: "sim-text", system, messages: [{ role: "user", content: question }] } as const;
    const { usage } = await anthropic().messages.create({
      ...prompt,
      messages: [...prompt.messages],
      max_tokens: 10,
    });
    const counted = await anthropic().messages.countTokens({ ...prompt, messages: [...prompt.messages] });
    expect(counted.input_tokens).toBe(usage.input_tokens);
    expect(counted.input_tokens).toBeGreaterThan(100);
  });

  it("equal the input tokens in OpenAI's answer, after earlier responses too", async () => {
    const first = await openai().responses.create({
      model: "sim-text",
      instructions: system,
      input: question,
    });
    const counted = await openai().responses.inputTokens.count({
      model: "sim-text",
      instructions: system,
      input: question,
    });
    expect(counted).toEqual({ object: "response.input_tokens", input_tokens: first.usage?.input_tokens });
    const next = { model: "sim-text", previous_response_id: first.id, input: "And tomorrow?" };
    const second = await openai().responses.create(next);
    expect((await openai().responses.inputTokens.count(next)).input_tokens).toBe(second.usage?.input_tokens);
  });

  it("equal the input tokens in Gemini's answer", async () => {
    const prompt = { model: "sim-text", contents: question };
    const { usageMetadata } = await gemini().models.generateContent(prompt);
    const { totalTokens } = await gemini().models.countTokens(prompt);
    expect(totalTokens).toBe(usageMetadata?.promptTokenCount);
    const whole = await fetch(`${simulator().url}/v1beta/models/sim-text:countTokens?key=k`, {
      method: "POST",
      body: JSON.stringify({ generateContentRequest: { contents: [{ parts: [{ text: question }] }] } }),
    });
    expect(await whole.json()).toMatchObject({ totalTokens });
  });

  it("are refused for fields that the provider does not take there", async () => {
    const call = anthropic().post("/v1/messages/count_tokens", {
      body: { model: "sim-text", max_tokens: 5, messages: [{ role: "user", content: "Hi" }] },
    });
    await expect(call).rejects.toThrow(/max_tokens: Extra inputs are not permitted/);
    const counted = openai().post("/responses/input_tokens", {
      body: { model: "sim-text", input: "Hi", max_output_tokens: 20 },
    });
    await expect(counted).rejects.toThrow(/Unknown parameter: 'max_output_tokens'/);
  });

  it("fail as the model string says", async () => {
    const call = anthropic().messages.countTokens({
      model: "sim-text:status=529",
      messages: [{ role: "user", content: "Hi" }],
    });
    await expect(call).rejects.toMatchObject({ status: 529 });
  });
});

describe("stored responses", () => {
  it("can be retrieved, whether they were streamed or not", async () => {
    const created = await openai().responses.create({ model: "sim-text", input: "Hello" });
    expect(await openai().responses.retrieve(created.id)).toEqual(created);
    const events = await openai().responses.create({ model: "sim-text", input: "Hello", stream: true });
    let last: OpenAI.Responses.Response | undefined;
    for await (const event of events) if (event.type === "response.completed") last = event.response;
    expect(await openai().responses.retrieve(last?.id ?? "")).toMatchObject({ ...last });
  });

  it("cannot be read after their deletion", async () => {
    const { id } = await openai().responses.create({ model: "sim-text", input: "Hello" });
    await openai().responses.delete(id);
    await expect(openai().responses.retrieve(id)).rejects.toThrow(`Response with id '${id}' not found.`);
  });

  it("do not exist with store: false", async () => {
    const { id } = await openai().responses.create({ model: "sim-text", input: "Hello", store: false });
    await expect(openai().responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it("cannot be streamed again", async () => {
    const { id } = await openai().responses.create({ model: "sim-text", input: "Hello" });
    const call = openai().responses.retrieve(id, { stream: true });
    await expect(call).rejects.toMatchObject({ code: "unsupported_by_simulator" });
  });
});

describe("embeddings", () => {
  const texts = ["The ship sails to Oslo", "the SHIP sails to Rome", "Compilers translate programs"];

  function similarity(left: readonly number[] = [], right: readonly number[] = []): number {
    return left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
  }

  it("are unit vectors at OpenAI, similar if texts share words", async () => {
    const { data, model, usage } = await openai().embeddings.create({ model: "sim-text", input: texts });
    const [oslo, rome, compilers] = data.map(({ embedding }) => embedding);
    expect(oslo).toHaveLength(1536);
    expect(similarity(oslo, oslo)).toBeCloseTo(1);
    expect(similarity(oslo, rome)).toBeGreaterThan(0.5);
    expect(similarity(oslo, compilers)).toBeLessThan(0.3);
    expect(model).toBe("sim-text");
    expect(usage.total_tokens).toBeGreaterThan(0);
  });

  it("have as many dimensions as the request says, as numbers or as base64", async () => {
    const request = { model: "sim-text", input: "", dimensions: 64 };
    await expect(openai().embeddings.create(request)).rejects.toMatchObject({ status: 400, param: "input" });
    const asked = { ...request, input: "Hello" };
    const floats = await openai().embeddings.create({ ...asked, encoding_format: "float" });
    const packed = await openai().embeddings.create({ ...asked, encoding_format: "base64" });
    const bytes = Buffer.from(String(packed.data[0]?.embedding), "base64");
    expect(floats.data[0]?.embedding).toHaveLength(64);
    expect(bytes).toHaveLength(4 * 64);
  });

  it("take tokens at OpenAI", async () => {
    const { data, usage } = await openai().embeddings.create({ model: "sim-text", input: [[1, 2], [3]] });
    expect(data).toHaveLength(2);
    expect(usage.prompt_tokens).toBe(3);
  });

  it("are the same at Gemini, for one content or several", async () => {
    const config = { outputDimensionality: 64 };
    const { embeddings } = await gemini().models.embedContent({ model: "sim-text", contents: texts, config });
    expect(embeddings?.map(({ values }) => values?.length)).toEqual([64, 64, 64]);
    const one = await fetch(`${simulator().url}/v1beta/models/sim-text:embedContent?key=k`, {
      method: "POST",
      body: JSON.stringify({ content: { parts: [{ text: texts[0] }] }, outputDimensionality: 64 }),
    });
    expect(await one.json()).toEqual({ embedding: embeddings?.[0] });
    const { data } = await openai().embeddings.create({ model: "sim-text", input: texts, dimensions: 64 });
    expect(similarity(data[0]?.embedding, embeddings?.[0]?.values)).toBeCloseTo(1);
  });

  it("are refused without content, and with too many dimensions", async () => {
    const model = "sim-text";
    await expect(gemini().models.embedContent({ model, contents: [] })).rejects.toMatchObject({
      status: 400,
    });
    const config = { outputDimensionality: 5000 };
    const call = gemini().models.embedContent({ model, contents: "Hi", config });
    await expect(call).rejects.toThrow(/output_dimensionality/);
  });
});
