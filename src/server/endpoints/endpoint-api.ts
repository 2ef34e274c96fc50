import { Code } from "@connectrpc/connect";
import { createError, SDKError } from "../../core/errors.ts";
import { ErrorKind } from "../../gen/outrigger/v1/error_pb.ts";
import type { Endpoint, EndpointRoute } from "../../http/endpoint.ts";
import type { HttpApi, HttpRoute } from "../http/http-api.ts";
import type { Rejection } from "../http/rejection.ts";
import { type EndpointParts, serveEndpoint } from "./exchange.ts";
import { serveEndpointSocket } from "./socket-exchange.ts";

/** Serves an HTTP API on a listener. */
export function createEndpointApi(endpoint: Endpoint, parts: EndpointParts): HttpApi {
  return {
    find(path, method) {
      const route = endpoint.find(path, method);
      return route === undefined ? undefined : toRoute(route, endpoint, parts);
    },
    reject(_request, response, rejection) {
      const { code, headers } = rejection;
      const answer = endpoint.fail(errorOfRejection(rejection));
      response.writeHead(answer.status, { ...answer.headers, ...headers });
      response.end(answer.body);
      return { code, disconnected: false };
    },
  };
}

function toRoute(route: EndpointRoute, endpoint: Endpoint, parts: EndpointParts): HttpRoute {
  const { connect } = route;
  return {
    name: route.name,
    isObserved: true,
    protocol: "http",
    ...(connect && {
      serveSocket: (upgraded) => serveEndpointSocket({ ...parts, route: { ...route, connect }, upgraded }),
    }),
    serve: (request, response, recorder) =>
      serveEndpoint({ ...parts, endpoint, route, request, response, recorder }),
  };
}

/** Returns the error of a rejected request, which the API formats. */
function errorOfRejection({ code, message, error }: Rejection): SDKError {
  if (error?.cause instanceof SDKError) return error.cause;
  switch (code) {
    case Code.PermissionDenied:
      return createError(ErrorKind.ACCESS_DENIED, message);
    default:
      return createError(ErrorKind.INVALID_REQUEST, message);
  }
}
