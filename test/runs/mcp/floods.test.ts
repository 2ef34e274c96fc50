/** MCP servers that send as much as they can in the answer of one call. */
import { create } from "@bufbuild/protobuf";
import { expect, it, onTestFinished } from "vitest";
import { ToolCallSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { McpServerSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { createMcpTools } from "../../../src/runs/mcp/mcp-tools.ts";
import { startHostileServer } from "./start-hostile-server.ts";

/** Longest turn of the event loop, in milliseconds of this process on a core. */
const MAX_TURN_MS = 250;

/** Measures each turn of the event loop until the returned function is called, which gives the longest one. */
function watchTurns(): () => number {
  let longestMs = 0;
  let isOver = false;
  let before = process.cpuUsage();
  const onTurn = () => {
    const { user, system } = process.cpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1000);
    before = process.cpuUsage();
    if (!isOver) setImmediate(onTurn);
  };
  setImmediate(onTurn);
  return () => {
    isOver = true;
    return longestMs;
  };
}

it.each([
  ["requests", "it sent more than 32 requests to the sidecar"],
  ["notifications", "more than 5000 messages"],
  ["events without a message", "more than 5000 messages"],
  ["a batch of requests", "more than 5000 messages"],
])("a server that floods its answer with %s fails the call, and delays no other", async (flood, reason) => {
  const port = await startHostileServer(flood);
  const url = `http://127.0.0.1:${port}/mcp`;
  const allowedUrls = [{ protocol: "http:", host: "127.0.0.1", port }];
  const tools = createMcpTools(() => ({ servers: new Map(), allowedUrls, environment: {} }));
  const servers = [create(McpServerSchema, { serverLabel: "desk", serverUrl: url })];
  const { signal } = new AbortController();
  const opened = await tools.open(servers, { signal });
  onTestFinished(() => opened.close());
  const stopWatching = watchTurns();
  const call = opened.execute(create(ToolCallSchema, { id: "a", name: "desk__work" }), signal);
  await expect(call).rejects.toThrow(reason);
  const longestMs = stopWatching();
  expect(longestMs).toBeLessThan(MAX_TURN_MS);
});
