import { describe, expect, it } from "vitest";
import type { HttpApi } from "../../../src/http/endpoint.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** An API with one route, and errors in a form that only it has. */
const echoApi: HttpApi = {
  find(path, method) {
    if (path !== "/echo" || method !== "POST") return undefined;
    return {
      name: "echo",
      serve: async ({ query }) => ({
        status: 200,
        headers: { "content-type": "text/plain" },
        body: Buffer.from(`asked for ${query}`),
      }),
      fail: ({ message }) => ({
        status: 403,
        headers: { "content-type": "application/problem+json" },
        body: Buffer.from(JSON.stringify({ title: message })),
      }),
    };
  },
};

describe("an HttpApi", () => {
  it("is asked for the route of a path and method, alongside the RPCs", async () => {
    const server = await servers.start(
      { complete: async (call) => textResponse(call, "x") },
      { apis: [echoApi] },
    );
    const answer = await fetch(`${server.url}/echo?a=1`, { method: "POST" });
    expect([answer.status, await answer.text()]).toEqual([200, "asked for a=1"]);
    expect(answer.headers.get("x-request-id")).not.toBeNull();
    await expect.poll(() => server.log.at(-1)).toMatchObject({ rpc: "echo", code: "OK" });
    expect((await fetch(`${server.url}/echo`)).status).toBe(404);
    const rpc = await fetch(`${server.url}/outrigger.v1.InferenceService/Complete`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    });
    expect(rpc.status).toBe(200);
  });

  it("writes the errors of its routes in its form", async () => {
    const server = await servers.start({}, { apis: [echoApi] });
    const headers = { origin: "https://evil.example" };
    const answer = await fetch(`${server.url}/echo`, { method: "POST", headers });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([403, "application/problem+json"]);
    expect(await answer.json()).toMatchObject({ title: expect.stringContaining("Origin") });
    const elsewhere = await fetch(`${server.url}/other`, { method: "POST", headers });
    expect([elsewhere.status, await elsewhere.json()]).toMatchObject([403, { code: "permission_denied" }]);
    expect(server.log.at(-1)).toMatchObject({ code: "PERMISSION_DENIED" });
  });

  it("writes errors of the admin pages as plain text", async () => {
    const server = await servers.start();
    const answer = await fetch(`${server.adminUrl}/livez`, { headers: { origin: "https://evil.example" } });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([403, "text/plain; charset=utf-8"]);
  });
});
