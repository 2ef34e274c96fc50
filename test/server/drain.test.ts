import http from "node:http";
import http2 from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { Code, createClient } from "@connectrpc/connect";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../src/gen/grpc/health/v1/health_pb.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { callGrpc, grpcClient, TRANSPORTS } from "./support/clients.ts";
import { inferencePath, openStream, readAnswer } from "./support/raw-http2.ts";
import { type ScriptedCall, silence, textEvents, textResponse } from "./support/scripted-inference.ts";
import { type TestServer, useTestServers } from "./support/test-server.ts";

const servers = useTestServers();
const { stream } = InferenceService.method;

const STOPPING = "the sidecar is stopping and did not wait for the call any longer";

/** A server whose streams start and then wait for `go`. */
async function startHolding(options = {}) {
  const go = Promise.withResolvers<void>();
  const server = await servers.start(
    {
      complete: async (call) => {
        await Promise.race([go.promise, silence(call.signal)]);
        return textResponse(call, "a");
      },
      stream: async function* (call: ScriptedCall) {
        const events = textEvents(call, ["a"]);
        yield events.slice(0, 1);
        await Promise.race([go.promise, silence(call.signal)]);
        yield events.slice(1);
      },
    },
    options,
  );
  return { server, go: () => go.resolve() };
}

function grpcTo(server: TestServer): grpc.Client {
  const client = grpcClient(server.authority);
  servers.onEnd(() => client.close());
  return client;
}

function begun(server: TestServer, calls: number): Promise<void> {
  return expect.poll(() => server.inference.calls.length, { timeout: 5000 }).toBe(calls);
}

