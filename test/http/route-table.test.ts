import { describe, expect, it } from "vitest";
import { jsonResponse } from "../../src/http/json-response.ts";
import type { RouteDefinition } from "../../src/http/route-table.ts";
import { call } from "../endpoints/support/call.ts";

const routes: readonly RouteDefinition[] = [
  { method: "GET", path: "/v1/things/{id}", serve: async (_request, id) => jsonResponse({ id }) },
];

describe("a table of routes", () => {
  it("finds the parts of a path that differ", async () => {
    expect((await call(routes, "GET /v1/things/a%20b")).body).toEqual({ id: "a b" });
  });

  it("says at unknown paths below its root which APIs are served", async () => {
    const { status, body } = await call(routes, "POST /v1/chat/completions");
    expect([status, body]).toEqual([
      404,
      {
        error: {
          message: "POST /v1/chat/completions is not served; expected a path under /v1/things",
          type: "invalid_request_error",
          param: null,
          code: "unknown_url",
        },
      },
    ]);
  });
});
