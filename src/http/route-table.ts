/** The routes of an HTTP API as a table of methods and paths. */
import { InvalidRequestError, NotFoundError, type SDKError } from "../core/errors.ts";
import type {
  EndpointRequest,
  EndpointResponse,
  EndpointRoute,
  EndpointSocket,
  FailedResponse,
  HttpApi,
  RequestHead,
} from "./endpoint.ts";
import { toRequestFailure } from "./request-failure.ts";

/** One entry of the table. */
export interface RouteDefinition {
  readonly method: string;
  /** The path, with `{name}` for a variable part: `/v1/responses/{id}`; `{name+}` also contains slashes. */
  readonly path: string;
  /** Serves a request. Thrown errors become the response. @param parts The variable parts of the path. */
  serve(request: EndpointRequest, ...parts: string[]): Promise<EndpointResponse>;
  /** Formats failures of this route. Default: as the API does. */
  readonly fail?: WriteFailure;
  /** Parameter of the query in which callers may send their access key. Absent: they may not. */
  readonly keyParameter?: string;
  /** The API's header for the id of the request. Every answer has it in addition to `x-request-id`. Absent: none. */
  readonly requestIdHeader?: string;
  /** Serves WebSockets at this path, which are GET requests whatever `method` is. */
  connect?(socket: EndpointSocket, request: EndpointRequest): Promise<void>;
}

/** Formats the failures of an API. */
export type WriteFailure = (error: SDKError, request: RequestHead) => FailedResponse;

/** The form of an API. */
export interface ApiForm {
  /** The prefix of all paths: `/v1/`. */
  readonly root: string;
  /** Formats the failures of routes without `fail`. */
  readonly fail: WriteFailure;
  /** Answers to paths that no route serves. */
  readonly unknownPath: Pick<RouteDefinition, "requestIdHeader"> & { readonly fail: WriteFailure };
}

/**
 * Creates an API with these routes. GET answers HEAD as well; other methods of a known path get 405, other paths below
 * the root 404.
 * @param root The prefix of all paths: `/v1/`.
 */
export function createHttpApi(
  definitions: readonly RouteDefinition[],
  { root, fail, unknownPath }: ApiForm,
): HttpApi {
  const names = new Set(definitions.map(({ path }) => path.slice(root.length).split("/")[0] ?? ""));
  const served = [...names].filter((name) => !name.includes("{")).map((name) => root + name);
  const entries = definitions.map((definition) => {
    const pattern = toPattern(definition.path);
    return { definition, pattern, route: toRoute(definition, pattern, definition.fail ?? fail) };
  });
  const match = (path: string) => entries.filter(({ pattern }) => pattern.test(path));
  const fixed = new Map(
    definitions.flatMap(({ path }) => (path.includes("{") ? [] : [[path, match(path)] as const])),
  );
  return {
    find(path, method) {
      if (!path.startsWith(root)) return undefined;
      const found = fixed.get(path) ?? match(path);
      if (found.length === 0) return toUnknownPath(root, served, unknownPath);
      const wanted = method === "HEAD" ? "GET" : method;
      for (const { definition, route } of found) if (definition.method === wanted) return route;
      return otherMethod(
        found.map(({ definition }) => definition),
        fail,
      );
    },
  };
}

/** A variable part of a path is not empty. */
function toPattern(path: string): RegExp {
  const pattern = path.replace(/\{\w+(\+?)\}/g, (_, plus) => (plus === "" ? "([^/]+)" : "(.+)"));
  return new RegExp(`^${pattern}/?$`);
}

function toRoute(definition: RouteDefinition, pattern: RegExp, fail: WriteFailure): EndpointRoute {
  const serve = async (request: EndpointRequest): Promise<EndpointResponse> => {
    const parts = pattern.exec(request.path)?.slice(1) ?? [];
    let response: EndpointResponse;
    try {
      response = await definition.serve(request, ...parts.map(decoded));
    } catch (thrown) {
      const error = toRequestFailure(thrown, request.signal);
      if (error === undefined) throw thrown;
      response = toFailure(request, error, fail);
    }
    return request.method === "HEAD" ? { ...response, body: new Uint8Array() } : response;
  };
  const { path, keyParameter, requestIdHeader } = definition;
  const name = `${definition.method} ${path.replaceAll("+}", "}")}`;
  return { name, keyParameter, requestIdHeader, serve, fail };
}

function toFailure(request: EndpointRequest, error: SDKError, fail: WriteFailure): EndpointResponse {
  request.noteFailure(error);
  return fail(error, request);
}

/** @param served Prefixes of the paths that are served, for the error. */
function toUnknownPath(
  root: string,
  served: readonly string[],
  { fail, requestIdHeader }: ApiForm["unknownPath"],
): EndpointRoute {
  return {
    name: `* ${root}`,
    requestIdHeader,
    fail,
    serve: async (request) => toFailure(request, unknownUrl(request, served), fail),
  };
}

function unknownUrl({ method, path }: EndpointRequest, served: readonly string[]): NotFoundError {
  const found = `${method} ${path.slice(0, MAX_PATH)} is not served`;
  return new NotFoundError(`${found}; expected a path under ${served.join(", ")}`, {
    errorCode: "unknown_url",
  });
}

/** The most characters of a path that an error repeats. */
const MAX_PATH = 256;

/** Handles a path with a method that it does not have: OPTIONS lists the methods, others are refused. */
function otherMethod(definitions: readonly RouteDefinition[], fail: WriteFailure): EndpointRoute {
  const allow = definitions
    .flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]))
    .join(", ");
  const path = definitions[0]?.path ?? "";
  const connect = definitions.find((definition) => definition.connect !== undefined)?.connect;
  const write = definitions[0]?.fail ?? fail;
  return {
    name: `* ${path.replaceAll("+}", "}")}`,
    requestIdHeader: definitions[0]?.requestIdHeader,
    fail: write,
    ...(connect && { connect }),
    serve: async (request) =>
      request.method === "OPTIONS"
        ? { status: 204, headers: { allow }, body: new Uint8Array() }
        : toRefusal(request, allow, write),
  };
}

function toRefusal(request: EndpointRequest, allow: string, fail: WriteFailure): EndpointResponse {
  const { method } = request;
  const message = `the method ${method} is not supported by this path, expected ${allow}`;
  const { headers, body } = fail(
    new InvalidRequestError(message, { errorCode: "method_not_allowed" }),
    request,
  );
  return { status: 405, headers: { ...headers, allow }, body };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
