import { Code, createClient } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { MemoryAccount } from "../../../../src/core/memory-account.ts";
import { InferenceService } from "../../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { DEFAULT_LIMITS } from "../../../../src/server/base/limits.ts";
import { createService } from "../../../../src/server/calls/service.ts";
import { UnsentResponses } from "../../../../src/server/http/flushed-response.ts";
import { createIntake } from "../../../../src/server/requests/intake.ts";
import { createConnectRoutes } from "../../../../src/server/rpc/connect/connect-api.ts";
import { TRANSPORTS } from "../../support/clients.ts";
import { textResponse } from "../../support/scripted-inference.ts";
import { useTestServers } from "../../support/test-server.ts";

const servers = useTestServers();

it("makes its handlers when a path is first looked up, and only once", () => {
  let reads = 0;
  const service = createService(InferenceService, {});
  const watched = {
    ...service,
    get methods() {
      reads += 1;
      return service.methods;
    },
  };
  const find = createConnectRoutes({
    services: [watched],
    intake: createIntake(DEFAULT_LIMITS),
    unsent: new UnsentResponses(new MemoryAccount()),
    compressions: [],
  });
  expect(reads).toBe(0);
  const path = "/outrigger.v1.InferenceService/Complete";
  expect(find(path, "POST")).toMatchObject({ name: path.slice(1), isObserved: true });
  const readsToMakeThem = reads;
  expect(readsToMakeThem).toBeGreaterThan(0);
  expect(find("/outrigger.v1.InferenceService/Nothing", "POST")).toBeUndefined();
  expect(reads).toBe(readsToMakeThem);
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

it.each(Object.entries(TRANSPORTS))("counts the memory of answers over %s", async (_name, transportTo) => {
  const server = await servers.start({
    complete: async (call) => {
      await call.memory?.reserve(Number.MAX_SAFE_INTEGER, call.signal);
      return textResponse(call, "x");
    },
  });
  const client = createClient(InferenceService, transportTo(server.url));
  await expect(client.complete({ model: "m" })).rejects.toMatchObject({
    code: Code.ResourceExhausted,
    rawMessage: expect.stringContaining("max_answer_memory"),
  });
});
