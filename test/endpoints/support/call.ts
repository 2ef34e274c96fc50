import { anyCaller, type Caller } from "../../../src/core/caller.ts";
import { failedResponse } from "../../../src/endpoints/openai/errors.ts";
import type { ModelClient } from "../../../src/generation/loop/model-calls.ts";
import type { EndpointResponse } from "../../../src/http/endpoint.ts";
import { createHttpApi, type RouteDefinition } from "../../../src/http/route-table.ts";

/** The parts of a request besides its path. */
export interface CallOptions {
  readonly body?: object | string;
  /** With names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly caller?: Caller;
  readonly client?: ModelClient;
}

/** An answer with a JSON body. */
export interface Answer {
  readonly status: number;
  readonly headers: EndpointResponse["headers"];
  readonly body: Record<string, unknown>;
}

const FORM = { root: "/v1/", fail: failedResponse, unknownPath: { fail: failedResponse } };

/** Calls routes as a server does. @param target Method and path with its query: `GET /v1/models?limit=1`. */
export async function call(
  routes: readonly RouteDefinition[],
  target: string,
  { body, headers: requestHeaders = {}, caller = anyCaller, client }: CallOptions = {},
): Promise<Answer> {
  const [method = "", url = ""] = target.split(" ");
  const [path = "", query = ""] = url.split("?");
  const route = createHttpApi(routes, FORM).find(path, method);
  if (route === undefined) throw new Error(`there is no route ${target}`);
  const text = typeof body === "string" ? body : JSON.stringify(body ?? "");
  const response = await route.serve({
    method,
    path,
    query: new URLSearchParams(query),
    headers: requestHeaders,
    caller,
    signal: new AbortController().signal,
    client: client ?? noClient,
    readBody: async () => (body === undefined ? new Uint8Array() : Buffer.from(text)),
    noteFailure: () => {},
    trace: undefined,
    readStored: (read) => read(),
  });
  const { status, headers } = response;
  return { status, headers, body: JSON.parse(Buffer.from(bytesIn(response)).toString()) };
}

function bytesIn({ body }: EndpointResponse): Uint8Array {
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return body;
  throw new Error("expected a response in one piece");
}

const noClient: ModelClient = {
  complete: () => Promise.reject(new Error("expected no call of a model")),
  stream: () => {
    throw new Error("expected no call of a model");
  },
  supportsJsonSchema: () => true,
};

/** A caller with an access key. @param providers The providers that it may use. All by default. */
export function keyHolder(name: string, providers?: readonly string[]): Caller {
  return {
    name,
    isRestricted: providers !== undefined,
    allowsModel: (provider) => providers?.includes(provider) ?? true,
  };
}
