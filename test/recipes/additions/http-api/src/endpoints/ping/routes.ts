import { jsonResponse } from "../../http/json-response.ts";
import type { RouteDefinition } from "../../http/route-table.ts";

/** `/v1/ping`: tells a caller its name. */
export function pingRoutes(): RouteDefinition[] {
  return [
    { method: "GET", path: "/v1/ping", serve: async ({ caller }) => jsonResponse({ pong: caller.name }) },
  ];
}
