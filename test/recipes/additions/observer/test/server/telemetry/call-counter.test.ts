import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, it } from "vitest";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { CallCounter } from "../../../src/server/telemetry/call-counter.ts";
import { oneByOne, textEvents } from "../support/scripted-inference.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

it("counts a call from its begin to its end", async () => {
  const counter = new CallCounter();
  const script = {
    stream: (call: Parameters<typeof textEvents>[0]) => oneByOne(textEvents(call, ["a", "b"])),
  };
  const server = await servers.start(script, { observers: [counter] });
  const client = createClient(InferenceService, createGrpcTransport({ baseUrl: server.url }));
  const counts = new Set<number>();
  for await (const _ of client.stream({ model: "any" })) counts.add(counter.open);
  expect([...counts]).toContain(1);
  await expect.poll(() => counter.open).toBe(0);
});
