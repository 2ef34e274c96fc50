/** Runs with the tools of MCP servers: the engine, the client and a server together. */

import type { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { readTraceContext } from "../../../src/core/trace-context.ts";
import { ApprovalPolicy, RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { createMcpTools, type McpCallObserver, type McpCallTracer } from "../../../src/runs/mcp/mcp-tools.ts";
import { waitUntil } from "../../kit/http/servers.ts";
import { createTestEngine, getEvents, NEVER, run, runRequest, start } from "../support/test-engine.ts";
import {
  allowing,
  anyObject,
  describeServer,
  type RunningServer,
  serveMcp,
  serveOfficial,
} from "./servers.ts";

const PIXEL = "iVBORw0KGgo=";

function registerDesk(server: McpServer): void {
  server.registerTool("look", { inputSchema: anyObject, annotations: { readOnlyHint: true } }, (args) => ({
    content: [
      { type: "text", text: `seen ${JSON.stringify(args)}` },
      { type: "image", data: PIXEL, mimeType: "image/png" },
    ],
  }));
  server.registerTool("sell", { inputSchema: anyObject }, () => ({
    content: [{ type: "text", text: "sold" }],
  }));
}

async function engineWith(
  server: RunningServer,
  turns: Parameters<typeof createTestEngine>[0],
  onCall?: McpCallObserver,
  traceCall?: McpCallTracer,
) {
  const serverTools = createMcpTools(() => allowing(server), onCall, traceCall);
  const made = await createTestEngine(turns, { serverTools });
  onTestFinished(() => made.engine.close());
  return made;
}

describe("a run with an MCP server", () => {
  it("lists its tools, executes the model's calls, and gives the results to the model", async () => {
    const server = await serveOfficial(registerDesk);
    const calls: unknown[] = [];
    const { engine, model } = await engineWith(
      server,
      [[{ name: "desk__look", args: '{"at":"sea"}' }], "It is blue."],
      (...call) => void calls.push(call),
    );
    const mcpServers = [describeServer(server, { approval: ApprovalPolicy.NEVER })];
    const started = await start(engine, runRequest("What is there?", { mcpServers }));
    const events = await getEvents(started.events);
    const kinds = events.map(({ event }) => event.case).filter((kind) => kind?.startsWith("mcpTool"));
    expect(kinds).toEqual(["mcpToolList", "mcpToolStart", "mcpToolFinish"]);
    expect(calls).toEqual([["", false, expect.any(Number)]]);
    const over = await started.result();
    expect(over).toMatchObject({
      status: RunStatus.COMPLETED,
      mcpTools: [{ name: "desk__look" }, { name: "desk__sell" }],
    });
    expect(model.requests[0]?.tools.map(({ tool }) => tool.value)).toMatchObject([
      { name: "desk__look" },
      { name: "desk__sell" },
    ]);
    const result = model.requests[1]?.messages.at(-1)?.content[0]?.part;
    expect(result).toMatchObject({
      case: "toolResult",
      value: {
        failed: false,
        content: [
          { part: { case: "text", value: 'seen {"at":"sea"}' } },
          { part: { case: "image", value: { mediaType: "image/png" } } },
        ],
      },
    });
    await waitUntil(() => server.sockets.every((socket) => socket.destroyed));
  });

  it.each([true, false])(
    "traces the calls of tools, also at the server (background: %s)",
    async (background) => {
      const server = await serveOfficial(registerDesk);
      const [created, sent] = ["4", "5"].map((digit) =>
        readTraceContext({ traceparent: `00-${digit.repeat(32)}-00f067aa0ba902b7-01` }),
      );
      if (sent === undefined) throw new Error("expected a trace");
      const traced: unknown[] = [];
      const { engine } = await engineWith(server, [[{ name: "desk__look" }], "Done."], undefined, (call) => {
        traced.push(call);
        return { sent, end: (hasFailed) => traced.push(hasFailed) };
      });
      const mcpServers = [describeServer(server, { approval: ApprovalPolicy.NEVER })];
      const request = runRequest("Look.", { mcpServers, background });
      const started = await engine.createRun({ request }, { owner: "", signal: NEVER, trace: created });
      expect(await started.result()).toMatchObject({ status: RunStatus.COMPLETED });
      expect(traced).toEqual([
        { server: "desk", tool: "look", trace: created, isBackground: background },
        false,
      ]);
      const traces = new Map(server.seen.map(({ rpc, headers }) => [rpc, headers.traceparent]));
      expect([traces.get("tools/list"), traces.get("tools/call")]).toEqual([undefined, sent.traceparent]);
    },
  );

  it("waits for the approval of calls that are not read-only, and executes them in the run that continues", async () => {
    const server = await serveOfficial(registerDesk);
    const { engine } = await engineWith(server, [[{ name: "desk__look" }, { name: "desk__sell" }], "Sold."]);
    const mcpServers = [describeServer(server, { neverApprove: { readOnly: true } })];
    const first = await run(engine, runRequest("Sell it.", { mcpServers }));
    expect(first).toMatchObject({
      status: RunStatus.REQUIRES_ACTION,
      requiredApprovals: [{ name: "desk__sell" }],
    });
    const asked = server.seen.filter(({ rpc }) => rpc === "tools/list").length;
    const approvals = [{ toolCallId: first.requiredApprovals[0]?.id ?? "", approve: true }];
    const options = { request: { model: "m" } };
    const second = await run(
      engine,
      runRequest("", { inheritTools: true, previousRunId: first.id, approvals, options }),
    );
    expect(second.status).toBe(RunStatus.COMPLETED);
    expect(server.seen.filter(({ rpc }) => rpc === "tools/call")).toHaveLength(2);
    expect(server.seen.filter(({ rpc }) => rpc === "tools/list")).toHaveLength(asked);
  });

  it("fails with the server's label if the server does not answer, and is refused if it is not allowed", async () => {
    const empty = await serveMcp((_request, _body, response) => void response.writeHead(404).end());
    const { engine } = await engineWith(empty, ["never"]);
    const gone = describeServer(empty);
    const over = await run(engine, runRequest("hi", { mcpServers: [gone] })).catch((error: unknown) => error);
    expect(over).toMatchObject({
      status: RunStatus.FAILED,
      error: { message: "MCP server desk: the server rejected the request (status 404)" },
    });
    const elsewhere = { ...gone, serverUrl: "http://169.254.169.254/" };
    await expect(run(engine, runRequest("hi", { mcpServers: [elsewhere] }))).rejects.toThrow(
      /mcp_servers\[0\]\.server_url: the configuration does not allow/,
    );
  });
});
