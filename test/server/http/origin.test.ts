import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
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

function preflight(server: TestServer, origin: string) {
  return fetch(`${server.url}${inferencePath("Complete")}`, {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type",
    },
  });
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
    for (const name of [
      "grpc-status",
      "grpc-status-details-bin",
      "x-request-id",
      "outrigger-inference-id",
      "retry-after",
    ]) {
      expect(exposed.toLowerCase()).toContain(name);
    }
    expect((await post(server, { origin: `${APP}.evil.example` })).status).toBe(403);
  });

  it("is served from anywhere if all are allowed", async () => {
    const server = await start(["*"]);
    const response = await post(server, { origin: "https://any.example" });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe("https://any.example");
    expect(response.headers.get("access-control-expose-headers")).toContain("outrigger-warnings");
  });
});

describe("a preflight", () => {
  it("of an allowed origin is answered", async () => {
    const server = await start([APP]);
    const response = await preflight(server, APP);
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-methods")).toContain("POST");
    const allowed = (response.headers.get("access-control-allow-headers") ?? "").toLowerCase();
    for (const name of [
      "content-type",
      "x-grpc-web",
      "grpc-timeout",
      "connect-protocol-version",
      "authorization",
      "x-stainless-lang",
      "x-stainless-retry-count",
      "openai-organization",
      "x-api-key",
      "anthropic-version",
    ]) {
      expect(allowed).toContain(name);
    }
    expect(server.log.some((line) => "rpc" in line)).toBe(false);
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
