import { Code } from "@connectrpc/connect";
import { createError, SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { HttpApi } from "../../http/endpoint.ts";
import type { Rejection } from "../http/rejection.ts";
import type { FindRoute } from "../http/route.ts";
import { ApiExchange, type ApiParts } from "./exchange.ts";
import { toRequestHead } from "./request.ts";
import { serveApiSocket } from "./socket-exchange.ts";

/** Returns the routes of an HTTP API on a listener. */
export function createApiRoutes(api: HttpApi, parts: ApiParts): FindRoute {
  return (path, method) => {
    const route = api.find(path, method);
    if (route === undefined) return undefined;
    const { name, connect, keyParameter, requestIdHeader } = route;
    return {
      name,
      isObserved: true,
      protocol: "http",
      keyParameter,
      requestIdHeader,
      serve: (request, response, recorder) =>
        new ApiExchange({ ...parts, route, request, response, recorder }).serve(),
      ...(connect && {
        serveSocket: (upgraded) => serveApiSocket({ ...parts, route: { ...route, connect }, upgraded }),
      }),
      reject(request, response, rejection) {
        const answer = route.fail(toApiError(rejection), toRequestHead(request));
        response.writeHead(answer.status, { ...answer.headers, ...rejection.headers });
        response.end(answer.body);
        return { code: rejection.code, disconnected: false };
      },
    };
  };
}

/** Returns the error of a rejected request, which the API formats. */
function toApiError({ code, message, error }: Rejection): SDKError {
  if (error?.cause instanceof SDKError) return error.cause;
  switch (code) {
    case Code.PermissionDenied:
      return createError(ErrorKind.ACCESS_DENIED, message);
    default:
      return createError(ErrorKind.INVALID_REQUEST, message);
  }
}
