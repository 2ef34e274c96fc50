import { get, type IncomingMessage } from "node:http";
import http2 from "node:http2";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import type { HttpRequest } from "../../../src/server/base/http-types.ts";
import { createHostCheck } from "../../../src/server/http/host.ts";
import { inferencePath, openStream, readAnswer } from "../support/raw-http2.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** A request over HTTP/1.1 and TCP. */
function requestTo(host: string | undefined): HttpRequest {
  const request = { httpVersionMajor: 1, headers: { host }, socket: { remoteAddress: "10.0.0.9" } };
  return request as unknown as HttpRequest;
}

/** Sends a GET with a Host header. Returns the status and the text of the answer. */
async function getAs(host: string, target: { port?: number; socketPath?: string }, path: string) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: "127.0.0.1", ...target, path, headers: { host }, agent: false }, resolve).on("error", reject);
  });
  return { status: response.statusCode, body: await text(response) };
}

const parsePort = (authority: string) => ({ port: Number(new URL(`http://${authority}`).port) });

describe("createHostCheck()", () => {
  const check = createHostCheck(["api.example.com", "*.corp.example"], ["sidecar.example.net:6190", ":6191"]);

  it.each([
    ["an IPv4 address", "10.1.2.3:6191"],
    ["an IPv4 address without a port", "127.0.0.1"],
    ["an IPv6 address", "[::1]:6191"],
    ["localhost", "localhost:6190"],
    ["a name below localhost", "app.localhost:6190"],
    ["a name without a dot", "outrigger:6190"],
    ["a Kubernetes service", "outrigger.team-a.svc:6191"],
    ["a Kubernetes service by its full name", "outrigger.team-a.svc.cluster.local:6191"],
    ["a host of Docker", "host.docker.internal:6190"],
    ["this machine's name", `${hostname()}:6190`],
    ["the host of a listen address", "sidecar.example.net:6190"],
    ["a configured name", "API.example.com"],
    ["a configured name with the dot of the root", "api.example.com.:80"],
    ["a name below a configured one", "a.b.corp.example:80"],
    ["no name at all", undefined],
  ])("allows %s", (_what, host) => {
    expect(check(requestTo(host))).toBe(true);
  });

  it.each([
    ["a foreign site", "evil.example:6191"],
    ["a site that begins with an address", "127.0.0.1.evil.example:6191"],
    ["a site that ends like a configured one", "evilcorp.example"],
    ["the parent of a pattern", "corp.example"],
    ["a site with the name of a service in it", "localhost.evil.example"],
    ["a site with a user name before it", "127.0.0.1@evil.example"],
  ])("rejects %s", (_what, host) => {
    expect(check(requestTo(host))).toBe(false);
  });

  it("allows everything if that is configured", () => {
    expect(createHostCheck(["*"], [])(requestTo("evil.example"))).toBe(true);
  });
});

describe("a request to a name of a foreign site", () => {
  it("is rejected on both ports, and its call is logged", async () => {
    const server = await servers.start();
    const admin = parsePort(server.adminUrl.slice("http://".length));
    expect(await getAs("evil.example:6191", admin, "/metrics")).toEqual({
      status: 403,
      body: 'the Host "evil.example:6191" of this request is not among allowed_hosts\n',
    });
    expect((await getAs("10.0.0.7:6191", admin, "/metrics")).status).toBe(200);
    expect((await getAs("outrigger:6191", admin, "/readyz")).status).toBe(200);
    const refused = await getAs(
      "evil.example",
      parsePort(server.authority),
      "/outrigger.v1.CatalogService/ListModels",
    );
    expect(refused.status).toBe(403);
    expect(JSON.parse(refused.body)).toMatchObject({ code: "permission_denied" });
    expect(server.log).toContainEqual(expect.objectContaining({ code: "PERMISSION_DENIED" }));
  });

  it("is served if the name is configured", async () => {
    const server = await servers.start({}, { allowedHosts: ["metrics.example"] });
    const admin = parsePort(server.adminUrl.slice("http://".length));
    expect((await getAs("metrics.example", admin, "/metrics")).status).toBe(200);
  });

  it("is served on a Unix socket, which no browser reaches", async () => {
    const path = join(tmpdir(), `outrigger-host-${process.pid}.sock`);
    await servers.start({}, { listen: [`unix://${path}`] });
    expect((await getAs("evil.example", { socketPath: path }, "/x")).status).toBe(404);
  });

  it("is served over HTTP/2, since a program chooses the authority there", async () => {
    const server = await servers.start({ complete: async (call) => textResponse(call, "x") });
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const stream = openStream(session, inferencePath("Complete"), { ":authority": "evil.example" });
    stream.end(Buffer.alloc(5));
    expect((await readAnswer(stream)).trailers["grpc-status"]).toBe("0");
  });
});