describe("a drain", () => {
  it.each(Object.entries(TRANSPORTS))("lets a stream over %s finish", async (_name, transportTo) => {
    const { server, go } = await startHolding();
    const client = createClient(InferenceService, transportTo(server.url));
    const events: (string | undefined)[] = [];
    const read = (async () => {
      for await (const { event } of client.stream({ model: "m" })) events.push(event.case);
    })();
    await begun(server, 1);
    const drained = server.drain();
    go();
    await Promise.all([read, drained]);
    expect(events.at(-1)).toBe("finish");
  });

  it("accepts no new connection", async () => {
    const { server } = await startHolding();
    await server.drain();
    await expect(fetch(`${server.url}/x`)).rejects.toThrow();
    const { code } = await callGrpc(grpcTo(server), stream, { model: "m" });
    expect(code).toBe(grpc.status.UNAVAILABLE);
  });

  it("sends a first GOAWAY that includes all streams, and then one with the last stream", async () => {
    const { server, go } = await startHolding();
    const session = http2.connect(server.url);
    servers.onEnd(() => session.destroy());
    const lastStreams: (number | undefined)[] = [];
    session.on("goaway", (_code, lastStream) => lastStreams.push(lastStream));
    const request = openStream(session, inferencePath("Stream"));
    request.end(Buffer.alloc(5));
    const answer = readAnswer(request);
    await begun(server, 1);
    const drained = server.drain();
    await expect.poll(() => lastStreams).toEqual([2 ** 31 - 1, 1]);
    go();
    expect((await answer).trailers["grpc-status"]).toBe("0");
    await drained;
  });

  it("closes idle connections at once", async () => {
    const { server } = await startHolding();
    const agent = new http.Agent({ keepAlive: true });
    servers.onEnd(() => agent.destroy());
    const status = await new Promise((resolve, reject) => {
      const request = http.get(`${server.url}/x`, { agent }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode));
      });
      request.on("error", reject);
    });
    expect(status).toBe(404);
    const idle = grpcTo(server);
    await new Promise((resolve) => idle.waitForReady(Date.now() + 5000, resolve));
    await server.drain();
  });

  it("changes the answers to probes, and ends health watches", async () => {
    const { server, go } = await startHolding();
    const holding = callGrpc(grpcTo(server), stream, { model: "m" });
    await begun(server, 1);
    const watched = [server.authority, server.adminUrl.slice("http://".length)].map((authority) => {
      const client = grpcClient(authority);
      servers.onEnd(() => client.close());
      const first = Promise.withResolvers<void>();
      const outcome = callGrpc(
        client,
        Health.method.watch,
        { service: "" },
        { onMessage: () => first.resolve() },
      );
      return { first: first.promise, outcome };
    });
    await Promise.all(watched.map(({ first }) => first));
    expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
    const drained = server.drain();
    for (const { outcome } of watched) {
      const { code, messages } = await outcome;
      expect(code).toBe(grpc.status.OK);
      expect(messages.map(({ status }) => status)).toEqual([Status.SERVING, Status.NOT_SERVING]);
    }
    const ready = await fetch(`${server.adminUrl}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, "draining\n"]);
    expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200);
    go();
    await drained;
    expect((await holding).code).toBe(grpc.status.OK);
  });

  it("closes an HTTP/1.1 connection after its last response", async () => {
    const { server, go } = await startHolding();
    const agent = new http.Agent({ keepAlive: true });
    servers.onEnd(() => agent.destroy());
    const headers = { "content-type": "application/connect+json" };
    const path = "/outrigger.v1.InferenceService/Stream";
    const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
      const request = http.request(`${server.url}${path}`, { agent, method: "POST", headers }, resolve);
      request.on("error", reject).end(Buffer.concat([Buffer.from([0, 0, 0, 0, 2]), Buffer.from("{}")]));
    });
    const response = (await answered).resume();
    const drained = server.drain();
    go();
    await new Promise((resolve) => response.once("end", resolve));
    await drained;
  });

  it.each(Object.entries(TRANSPORTS))(
    "ends calls that do not finish in time over %s with UNAVAILABLE, and logs it as cut off",
    async (_name, transportTo) => {
      const { server } = await startHolding({ drainTimeoutMs: 100 });
      const client = createClient(InferenceService, transportTo(server.url));
      const events: StreamEvent["event"][] = [];
      const streamed = (async () => {
        for await (const { event } of client.stream({ model: "m" })) events.push(event);
      })().catch((error: unknown) => error);
      const completed = client.complete({ model: "m" }).catch((error: unknown) => error);
      await begun(server, 2);
      await expect.poll(() => events).toHaveLength(1);
      await server.drain();
      for (const error of [await streamed, await completed]) {
        expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: STOPPING });
      }
      expect(events.at(-1)).toMatchObject({
        case: "error",
        value: { kind: ErrorKind.SERVER, message: STOPPING, retryable: true },
      });
      const cutOff = server.log.filter(({ msg }) => msg === "call cut off by shutdown");
      expect(cutOff.map(({ level, code, rpc }) => [level, code, rpc]).sort()).toEqual([
        [40, "UNAVAILABLE", "outrigger.v1.InferenceService/Complete"],
        [40, "UNAVAILABLE", "outrigger.v1.InferenceService/Stream"],
      ]);
      expect(server.log).toContainEqual(expect.objectContaining({ part: "data listener", timeout_ms: 100 }));
    },
  );

  it.each(["application/grpc", "application/grpc-web"])(
    "ends a call of %s whose request has not arrived with UNAVAILABLE",
    async (type) => {
      const { server } = await startHolding({ drainTimeoutMs: 100 });
      const session = http2.connect(server.url);
      servers.onEnd(() => session.destroy());
      const request = openStream(session, inferencePath("Complete"), { "content-type": type });
      const answer = readAnswer(request);
      request.write(Buffer.from([0, 0, 0, 1, 0]));
      await expect
        .poll(async () => (await fetch(`${server.adminUrl}/metrics`)).text())
        .toMatch(/inflight 1\n/);
      await server.drain();
      const { headers, trailers, body } = await answer;
      const status = headers["grpc-status"] ?? trailers["grpc-status"];
      // gRPC-Web may have its trailers in the body.
      expect(status ?? body.toString("latin1")).toMatch(/^14$|grpc-status: 14/);
    },
  );

  it("waits for the status of a call that takes seconds to end", async () => {
    const server = await servers.start(
      {
        stream: async function* (call: ScriptedCall) {
          yield textEvents(call, ["a"]).slice(0, 1);
          await silence(call.signal).catch(() => {});
          await sleep(1500);
          throw call.signal.reason;
        },
      },
      { drainTimeoutMs: 50 },
    );
    const outcome = callGrpc(grpcTo(server), stream, { model: "m" });
    await begun(server, 1);
    await server.drain();
    expect((await outcome).code).toBe(grpc.status.UNAVAILABLE);
  });

  it("does not wait for a reader that stopped, and logs its call as cut off", async () => {
    const server = await servers.start(
      {
        stream: async function* (call: ScriptedCall) {
          const events = textEvents(call, ["a".repeat(4 * 1024 * 1024)]);
          yield events.slice(0, 3);
          await silence(call.signal);
        },
      },
      { drainTimeoutMs: 100 },
    );
    const session = http2.connect(server.url);
    session.on("error", () => {});
    servers.onEnd(() => session.destroy());
    const request = openStream(session, inferencePath("Stream"));
    request.on("error", () => {}).end(Buffer.alloc(5));
    request.pause();
    await begun(server, 1);
    await server.drain();
    await expect
      .poll(() => server.log)
      .toContainEqual(expect.objectContaining({ level: 40, msg: "call cut off by shutdown" }));
  });

  it("happens once, however often it is requested", async () => {
    const { server } = await startHolding();
    await Promise.all([server.drain(), server.drain()]);
    await server.close();
    expect(server.log.filter((line) => line.msg === "drained")).toHaveLength(1);
  });
});

describe("close()", () => {
  it("cuts off calls in flight at once, even in a drain", async () => {
    const { server } = await startHolding();
    const holding = callGrpc(grpcTo(server), stream, { model: "m" });
    await begun(server, 1);
    const drained = server.drain();
    await server.close();
    await drained;
    expect((await holding).code).not.toBe(grpc.status.OK);
    await expect(fetch(`${server.adminUrl}/livez`)).rejects.toThrow();
  });
});
