/** The times of a call that its client gets, in the headers and trailers of every protocol. */
import { connect as connectHttp2 } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { Client } from "../../../src/client/client.ts";
import { userMessage } from "../../../src/core/message.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { createRetry } from "../../../src/middleware/retry.ts";
import { OpenAIChatAdapter } from "../../../src/providers/openai-chat/adapter.ts";
import { callGrpc, grpcClient, TRANSPORTS } from "../support/clients.ts";
import { type TestServer, useTestServers } from "../support/test-server.ts";

const servers = useTestServers();
let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());

const DELAY_MS = 30;
const MODEL = `sim-text:delay_ms=${DELAY_MS}`;
const MESSAGES = [userMessage("x")];
const JSON_MESSAGES = [{ role: "ROLE_USER", content: [{ text: "x" }] }];

async function start(
  middleware: NonNullable<ConstructorParameters<typeof Client>[0]>["middleware"] = [],
): Promise<TestServer> {
  const adapter = new OpenAIChatAdapter({ name: "sim", apiKey: "any", baseUrl: `${simulator.url}/v1` });
  const client = new Client({ providers: { sim: adapter }, middleware });
  const server = await servers.start({}, { inference: client });
  servers.onEnd(() => client.close());
  return server;
}

function readTimes(header: unknown): Record<string, number> {
  const parts = String(header).split(", ");
  return Object.fromEntries(
    parts.map((part) => {
      const [, name = part, ms] = /^(\w+);dur=([\d.]+)$/.exec(part) ?? [];
      return [name, Number(ms)];
    }),
  );
}

function expectTimes(header: unknown): void {
  const { ours = 0, provider = 0, queue, total = 0 } = readTimes(header);
  expect(provider).toBeGreaterThanOrEqual(DELAY_MS - 1);
  expect(queue).toBe(0);
  expect(ours).toBeGreaterThan(0);
  expect(Math.abs(ours + provider - total)).toBeLessThan(0.3);
}

it.each(["complete", "stream"] as const)(
  "gRPC has them in the trailers of %s, also if it fails",
  async (name) => {
    const server = await start();
    const client = grpcClient(server.authority);
    servers.onEnd(() => client.close());
    for (const fault of ["", ",status=500"]) {
      const method = InferenceService.method[name];
      const { code, trailers } = await callGrpc(client, method, { model: MODEL + fault, messages: MESSAGES });
      expect(code === 0).toBe(fault === "");
      expectTimes(trailers.get("outrigger-timing")[0]);
    }
  },
);

it.each(Object.entries(TRANSPORTS))("%s has them in headers or trailers", async (_name, transportTo) => {
  const server = await start();
  const client = createClient(InferenceService, transportTo(server.url));
  const found: (string | null)[] = [];
  const see = (headers: Headers) => void found.push(headers.get("outrigger-timing"));
  const options = { onHeader: see, onTrailer: see };
  await client.complete({ model: MODEL, messages: MESSAGES }, options);
  for await (const _ of client.stream({ model: MODEL, messages: MESSAGES }, options));
  const [unary, ...others] = found.filter((header) => header !== null);
  expect(others).toHaveLength(1);
  expectTimes(unary);
  expectTimes(others[0]);
});

it("a stream over HTTP has the times until it began as a header, and all as a trailer", async () => {
  const server = await start();
  const path = "/outrigger.v1.InferenceService/Stream";
  const session = connectHttp2(server.url);
  servers.onEnd(() => session.close());
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const stream = session
    .request({ ":method": "POST", ":path": path, ...headers })
    .end(JSON.stringify({ model: MODEL, messages: JSON_MESSAGES }));
  const head = new Promise<Record<string, unknown>>((resolve) => stream.once("response", resolve));
  const trailers = new Promise<Record<string, unknown>>((resolve) => stream.once("trailers", resolve));
  expectTimes((await head)["outrigger-timing"]);
  stream.resume();
  expectTimes((await trailers)["outrigger-timing"]);
});

it("counts the pause before a retry as the queue, and says nothing about calls without a provider", async () => {
  const server = await start([createRetry({ baseDelay: 0.04, jitter: false })]);
  const post = (path: string, body: object) =>
    fetch(`${server.url}/outrigger.v1.${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const answer = await post("InferenceService/Complete", {
    model: `${MODEL},status=500,times=1`,
    messages: JSON_MESSAGES,
  });
  expect(answer.status).toBe(200);
  const { ours = 0, provider = 0, queue = 0, total = 0 } = readTimes(answer.headers.get("outrigger-timing"));
  expect(queue).toBeGreaterThanOrEqual(39);
  expect(Math.abs(ours + provider + queue - total)).toBeLessThan(0.3);
  const listed = await post("CatalogService/ListModels", {});
  expect(listed.headers.get("outrigger-timing")).toBeNull();
});
