import { modelInPath } from "../named-model.ts";
import type { ModelCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import { authenticate, readVersion } from "./authenticate.ts";
import { rejectAsAnthropic } from "./failure.ts";
import { anthropicHeaders } from "./headers.ts";
import { invalidAt, methodNotAllowed, rejectingProblems } from "./problem.ts";

const path = "/v1/models";

const usualPageSize = 20;
const maxPageSize = 1000;

/**
 * Anthropic's list of models, `GET /v1/models`, and its entries. OpenAI's list has the same paths; only Anthropic's
 * requests have the header `anthropic-version`. @param names The models in the list.
 */
export function createAnthropicModels(names: readonly string[]): WireFormat {
  return {
    name: "anthropic-models",
    endpoints: [`GET ${path} (with anthropic-version)`],
    matches: (request) =>
      request.headers["anthropic-version"] !== undefined &&
      (request.path === path || namedIn(request) !== undefined),
    getModel: (request) => namedIn(request) ?? "",
    read: (request) => rejectingProblems(request, () => read(request, names)),
    reject: rejectAsAnthropic,
  };
}

function namedIn(request: ReceivedRequest): string | undefined {
  return modelInPath(request, `${path}/`);
}

function read(request: ReceivedRequest, names: readonly string[]): ModelCall | WholeAnswer {
  if (request.method !== "GET") throw methodNotAllowed();
  authenticate(request.headers);
  readVersion(request.headers);
  const model = namedIn(request);
  if (model === undefined) return answer(request, readPage(request, names));
  return { model, prepare: () => answer(request, describeModel(model)) };
}

/** Returns the models after `after_id` or before `before_id`, limited by `limit`. */
function readPage({ query }: ReceivedRequest, names: readonly string[]): object {
  const size = readLimit(query.get("limit"));
  const before = query.get("before_id");
  const end = before === null ? names.length : findPosition(before, "before_id", names);
  const after = query.get("after_id");
  const first = before === null ? 0 : Math.max(0, end - size);
  const start = after === null ? first : findPosition(after, "after_id", names) + 1;
  const ids = names.slice(start, Math.min(start + size, end));
  const hasMore = before === null ? start + size < names.length : first > 0;
  return {
    data: ids.map(describeModel),
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
    has_more: hasMore,
  };
}

function readLimit(text: string | null): number {
  const limit = Number(text ?? usualPageSize);
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxPageSize) return limit;
  throw invalidAt("limit", `Input should be a whole number from 1 to ${maxPageSize}`);
}

function findPosition(id: string, parameter: string, names: readonly string[]): number {
  const position = names.indexOf(id);
  if (position === -1) throw invalidAt(parameter, `"${id.slice(0, 64)}" is not the id of a model`);
  return position;
}

function describeModel(id: string): object {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: "2026-01-01T00:00:00Z",
    deprecated_at: null,
    retires_at: null,
    lifecycle: "active",
    line: null,
    max_input_tokens: null,
    max_tokens: null,
    capabilities: null,
  };
}

function answer(request: ReceivedRequest, body: object): WholeAnswer {
  const headers = anthropicHeaders(request, { contentType: "application/json", usage: undefined });
  return { status: 200, headers, body: JSON.stringify(body) };
}
