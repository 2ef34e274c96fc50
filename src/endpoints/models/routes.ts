/**
 * `/v1/models`: the models that a caller may name, in the form of OpenAI's API, or of Anthropic's or Google's for their
 * clients. `/v1beta/models`: always in Google's.
 */
import { NotFoundError } from "../../core/errors.ts";
import { Capability } from "../../gen/outrigger/v1/catalog_service_pb.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { RouteDefinition, WriteFailure } from "../../http/route-table.ts";
import { invalidParameter, quote } from "../openai/fields.ts";
import { isAnthropicClient, isGoogleClient } from "./clients.ts";
import type { ListedModel, ModelDirectory } from "./model-directory.ts";

type Models = Pick<ModelDirectory, "list" | "find">;

/**
 * Creates the routes under `/v1`. Ids of models may contain slashes.
 * @param fail Formats failures for the client that asks.
 */
export function modelRoutes(models: Models, fail: WriteFailure): RouteDefinition[] {
  const list = toRoute("/v1/models", async (request) => {
    if (isGoogleClient(request)) return listGeminiModels(models, request);
    if (isAnthropicClient(request)) return listAnthropicModels(models, request);
    return jsonResponse({ object: "list", data: listAllowed(models, request).map(modelObject) });
  });
  const one = toRoute("/v1/models/{id+}", async (request, id = "") => {
    const model = requireModel(models, request, id);
    if (isGoogleClient(request)) return jsonResponse(geminiModel(model));
    return jsonResponse(isAnthropicClient(request) ? anthropicModel(model) : modelObject(model));
  });
  // Anthropic's SDKs read the id of a request from this header.
  return [list, one].map((route) => ({ ...route, fail, requestIdHeader: "request-id" }));
}

function toRoute(path: string, serve: RouteDefinition["serve"]): RouteDefinition {
  return { method: "GET", path, keyParameter: "key", serve };
}

/** Creates the routes under `/v1beta`, which only the Gemini API has. */
export function geminiModelRoutes(models: Models): RouteDefinition[] {
  return [
    toRoute("/v1beta/models", async (request) => listGeminiModels(models, request)),
    toRoute("/v1beta/models/{id+}", async (request, id = "") =>
      jsonResponse(geminiModel(requireModel(models, request, id))),
    ),
  ];
}

/** Returns the models that the caller may use, and that are served today. */
function listAllowed(models: Models, request: EndpointRequest): readonly ListedModel[] {
  const today = new Date().toISOString().slice(0, 10);
  return models.list().filter((model) => isAllowed(model, request) && isServed(model, today));
}

/** Lists one page in Anthropic's form ("List models"): without a limit, all models. Its API has no embeddings. */
function listAnthropicModels(models: Models, request: EndpointRequest): EndpointResponse {
  const listed = listAllowed(models, request).filter(({ info }) => !embeds(info));
  const size = Math.min(readCount(request, "limit", PAGE.max), PAGE.max) || PAGE.max;
  const before = findPosition(listed, request, "before_id");
  const start = before === undefined ? (findPosition(listed, request, "after_id") ?? -1) + 1 : before - size;
  const end = before ?? start + size;
  const shown = listed.slice(Math.max(start, 0), end);
  const [first_id = null, last_id = null] = [shown[0]?.id, shown.at(-1)?.id];
  const has_more = before === undefined ? end < listed.length : start > 0;
  return jsonResponse({ data: shown.map(anthropicModel), has_more, first_id, last_id });
}

function findPosition(
  listed: readonly ListedModel[],
  { query }: EndpointRequest,
  name: string,
): number | undefined {
  const wanted = query.get(name);
  if (wanted === null) return undefined;
  const position = listed.findIndex(({ id }) => id === wanted);
  if (position >= 0) return position;
  throw invalidParameter(name, "invalid_value", `expected the id of a listed model, found ${quote(wanted)}`);
}

/** @throws NotFoundError also for a model that the caller may not use. */
function requireModel(models: Models, request: EndpointRequest, id: string): ListedModel {
  const model = models.find(id);
  if (model !== undefined && isAllowed(model, request)) return model;
  const message = `the model ${JSON.stringify(id.slice(0, MAX_QUOTED))} is not listed`;
  throw new NotFoundError(message, { errorCode: "model_not_found" });
}

const MAX_QUOTED = 128;

function isAllowed({ served }: ListedModel, { caller }: EndpointRequest): boolean {
  return caller.allowsModel(served.provider, served.model);
}

function isServed({ info }: ListedModel, today: string): boolean {
  const end = info?.endOfLifeDate ?? "";
  return end === "" || end > today;
}

/** Returns a model as OpenAI's API describes it. `created` is its release date, or 0 if that is not known. */
function modelObject({ id, served, info }: ListedModel): object {
  const released = Date.parse(info?.releaseDate ?? "");
  const created = Number.isNaN(released) ? 0 : released / 1000;
  return { id, object: "model", created, owned_by: served.provider };
}

/** Returns a model as Anthropic's API describes it. `created_at` is in 1970 if the release date is not known. */
function anthropicModel({ id, info }: ListedModel): object {
  const released = Date.parse(info?.releaseDate ?? "");
  const created_at = new Date(Number.isNaN(released) ? 0 : released).toISOString();
  return { type: "model", id, display_name: info?.displayName || id, created_at };
}

const PAGE = { default: 50, max: 1000 } as const;

/** Lists one page ("Models: list"). A token is the position of the first model. */
function listGeminiModels(models: Models, request: EndpointRequest): EndpointResponse {
  const start = readCount(request, "pageToken", 0);
  const size = readCount(request, "pageSize", PAGE.default) || PAGE.default;
  const listed = listAllowed(models, request);
  const end = start + Math.min(size, PAGE.max);
  const page = listed.slice(start, end).map(geminiModel);
  return jsonResponse({ models: page, ...(end < listed.length ? { nextPageToken: String(end) } : {}) });
}

function readCount({ query }: EndpointRequest, name: string, fallback: number): number {
  const text = query.get(name) || String(fallback);
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw invalidParameter(name, "invalid_value", `expected a whole number from 0, found ${quote(text)}`);
}

/** Returns a model as the Gemini API describes it ("Model"). Limits that are not known are absent. */
function geminiModel({ id, info }: ListedModel): object {
  const { contextWindow = 0, maxOutputTokens } = info ?? {};
  return {
    name: `models/${id}`,
    version: info?.releaseDate ?? "",
    displayName: info?.displayName || id,
    ...(contextWindow === 0 ? {} : { inputTokenLimit: contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { outputTokenLimit: maxOutputTokens }),
    supportedGenerationMethods: embeds(info)
      ? ["embedContent", "batchEmbedContents"]
      : ["generateContent", "countTokens"],
  };
}

/** Reports whether a model only embeds texts. */
function embeds(info: ListedModel["info"]): boolean {
  return info?.capabilities.includes(Capability.EMBEDDINGS) ?? false;
}
