import { describe, expect, it } from "vitest";
import { jsonResponse } from "../../src/http/json-response.ts";
import type { RouteDefinition } from "../../src/http/route-table.ts";
import { call } from "../endpoints/support/call.ts";

const routes: readonly RouteDefinition[] = [
  { method: "GET", path: "/v1/things/{id}", serve: async (_request, id) => jsonResponse({ id }) },
  {
    method: "POST",
    path: "/v1/things/{name+}:count",
    serve: async (_request, name) => jsonResponse({ name }),
  },
];

describe("a table of routes", () => {
  it("captures the variable parts of a path", async () => {
    expect((await call(routes, "GET /v1/things/a%20b")).body).toEqual({ id: "a b" });
  });

  it("finds a part that contains slashes, as they are or encoded, and colons", async () => {
    const find = async (path: string) => (await call(routes, `POST ${path}`)).body;
    expect(await find("/v1/things/a/b:c:count")).toEqual({ name: "a/b:c" });
    expect(await find("/v1/things/a%2Fb:count")).toEqual({ name: "a/b" });
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
