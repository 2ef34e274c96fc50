import type { ReceivedRequest } from "../wire-format.ts";

/** The target of a request, from its path and query. */
export interface Target {
  /** Version of the API: `v1`, `v1beta` or `v1alpha`. */
  readonly version: string;
  /** Resource name of the model, such as `models/sim-text`. */
  readonly resource: string;
  /** The model string. */
  readonly model: string;
  readonly method: string;
  readonly streams: boolean;
  /** Whether a stream is sent as server-sent events; otherwise it is one JSON list. */
  readonly sse: boolean;
}

/** The methods of a model. */
export const methods = [
  "generateContent",
  "streamGenerateContent",
  "countTokens",
  "embedContent",
  "batchEmbedContents",
];

const pattern = /^\/(v1|v1beta|v1alpha)\/((?:models|tunedModels)\/[^/]+):(\w+)$/;

/** Reads the target of a request. Returns undefined if the request does not belong to this API. */
export function readTarget({ path, query }: Pick<ReceivedRequest, "path" | "query">): Target | undefined {
  const [, version = "", encoded = "", method = ""] = pattern.exec(path) ?? [];
  const resource = decode(encoded);
  if (version === "" || resource === undefined || !methods.includes(method)) return undefined;
  return {
    version,
    resource,
    model: resource.slice(resource.indexOf("/") + 1),
    method,
    streams: method === "streamGenerateContent",
    sse: query.get("alt") === "sse",
  };
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
