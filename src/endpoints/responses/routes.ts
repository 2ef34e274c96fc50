/** The routes of `/v1/responses` that create responses and serve stored ones. */

import type { RouteDefinition } from "../../http/route-table.ts";
import type { RunEngine } from "../../runs/run-engine.ts";
import type { ModelDirectory } from "../models/model-directory.ts";
import { compact } from "./compact.ts";
import { countTokens } from "./count-tokens.ts";
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

/** The parts that the routes about an input need. */
interface InputRouteParts {
  readonly models: Pick<ModelDirectory, "resolve">;
  readonly engine: Pick<RunEngine, "openConversation" | "threads">;
}

/** Returns the routes that process the input of a response without creating one: counting tokens and compaction. */
export function inputRoutes(parts: InputRouteParts): RouteDefinition[] {
  return [
    {
      method: "POST",
      path: "/v1/responses/input_tokens",
      serve: async ({ readBody, caller, client, signal }) =>
        countTokens(await readBody(), { ...parts, owner: caller.name, client, signal }),
    },
    {
      method: "POST",
      path: "/v1/responses/compact",
      serve: async ({ readBody, caller, client, signal }) =>
        compact(await readBody(), { ...parts, owner: caller.name, client, signal }),
    },
  ];
}
