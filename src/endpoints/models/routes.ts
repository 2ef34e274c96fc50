/** `/v1/models`: the models that a caller may name, in the form of OpenAI's API, or of Anthropic's for its clients. */
import { NotFoundError } from "../../core/errors.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { jsonResponse } from "../../http/json-response.ts";
import type { RouteDefinition } from "../../http/route-table.ts";
import type { ListedModel, ModelDirectory } from "./model-directory.ts";

/** Creates the routes. Ids of models may contain slashes. */
export function modelRoutes(models: Pick<ModelDirectory, "list" | "find">): RouteDefinition[] {
  const retrieve = (request: EndpointRequest, ...parts: string[]) =>
    getModel(models, request, parts.join("/"));
  return [
    { method: "GET", path: "/v1/models", serve: (request) => listModels(models, request) },
    { method: "GET", path: "/v1/models/{id}", serve: retrieve },
    { method: "GET", path: "/v1/models/{provider}/{id}", serve: retrieve },
    { method: "GET", path: "/v1/models/{provider}/{owner}/{id}", serve: retrieve },
  ];
}

async function listModels(
  models: Pick<ModelDirectory, "list">,
  request: EndpointRequest,
): Promise<EndpointResponse> {
  const today = new Date().toISOString().slice(0, 10);
  const listed = models.list().filter((model) => isAllowed(model, request) && isServed(model, today));
  if (!isAnthropic(request)) return jsonResponse({ object: "list", data: listed.map(modelObject) });
  // All on one page.
  const [first_id = null, last_id = null] = [listed[0]?.id, listed.at(-1)?.id];
  return jsonResponse({ data: listed.map(anthropicModel), has_more: false, first_id, last_id });
}

async function getModel(
  models: Pick<ModelDirectory, "find">,
  request: EndpointRequest,
  id: string,
): Promise<EndpointResponse> {
  const model = models.find(id);
  // A model that the caller may not use is reported as not found.
  if (model !== undefined && isAllowed(model, request))
    return jsonResponse(isAnthropic(request) ? anthropicModel(model) : modelObject(model));
  const message = `the model ${JSON.stringify(id.slice(0, MAX_QUOTED))} is not listed`;
  throw new NotFoundError(message, { errorCode: "model_not_found" });
}

const MAX_QUOTED = 128;

function isAllowed({ served }: ListedModel, { caller }: EndpointRequest): boolean {
  return caller.allowsModel(served.provider, served.model);
}

/** Clients of Anthropic's API always send its version. */
function isAnthropic({ headers }: EndpointRequest): boolean {
  return headers["anthropic-version"] !== undefined;
}

function isServed({ info }: ListedModel, today: string): boolean {
  const end = info?.endOfLifeDate ?? "";
  return end === "" || end > today;
}

/** Returns a model as OpenAI's API describes it. `created` is the day of its release, or 0 if that is not known. */
function modelObject({ id, served, info }: ListedModel): object {
  const released = Date.parse(info?.releaseDate ?? "");
  const created = Number.isNaN(released) ? 0 : released / 1000;
  return { id, object: "model", created, owned_by: served.provider };
}

/** Returns a model as Anthropic's API describes it ("List models"). Without a day of release it is as old as can be. */
function anthropicModel({ id, info }: ListedModel): object {
  const released = Date.parse(info?.releaseDate ?? "");
  const created_at = new Date(Number.isNaN(released) ? 0 : released).toISOString();
  return { type: "model", id, display_name: info?.displayName || id, created_at };
}
