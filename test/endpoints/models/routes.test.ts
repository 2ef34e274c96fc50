import type { Model } from "openai/resources/models";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createCatalog } from "../../../src/catalog/catalog.ts";
import type { ProviderApi } from "../../../src/client/providers.ts";
import { failedGeneration } from "../../../src/endpoints/gemini/errors.ts";
import { failedMessage } from "../../../src/endpoints/messages/errors.ts";
import { modelRoutes } from "../../../src/endpoints/models/routes.ts";
import { failedResponse } from "../../../src/endpoints/openai/errors.ts";
import type { WriteFailure } from "../../../src/http/route-table.ts";
import { expectValid } from "../schemas/validate.ts";
import { call, keyHolder } from "../support/call.ts";
import { createDirectory } from "../support/directory.ts";

const providers = new Map<string, ProviderApi>([
  ["openai", "openai-responses"],
  ["router", "openai-chat"],
]);
const catalog = createCatalog({
  models: [{ id: "meta-llama/Llama-3", provider: "router", releaseDate: "2024-04-18" }],
});
const aliases = { fast: { provider: "router", model: "meta-llama/Llama-3" } };
const fail: WriteFailure = (error, { headers, query }) => {
  if (query.has("key")) return failedGeneration(error);
  return "anthropic-version" in headers ? failedMessage(error) : failedResponse(error);
};
const routes = modelRoutes(createDirectory({ providers, aliases, catalog }), fail);

describe("GET /v1/models", () => {
  it("lists the models of the registered providers and the aliases, in OpenAI's form", async () => {
    const { status, body } = await call(routes, "GET /v1/models");
    const data = body.data as Model[];
    expect([status, body.object]).toEqual([200, "list"]);
    expect(data).toContainEqual({
      id: "meta-llama/Llama-3",
      object: "model",
      created: Date.UTC(2024, 3, 18) / 1000,
      owned_by: "router",
    });
    expect(data.map(({ id }) => id)).toEqual(expect.arrayContaining(["fast", "gpt-5.2"]));
    expect(data.filter(({ id }) => id.startsWith("claude"))).toEqual([]);
  });

  it("lists them in Anthropic's form for its clients", async () => {
    const headers = { "anthropic-version": "2023-06-01" };
    const { body } = await call(routes, "GET /v1/models", { headers });
    const data = body.data as { id: string }[];
    expect(body).toMatchObject({ has_more: false, first_id: data[0]?.id, last_id: data.at(-1)?.id });
    const model = {
      type: "model",
      id: "meta-llama/Llama-3",
      display_name: "meta-llama/Llama-3",
      created_at: "2024-04-18T00:00:00.000Z",
    };
    expect(data).toContainEqual(model);
    const path = "GET /v1/models/router/meta-llama/Llama-3";
    expect((await call(routes, path, { headers })).body).toMatchObject({
      type: "model",
      display_name: model.id,
    });
  });

  it("lists them in pages for Anthropic's clients that ask for them, and fails in that form", async () => {
    const headers = { "anthropic-version": "2023-06-01" };
    const list = async (query: string) => {
      const { body } = await call(routes, `GET /v1/models?${query}`, { headers });
      return { ids: (body.data as { id: string }[]).map(({ id }) => id), has_more: body.has_more };
    };
    const { ids } = await list("");
    expect(await list("limit=2")).toEqual({ ids: ids.slice(0, 2), has_more: true });
    expect(await list(`limit=2&after_id=${ids[1]}`)).toEqual({ ids: ids.slice(2, 4), has_more: true });
    expect(await list(`after_id=${ids[1]}`)).toEqual({ ids: ids.slice(2), has_more: false });
    expect(await list(`limit=2&before_id=${ids[3]}`)).toEqual({ ids: ids.slice(1, 3), has_more: true });
    expect(await list(`limit=2&before_id=${ids[1]}`)).toEqual({ ids: ids.slice(0, 1), has_more: false });
    expect(await list(`limit=9&after_id=${ids.at(-1)}`)).toEqual({ ids: [], has_more: false });
    const wrong = await call(routes, "GET /v1/models?after_id=unheard-of", { headers });
    const message = 'after_id: expected the id of a listed model, found "unheard-of"';
    expect([wrong.status, wrong.body.error]).toEqual([400, { type: "invalid_request_error", message }]);
    const missing = await call(routes, "GET /v1/models/unheard-of", { headers });
    expect([missing.status, missing.body]).toMatchObject([
      404,
      { type: "error", error: { type: "not_found_error" } },
    ]);
  });

  it("lists them in Google's form for its clients, and fails in that form", async () => {
    const headers = { "x-goog-api-client": "google-genai-sdk/3.1.0" };
    const { body } = await call(routes, "GET /v1/models?pageSize=2", { headers });
    expect(body).toMatchObject({ models: [{ name: "models/fast" }, {}], nextPageToken: "2" });
    const next = await call(routes, "GET /v1/models?pageToken=1&pageSize=1", { headers });
    expect(next.body.models).toEqual((body.models as object[]).slice(1));
    const path = "GET /v1/models/router/meta-llama/Llama-3";
    expect((await call(routes, path, { headers })).body).toMatchObject({
      name: "models/router/meta-llama/Llama-3",
      version: "2024-04-18",
    });
    const missing = await call(routes, "GET /v1/models/unheard-of?key=a");
    expect([missing.status, missing.body.error]).toMatchObject([404, { code: 404, status: "NOT_FOUND" }]);
  });

  it("lists models that embed texts, with their methods in Google's form, but not for Anthropic's clients", async () => {
    const names = async (headers: Record<string, string> = {}) =>
      ((await call(routes, "GET /v1/models", { headers })).body.data as Model[]).map(({ id }) => id);
    expect(await names()).toContain("text-embedding-3-small");
    expect(await names({ "anthropic-version": "2023-06-01" })).not.toContain("text-embedding-3-small");
    const headers = { "x-goog-api-client": "google-genai-sdk/3.1.0" };
    expect((await call(routes, "GET /v1/models/text-embedding-3-small", { headers })).body).toMatchObject({
      inputTokenLimit: 8192,
      supportedGenerationMethods: ["embedContent", "batchEmbedContents"],
    });
  });

  it("has only the models that the access key may use", async () => {
    const caller = keyHolder("a", ["router"]);
    const { body } = await call(routes, "GET /v1/models", { caller });
    expect((body.data as Model[]).map(({ id }) => id).sort()).toEqual(["fast", "meta-llama/Llama-3"]);
    for (const id of ["gpt-5.2", "openai/unheard-of"])
      expect((await call(routes, `GET /v1/models/${id}`, { caller })).status).toBe(404);
  });
});

