import { createClient } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { createConnectTransport } from "../../../src/server/connect/transport.ts";
import { DEFAULT_LIMITS } from "../../../src/server/options.ts";
import { TRANSPORTS } from "../support/clients.ts";
import { textResponse } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

it("mounts services when a path is first looked up, and not again", () => {
  let mounted = 0;
  const transport = createConnectTransport((registry) => {
    registry.service(InferenceService, {});
    mounted += 1;
  }, DEFAULT_LIMITS);
  expect(mounted).toBe(0);
  expect(transport.find("/outrigger.v1.InferenceService/Complete")?.rpc).toBe(
    "outrigger.v1.InferenceService/Complete",
  );
  const once = mounted;
  expect(once).toBeGreaterThan(0);
  expect(transport.find("/outrigger.v1.InferenceService/Nothing")).toBeUndefined();
  expect(mounted).toBe(once);
});

it("answers the first calls of a server, which come over all protocols at once", async () => {
  const server = await servers.start({ complete: async (call) => textResponse(call, "x") });
  const models = Object.keys(TRANSPORTS).flatMap((name) => [1, 2, 3].map((call) => `${name} ${call}`));
  const clients = Object.entries(TRANSPORTS).map(
    ([name, transportTo]) => [name, createClient(InferenceService, transportTo(server.url))] as const,
  );
  const answers = await Promise.all(
    clients.flatMap(([name, client]) =>
      [1, 2, 3].map((call) => client.complete({ model: `${name} ${call}` })),
    ),
  );
  expect(answers.map(({ model }) => model)).toEqual(models);
});
