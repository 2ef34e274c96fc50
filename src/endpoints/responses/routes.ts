/** The routes of `/v1/responses` that create responses and serve stored ones. */
import type { RouteDefinition } from "../../http/route-table.ts";
import { createResponse } from "./create-response.ts";
import type { ResponsesParts } from "./parts.ts";
import { cancelResponse, deleteResponse, getResponse, listInputItems } from "./stored-responses.ts";
import { serveSocket } from "./websocket.ts";

const RESPONSES = "/v1/responses";

/** Creates the routes. */
export function responsesRoutes(parts: ResponsesParts): readonly RouteDefinition[] {
  return [
    {
      method: "POST",
      path: RESPONSES,
      serve: (request) => createResponse(request, parts),
      connect: (socket, request) => serveSocket(socket, request, parts),
    },
    {
      method: "GET",
      path: `${RESPONSES}/{id}`,
      serve: (request, id = "") => getResponse(request, parts, id),
    },
    {
      method: "DELETE",
      path: `${RESPONSES}/{id}`,
      serve: (request, id = "") => deleteResponse(request, parts, id),
    },
    {
      method: "POST",
      path: `${RESPONSES}/{id}/cancel`,
      serve: (request, id = "") => cancelResponse(request, parts, id),
    },
    {
      method: "GET",
      path: `${RESPONSES}/{id}/input_items`,
      serve: (request, id = "") => listInputItems(request, parts, id),
    },
  ];
}
