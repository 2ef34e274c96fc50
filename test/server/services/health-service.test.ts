import { createClient } from "@connectrpc/connect";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../src/gen/grpc/health/v1/health_pb.ts";
import { callGrpc, grpcClient, TRANSPORTS } from "../support/clients.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();
const { check, list, watch } = Health.method;

async function startWithClient(which: "data" | "admin" = "data") {
  const server = await servers.start();
  const client = grpcClient(which === "data" ? server.authority : server.adminUrl.slice("http://".length));
  servers.onEnd(() => client.close());
  return { server, client };
}

describe("Check", () => {
  it.each(["", "outrigger.v1.InferenceService", "outrigger.v1.CatalogService"])(
    "of %j is SERVING",
    async (service) => {
      const { client } = await startWithClient();
      const { messages } = await callGrpc(client, check, { service });
      expect(messages).toMatchObject([{ status: Status.SERVING }]);
    },
  );

  it("of a service that does not exist is NOT_FOUND", async () => {
    const { client } = await startWithClient();
    const { code, message } = await callGrpc(client, check, { service: "acme.Missing" });
    expect(code).toBe(grpc.status.NOT_FOUND);
    expect(message).toBe('unknown service "acme.Missing"');
  });

  it("is served on the admin listener, which has no other service", async () => {
    const { client } = await startWithClient("admin");
    expect((await callGrpc(client, check, {})).messages).toMatchObject([{ status: Status.SERVING }]);
    const outcome = await new Promise<grpc.ServiceError | null>((resolve) => {
      const path = "/outrigger.v1.InferenceService/Complete";
      client.makeUnaryRequest(
        path,
        () => Buffer.alloc(0),
        (bytes) => bytes,
        {},
        resolve,
      );
    });
    expect(outcome?.code).toBe(grpc.status.UNIMPLEMENTED);
  });

  it.each(Object.entries(TRANSPORTS))("works over %s", async (_name, transportTo) => {
    const server = await servers.start();
    const client = createClient(Health, transportTo(server.url));
    expect((await client.check({})).status).toBe(Status.SERVING);
  });

  it("does not fill the log", async () => {
    const { server, client } = await startWithClient();
    await callGrpc(client, check, {});
    await expect
      .poll(() => server.log.at(-1))
      .toMatchObject({ level: 20, rpc: "grpc.health.v1.Health/Check" });
  });
});

describe("List", () => {
  it("names every service and the server itself", async () => {
    const { client } = await startWithClient();
    const { messages } = await callGrpc(client, list, {});
    expect(Object.keys(messages[0]?.statuses ?? {}).sort()).toEqual([
      "",
      "outrigger.v1.CatalogService",
      "outrigger.v1.EmbeddingService",
      "outrigger.v1.GenerationService",
      "outrigger.v1.InferenceService",
    ]);
  });
});

describe("Watch", () => {
  it("of an unknown service is SERVICE_UNKNOWN, and continues", async () => {
    const { server, client } = await startWithClient();
    const first = Promise.withResolvers<void>();
    const outcome = callGrpc(
      client,
      watch,
      { service: "acme.Missing" },
      { onMessage: () => first.resolve() },
    );
    await first.promise;
    await server.drain();
    const { code, messages } = await outcome;
    expect(code).toBe(grpc.status.OK);
    expect(messages).toMatchObject([{ status: Status.SERVICE_UNKNOWN }]);
  });

  it("ends when its client disconnects", async () => {
    const { server, client } = await startWithClient();
    const { code } = await callGrpc(client, watch, {}, { onMessage: (call) => call.cancel() });
    expect(code).toBe(grpc.status.CANCELLED);
    await expect.poll(() => server.log.at(-1)).toMatchObject({ level: 20, code: "CANCELLED" });
  });
});
