import { modelInPath } from "../named-model.ts";
import type { ModelCall, ReceivedRequest, WholeAnswer, WireFormat } from "../wire-format.ts";
import { authenticate } from "./authenticate.ts";
import { rejectAsGemini } from "./failure.ts";
import { jsonAnswer } from "./headers.ts";
import { invalidArgument, rejectingProblems } from "./problem.ts";
import { methods } from "./target.ts";

const usualPageSize = 50;
const maxPageSize = 1000;

/** Gemini's list of models, `GET /v1beta/models`, and its entries. @param names The models in the list. */
export function createGeminiModels(names: readonly string[]): WireFormat {
  return {
    name: "gemini-models",
    endpoints: ["GET /v1beta/models", "GET /v1beta/models/{model}"],
    matches: (request) => request.method === "GET" && (isListed(request) || namedIn(request) !== undefined),
    getModel: (request) => namedIn(request) ?? "",
    read: (request) => rejectingProblems(request, () => read(request, names)),
    reject: rejectAsGemini,
  };
}

/**
 * Returns the paths that a request may have. Requests for OpenAI's list use the path `/v1/models` too, with
 * their key in another header.
 */
function pathsFor({ headers, query }: ReceivedRequest): string[] {
  const hasGoogleKey = headers["x-goog-api-key"] !== undefined || query.has("key");
  return ["/v1beta/models", "/v1alpha/models", ...(hasGoogleKey ? ["/v1/models"] : [])];
}

function isListed(request: ReceivedRequest): boolean {
  return pathsFor(request).includes(request.path);
}

function namedIn(request: ReceivedRequest): string | undefined {
  const found = pathsFor(request).map((path) => modelInPath(request, `${path}/`));
  return found.find((model) => model !== undefined);
}

function read(request: ReceivedRequest, names: readonly string[]): ModelCall | WholeAnswer {
  authenticate(request);
  const model = namedIn(request);
  if (model === undefined) return jsonAnswer(request, readPage(request, names));
  return { model, prepare: () => jsonAnswer(request, describeModel(model)) };
}

/** Returns the models from `pageToken` on, limited by `pageSize`. A token is the position of the first model. */
function readPage({ query }: ReceivedRequest, names: readonly string[]): object {
  const size = Number(query.get("pageSize") ?? usualPageSize);
  const start = Number(query.get("pageToken") ?? 0);
  if (!Number.isInteger(size) || size < 1) throw invalidArgument("page_size must be positive.");
  if (!Number.isInteger(start) || start < 0) throw invalidArgument("page_token is invalid.");
  const end = start + Math.min(size, maxPageSize);
  const models = names.slice(start, end).map(describeModel);
  return end < names.length ? { models, nextPageToken: String(end) } : { models };
}

function describeModel(name: string): object {
  return {
    name: `models/${name}`,
    version: "001",
    displayName: name,
    description: "A model of the simulator",
    inputTokenLimit: 1_048_576,
    outputTokenLimit: 65_536,
    supportedGenerationMethods: methods,
  };
}
