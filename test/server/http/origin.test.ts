import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { startApi } from "../../endpoints/support/api-server.ts";
import { inferencePath } from "../support/raw-http2.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();
const APP = "https://app.example";

function start(allowedOrigins?: readonly string[]): Promise<TestServer> {
  return servers.start(
    { complete: async (call) => textResponse(call, "x") },
    allowedOrigins === undefined ? {} : { cors: { allowedOrigins } },
  );
}

function post(server: TestServer, headers: Readonly<Record<string, string>>) {
  return fetch(`${server.url}${inferencePath("Complete")}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: "{}",
  });
}

function preflight(
  { url }: Pick<TestServer, "url">,
  origin: string,
  path = inferencePath("Complete"),
  method = "POST",
  names: readonly string[] = ["content-type"],
) {
  return fetch(url + path, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": names.join(","),
    },
  });
}

/** Whether a browser takes a name for one of a list in a header: the asterisk does not stand for `authorization`. */
function includes(response: Response, header: string, name: string): boolean {
  const names = (response.headers.get(header) ?? "").toLowerCase().split(", ");
  return names.includes(name) || (names.includes("*") && name !== "authorization");
}

describe("a request that names its origin", () => {
  it.each(["https://evil.example", "null", "http://127.0.0.1:6190"])(
    "%s is rejected by default",
    async (origin) => {
      const server = await start();
      const response = await post(server, { origin });
      expect(response.status).toBe(403);
      expect(await response.json()).toMatchObject({ code: "permission_denied" });
      expect(response.headers.get("access-control-allow-origin")).toBeNull();
      expect((await preflight(server, origin)).status).toBe(403);
      expect(server.inference.calls).toEqual([]);
    },
  );

  it("is served if its origin is allowed, and only then", async () => {
    const server = await start([APP]);
    const response = await post(server, { origin: APP });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(APP);
    expect(response.headers.get("vary")).toBe("origin");
    const exposed = response.headers.get("access-control-expose-headers") ?? "";
    for (const name of ["grpc-status", "grpc-status-details-bin"])
      expect(exposed.toLowerCase()).toContain(name);
    expect((await post(server, { origin: `${APP}.evil.example` })).status).toBe(403);
  });

  it("is served from anywhere if all are allowed", async () => {
    const server = await start(["*"]);
    const response = await post(server, { origin: "https://any.example" });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://any.example");
  });
});

describe("a preflight", () => {
  it("of an allowed origin is answered", async () => {
    const server = await start([APP]);
    const response = await preflight(server, APP);
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-methods")).toContain("POST");
    expect(response.headers.get("access-control-max-age")).toBe("7200");
    const allowed = (response.headers.get("access-control-allow-headers") ?? "").toLowerCase();
    for (const name of ["content-type", "x-grpc-web", "grpc-timeout", "connect-protocol-version"])
      expect(allowed).toContain(name);
    expect(server.log.some((line) => "rpc" in line)).toBe(false);
  });
});

describe("a page that calls an HTTP API", () => {
  const messages = [{ role: "user", content: "Hi" }];
  const contents = [{ parts: [{ text: "Hi" }] }];
  const sdk = {
    "content-type": "application/json",
    "user-agent": "sdk",
    "x-stainless-lang": "js",
    "x-stainless-any": "1",
    "idempotency-key": "k",
  };

  it.each([
    ["/v1/responses", { authorization: "Bearer k" }, { model: "openai/sim-text", input: "Hi" }],
    ["/v1/chat/completions", { authorization: "Bearer k" }, { model: "compatible/sim-text", messages }],
    [
      "/v1/messages",
      { "x-api-key": "k", "anthropic-version": "2023-06-01", "anthropic-beta": "b" },
      { model: "anthropic/sim-text", max_tokens: 9, messages },
    ],
    [
      "/v1beta/models/gemini/sim-text:generateContent",
      { "x-goog-api-key": "k", "x-goog-api-client": "js" },
      { contents },
    ],
  ] as const)("is allowed to: %s", async (path, keys, body) => {
    const api = await startApi(servers, { cors: { allowedOrigins: [APP] } });
    const headers = { ...sdk, ...keys };
    const asked = await preflight(api.server, APP, path, "POST", Object.keys(headers));
    expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([204, APP]);
    for (const name of Object.keys(headers)) {
      expect([name, includes(asked, "access-control-allow-headers", name)]).toEqual([name, true]);
    }
    const init = { method: "POST", body: JSON.stringify(body) };
    const answer = await api.fetch(path, { ...init, headers: { ...headers, origin: APP } });
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, APP]);
    expect(answer.headers.get("x-request-id")).not.toBeNull();
    const limits = ["x-ratelimit-remaining-tokens", "anthropic-ratelimit-tokens-reset", "retry-after-ms"];
    const facts = ["request-id", "outrigger-warnings", "retry-after", "x-should-retry", ...limits];
    for (const name of [...facts, ...answer.headers.keys()])
      expect([name, includes(answer, "access-control-expose-headers", name)]).toEqual([name, true]);
    const other = "https://evil.example";
    expect((await preflight(api.server, other, path)).status).toBe(403);
    expect((await api.fetch(path, { ...init, headers: { ...headers, origin: other } })).status).toBe(403);
    expect(api.simulator.requests).toHaveLength(1);
  });

  it("may delete what it stored", async () => {
    const api = await startApi(servers, { cors: { allowedOrigins: [APP] } });
    const asked = await preflight(api.server, APP, "/v1/responses/resp_1", "DELETE");
    expect(asked.headers.get("access-control-allow-methods")).toContain("DELETE");
  });
});

describe("a program", () => {
  it("names no origin and is served", async () => {
    const server = await start();
    expect((await post(server, {})).status).toBe(200);
    const client = createClient(
      InferenceService,
      createGrpcWebTransport({ baseUrl: server.url, httpVersion: "1.1" }),
    );
    expect((await client.complete({ model: "m" })).model).toBe("m");
  });
});
