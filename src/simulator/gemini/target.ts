import type { ReceivedRequest } from "../wire-format.ts";

/** What the path and the query of a request ask for. */
export interface Target {
  /** `v1` or `v1beta`. */
  readonly version: string;
  /** Resource name of the model, such as `models/sim-text`. */
  readonly resource: string;
  /** The model string. */
  readonly model: string;
  readonly streams: boolean;
  /** Whether a stream comes as server-sent events; else it is one JSON list. */
  readonly sse: boolean;
}

const pattern =
  /^\/(v1|v1beta|v1alpha)\/((?:models|tunedModels)\/[^/]+):(generateContent|streamGenerateContent)$/;

/** Reads what a request asks for. Returns undefined where it is for another format. */
export function readTarget({ path, query }: Pick<ReceivedRequest, "path" | "query">): Target | undefined {
  const [, version = "", encoded = "", method = ""] = pattern.exec(path) ?? [];
  const resource = decode(encoded);
  if (version === "" || resource === undefined) return undefined;
  return {
    version,
    resource,
    model: resource.slice(resource.indexOf("/") + 1),
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