describe("GET /v1/models/{id}", () => {
  it.each([
    ["gpt-5.2", "openai"],
    ["openai/gpt-5.2", "openai"],
    ["openai%2Fgpt-5.2", "openai"],
    ["router/meta-llama/Llama-3", "router"],
    ["fast", "router"],
    ["router/unheard-of", "router"],
  ])("finds %s", async (id, owned_by) => {
    const { status, body } = await call(routes, `GET /v1/models/${id}`);
    expect(status).toBe(200);
    expectValid("Model", body);
    expect(body).toMatchObject({ id: decodeURIComponent(id), object: "model", owned_by });
  });

  it("has no models that are past their end-of-life date", async () => {
    const ends = { yesterday: "2026-01-01", today: "2026-01-02", tomorrow: "2026-01-03" };
    const models = Object.entries(ends).map(([id, endOfLifeDate]) => ({
      id,
      provider: "router",
      endOfLifeDate,
    }));
    const ended = modelRoutes(createDirectory({ providers, catalog: createCatalog({ models }) }), fail);
    vi.setSystemTime("2026-01-02T12:00:00Z");
    onTestFinished(() => void vi.useRealTimers());
    const { body } = await call(ended, "GET /v1/models");
    const ids = (body.data as Model[]).map(({ id }) => id);
    expect(ids.filter((id) => id in ends)).toEqual(["tomorrow"]);
  });

  it("has at most 1000 models on a page for Google's clients", async () => {
    const served = { provider: "router", model: "m", api: undefined };
    const list = () =>
      Array.from({ length: 1001 }, (_, index) => ({ id: `m${index}`, served, info: undefined }));
    const many = modelRoutes({ list, find: () => undefined }, fail);
    const headers = { "x-goog-api-client": "google-genai-sdk/3.1.0" };
    const { body } = await call(many, "GET /v1/models?pageSize=5000", { headers });
    expect(body).toMatchObject({ nextPageToken: "1000", models: { length: 1000 } });
    const rest = await call(many, "GET /v1/models?pageSize=5000&pageToken=1000", { headers });
    expect(rest.body).toMatchObject({ models: [{ name: "models/m1000" }] });
    expect(rest.body.nextPageToken).toBeUndefined();
  });

  it("says which model is not listed", async () => {
    const { status, body } = await call(routes, "GET /v1/models/unheard-of");
    expect(status).toBe(404);
    expect(body.error).toMatchObject({
      code: "model_not_found",
      message: expect.stringContaining("unheard-of"),
    });
  });
});
