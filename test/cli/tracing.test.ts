/** Traces of a sidecar, as a collector gets them by each protocol. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { killLeftovers, type Outrigger, spawnOutrigger } from "./support/spawn-outrigger.ts";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());
afterEach(killLeftovers);

const TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736";

/** The body of a request with spans. */
interface Export {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A collector of OTLP over HTTP. */
async function startCollector() {
  const exports: Export[] = [];
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    exports.push({ path: request.url ?? "", headers: request.headers, body: Buffer.concat(chunks) });
    response.writeHead(200, { "content-type": request.headers["content-type"] ?? "" });
    response.end(request.headers["content-type"] === "application/json" ? "{}" : "");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    exports,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
}

/** A collector of OTLP over gRPC. */
async function startGrpcCollector() {
  const exports: Export[] = [];
  const server = createHttp2Server();
  server.on("stream", async (stream: ServerHttp2Stream, headers) => {
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    exports.push({ path: String(headers[":path"]), headers, body: Buffer.concat(chunks) });
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    // An empty message.
    stream.end(Buffer.alloc(5));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    exports,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
}

/** Starts a sidecar over the simulator. Returns the address of its data listener. */
async function serve(env: Record<string, string>): Promise<{ outrigger: Outrigger; address: string }> {
  const outrigger = spawnOutrigger(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"], {
    OPENAI_API_KEY: "any",
    OPENAI_BASE_URL: simulator.openaiBaseUrl,
    OTEL_BSP_SCHEDULE_DELAY: "50",
    ...env,
  });
  const [, address = ""] = await outrigger.printed(/"addresses":\["(127\.0\.0\.1:\d+)"/);
  await outrigger.printed(/"msg":"serving"/);
  return { outrigger, address };
}

async function call(address: string): Promise<number> {
  const { status } = await fetch(`http://${address}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", traceparent: `00-${TRACE_ID}-00f067aa0ba902b7-01` },
    body: JSON.stringify({ model: "openai/sim-text", input: "hello", store: false }),
  });
  return status;
}

describe("traces", () => {
  it.each(["http/protobuf", "http/json", "grpc"])("reach a collector over %s", async (protocol) => {
    const collector = await (protocol === "grpc" ? startGrpcCollector() : startCollector());
    const { outrigger, address } = await serve({
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=acme",
      OTEL_SERVICE_NAME: "checkout",
    });
    expect(await call(address)).toBe(200);
    await expect.poll(() => collector.exports.length).toBeGreaterThan(0);
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    const [first] = collector.exports;
    expect(first?.headers["x-tenant"]).toBe("acme");
    const isGrpc = protocol === "grpc";
    expect(first?.path).toBe(
      isGrpc ? "/opentelemetry.proto.collector.trace.v1.TraceService/Export" : "/v1/traces",
    );
    const body = Buffer.concat(collector.exports.map((sent) => sent.body));
    const id = protocol === "http/json" ? Buffer.from(TRACE_ID) : Buffer.from(TRACE_ID, "hex");
    for (const text of [id, "checkout", "gen_ai.provider.name", "chat sim-text", "POST /v1/responses"])
      expect(body.includes(text), `${text}`).toBe(true);
    expect(body.includes("hello")).toBe(false);
    collector.close();
  });

  it("that cannot be sent are reported once, and calls are served", async () => {
    const { outrigger, address } = await serve({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:9",
      OTEL_EXPORTER_OTLP_TIMEOUT: "100",
    });
    expect([await call(address), await call(address)]).toEqual([200, 200]);
    await outrigger.printed(/"could not send traces"/);
    expect(await call(address)).toBe(200);
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    expect(outrigger.stdout().match(/could not send traces/g)).toHaveLength(1);
  });

  it("with wrong settings are refused at the start, with the variable's name", async () => {
    const outrigger = spawnOutrigger(["serve"], { OPENAI_API_KEY: "any", OTEL_TRACES_EXPORTER: "jaeger" });
    expect(await outrigger.ended).toBe(3);
    expect(outrigger.stderr()).toContain('OTEL_TRACES_EXPORTER: expected otlp or none, found "jaeger"');
  });
});
