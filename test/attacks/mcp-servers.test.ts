/** MCP servers that flood the sidecar in the answer of one call. */
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { startHostileServer } from "../runs/mcp/start-hostile-server.ts";
import { startProvider, WHOLE_ANSWER } from "./support/provider.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const RUNS = 8;

/** A model that calls the server's tool once, and then answers. */
function createModel(): (response: ServerResponse) => void {
  let calls = 0;
  return (response) => {
    calls += 1;
    response.writeHead(200, { "content-type": "application/json" });
    if (calls > RUNS) return void response.end(WHOLE_ANSWER);
    const call = { id: "call_1", type: "function", function: { name: "desk__work", arguments: "{}" } };
    const message = { role: "assistant", content: null, tool_calls: [call] };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    response.end(JSON.stringify({ id: "1", object: "chat.completion", created: 1, model: "m", choices }));
  };
}

describe.each(SIZES)("an MCP server, against $name", ({ heapMiB, maxPeakMiB }) => {
  it.each(["requests", "notifications", "a batch of requests"])(
    "that floods it with %s fails only its own calls",
    async (flood) => {
      const port = await startHostileServer(flood);
      const caller = await startProvider(createModel());
      const mcp = { servers: { desk: { url: `http://127.0.0.1:${port}/mcp` } } };
      const sidecar = await attacks.start({ heapMiB, providers: { caller }, config: { mcp } });
      const run = async () => {
        const response = await fetch(`${sidecar.url}/outrigger.v1.RunService/CreateRun`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            options: { request: { model: "m", provider: "caller" }, prompt: "Work.", maxToolRounds: 2 },
            mcpServers: [{ serverLabel: "desk", approval: "APPROVAL_POLICY_NEVER" }],
          }),
        });
        expect(await response.json()).toMatchObject({ status: "RUN_STATUS_COMPLETED" });
      };
      const report = await sidecar.withstand(() => Promise.all(Array.from({ length: RUNS }, run)));
      expectWithstood(report, maxPeakMiB);
      await sidecar.expectRecovered();
    },
  );
});
