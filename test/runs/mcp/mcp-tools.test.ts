import type { ServerResponse } from "node:http";
import { create } from "@bufbuild/protobuf";
import type { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { AbortError, InvalidToolCallError, SDKError } from "../../../src/core/errors.ts";
import { type ToolCall, ToolCallSchema, type ToolResult } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { ApprovalPolicy } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { OpenedServerTools } from "../../../src/runs/server-tools.ts";
import { pause, waitUntil } from "../../kit/http/servers.ts";
import {
  answerByHand,
  anyObject,
  openTools,
  type Rpc,
  type RunningServer,
  sendJson,
  serveByHand,
  serveMcp,
  serveOfficial,
  toResult,
  toTool,
} from "./servers.ts";

function createCall(name: string, args: unknown = {}): ToolCall {
  const value = typeof args === "string" ? args : JSON.stringify(args);
  return create(ToolCallSchema, { id: "call_1", name, input: { case: "argumentsJson", value } });
}

async function execute(
  opened: OpenedServerTools,
  name: string,
  args: unknown = {},
  timeoutMs?: number,
): Promise<ToolResult & { readonly text: string }> {
  const { signal } = new AbortController();
  const result = await opened.execute(createCall(name, args), signal, timeoutMs);
  const texts = result.content.flatMap(({ part }) => (part.case === "text" ? [part.value] : []));
  return { ...result, text: texts.join("\n") };
}

function openSockets({ sockets }: RunningServer): number {
  return sockets.filter((socket) => !socket.destroyed).length;
}

const PIXEL = "iVBORw0KGgo=";

function registerDesk(server: McpServer): void {
  const echo = { description: "repeats", inputSchema: anyObject, annotations: { readOnlyHint: true } };
  server.registerTool("echo", echo, (args) => ({ content: [{ type: "text", text: JSON.stringify(args) }] }));
  server.registerTool("show", { inputSchema: anyObject }, () => ({
    content: [
      { type: "text", text: "a picture:" },
      { type: "image", data: PIXEL, mimeType: "image/png" },
      { type: "audio", data: PIXEL, mimeType: "audio/mpeg" },
      {
        type: "resource",
        resource: { uri: "file:///a/report.pdf", mimeType: "application/pdf", blob: PIXEL },
      },
      { type: "resource", resource: { uri: "file:///a/notes.txt", text: "notes" } },
      { type: "resource_link", uri: "https://example.com/x", name: "x" },
    ],
  }));
  server.registerTool("fail", { inputSchema: anyObject }, () => ({
    content: [{ type: "text", text: "no such row" }],
    isError: true,
  }));
}

describe.each(["modern", "legacy"] as const)("tools of a server of the %s revision", (era) => {
  it("are listed as they are, and given to the model under names with the server's label", async () => {
    const server = await serveOfficial(registerDesk, era);
    const opened = await openTools(server);
    expect(opened.lists).toMatchObject([
      {
        serverLabel: "desk",
        tools: [
          { name: "desk__echo", toolName: "echo", description: "repeats" },
          { name: "desk__show", toolName: "show" },
          { name: "desk__fail", toolName: "fail" },
        ],
      },
    ]);
    expect(opened.lists[0]?.error).toBeUndefined();
    expect(server.seen.some(({ rpc }) => rpc === "initialize")).toBe(era === "legacy");
    const [echo] = opened.lists[0]?.tools ?? [];
    expect(JSON.parse(echo?.inputSchemaJson ?? "")).toMatchObject({ type: "object" });
    expect(JSON.parse(echo?.annotationsJson ?? "")).toEqual({ readOnlyHint: true });
    expect(opened.tools.map(({ tool }) => tool.value)).toMatchObject([
      { name: "desk__echo", description: "repeats", parametersJson: echo?.inputSchemaJson },
      { name: "desk__show" },
      { name: "desk__fail" },
    ]);
  });

  it("are called with the model's arguments", async () => {
    const opened = await openTools(await serveOfficial(registerDesk, era));
    const args = '{"id":12345678901234567890,"list":[1,"ü"]}';
    const result = await execute(opened, "desk__echo", args);
    expect(result).toMatchObject({ failed: false, content: [{ part: { case: "text" } }] });
    expect(result.text).toContain('"list":[1,"ü"]');
  });

  it("give images, audio and files to the model as such", async () => {
    const opened = await openTools(await serveOfficial(registerDesk, era));
    const { content } = await execute(opened, "desk__show");
    const data = { case: "data", value: Buffer.from(PIXEL, "base64") };
    expect(content.map(({ part }) => part)).toMatchObject([
      { case: "text", value: "a picture:" },
      { case: "image", value: { mediaType: "image/png", source: data } },
      { case: "audio", value: { mediaType: "audio/mpeg", source: data } },
      { case: "document", value: { mediaType: "application/pdf", fileName: "report.pdf", source: data } },
      { case: "text", value: "notes" },
      { case: "text", value: expect.stringContaining("https://example.com/x") },
    ]);
  });

  it("report their failures to the model", async () => {
    const opened = await openTools(await serveOfficial(registerDesk, era));
    expect(await execute(opened, "desk__fail")).toMatchObject({ failed: true, text: "no such row" });
  });

  it("do not reveal keys that their server sends back", async () => {
    const server = await serveOfficial((mcp) => {
      const sent = () => `sent: ${server.seen.at(-1)?.headers.authorization}`;
      mcp.registerTool("tell", { description: sent(), inputSchema: anyObject }, () => ({
        content: [{ type: "text", text: sent() }],
      }));
    }, era);
    const opened = await openTools(server, { authorization: "token-1-of-the-caller" });
    expect(opened.lists[0]?.tools[0]?.description).toBe("sent: Bearer (key)");
    expect((await execute(opened, "desk__tell")).text).toBe("sent: Bearer (key)");
  });

  it("get the caller's credentials with every request, and no credentials of the sidecar", async () => {
    const server = await serveOfficial(registerDesk, era);
    const opened = await openTools(server, { authorization: "token-1", headers: { "X-Team": "a" } });
    await execute(opened, "desk__echo");
    expect(server.seen.length).toBeGreaterThan(1);
    for (const { headers } of server.seen) {
      expect(headers).toMatchObject({
        authorization: "Bearer token-1",
        "x-team": "a",
        "user-agent": "outrigger",
      });
    }
  });

  it("close the connection of a call that is cancelled, and of no other", async () => {
    let calls = 0;
    const server = await serveOfficial((mcp) => {
      mcp.registerTool("wait", { inputSchema: anyObject }, async (_args, context) => {
        calls += 1;
        await new Promise((resolve) => context.mcpReq.signal.addEventListener("abort", resolve));
        return { content: [] };
      });
    }, era);
    const opened = await openTools(server);
    const controller = new AbortController();
    const other = execute(opened, "desk__wait").catch((error: unknown) => error);
    const waiting = opened.execute(createCall("desk__wait"), controller.signal);
    await waitUntil(() => calls === 2);
    const before = openSockets(server);
    controller.abort();
    await expect(waiting).rejects.toBeInstanceOf(AbortError);
    await waitUntil(() => openSockets(server) === before - 1);
    await opened.close();
    expect(await other).toBeInstanceOf(AbortError);
    await waitUntil(() => openSockets(server) === 0);
  });

  it("close every connection when the run is cancelled", async () => {
    const server = await serveOfficial((mcp) => {
      mcp.registerTool("wait", { inputSchema: anyObject }, () => new Promise(() => {}));
    }, era);
    const controller = new AbortController();
    const opened = await openTools(server, {}, {}, { signal: controller.signal });
    const waiting = execute(opened, "desk__wait").catch((error: unknown) => error);
    await waitUntil(() => server.seen.some(({ rpc }) => rpc === "tools/call"));
    controller.abort();
    expect(await waiting).toBeInstanceOf(AbortError);
    await waitUntil(() => openSockets(server) === 0);
  });
});

describe("tools of a server with the transport of the first revision", () => {
  /** Requests come over POST, all answers over one stream of events. */
  async function serveOlder(answers: Parameters<typeof serveByHand>[0] = {}) {
    let events: ServerResponse | undefined;
    const server = await serveMcp((request, body, response) => {
      if (request.method === "GET" && request.url === "/mcp") {
        events = response.writeHead(200, { "content-type": "text/event-stream" });
        return void response.write("event: endpoint\ndata: /messages?session=1\n\n");
      }
      if (request.url !== "/messages?session=1") return void response.writeHead(405).end();
      const rpc: Rpc = JSON.parse(body);
      response.writeHead(202).end("Accepted");
      const result = rpc.id === undefined ? undefined : toResult(rpc, response, answers);
      if (result === undefined) return;
      events?.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result })}\n\n`);
    });
    return { server, cut: () => events?.destroy() };
  }

  it("are listed and called", async () => {
    const result = { content: [{ type: "text", text: "done" }] };
    const { server } = await serveOlder({ "tools/call": () => result });
    const opened = await openTools(server, { authorization: "token-1" });
    expect(opened.lists[0]).toMatchObject({ tools: [{ name: "desk__work" }] });
    expect(await execute(opened, "desk__work")).toMatchObject({ failed: false, text: "done" });
    for (const { headers } of server.seen) expect(headers.authorization).toBe("Bearer token-1");
    await opened.close();
    await waitUntil(() => openSockets(server) === 0);
  });

  it("may take their time, and fail when the stream of events breaks", async () => {
    const { server, cut } = await serveOlder({ "tools/call": () => undefined });
    const opened = await openTools(server);
    const waiting = execute(opened, "desk__work").catch((error: unknown) => error);
    await waitUntil(() => server.seen.some(({ rpc }) => rpc === "tools/call"));
    expect(await Promise.race([waiting, pause(1500)])).toBeUndefined();
    cut();
    expect(await waiting).toBeInstanceOf(SDKError);
  });
});

describe("the tools of a run", () => {
  it("are those that allowed_tools selects", async () => {
    const server = await serveOfficial(registerDesk);
    const byName = await openTools(server, { allowedTools: { toolNames: ["fail", "none"] } });
    expect(byName.tools.map(({ tool }) => tool.value)).toMatchObject([{ name: "desk__fail" }]);
    const readOnly = await openTools(server, { allowedTools: { readOnly: true } });
    expect(readOnly.lists[0]?.tools).toMatchObject([{ toolName: "echo" }]);
    expect(readOnly.find("desk__fail")).toBeUndefined();
    await expect(execute(readOnly, "desk__fail")).rejects.toBeInstanceOf(InvalidToolCallError);
  });

  it("need approval unless the caller exempts them", async () => {
    const server = await serveOfficial(registerDesk);
    const approvals = async (fields: Parameters<typeof openTools>[1]) => {
      const opened = await openTools(server, fields);
      return (opened.lists[0]?.tools ?? []).map((tool) => opened.needsApproval(tool.name));
    };
    expect(await approvals({})).toEqual([true, true, true]);
    expect(await approvals({ approval: ApprovalPolicy.NEVER })).toEqual([false, false, false]);
    expect(await approvals({ neverApprove: {} })).toEqual([true, true, true]);
    expect(await approvals({ neverApprove: { readOnly: true } })).toEqual([false, true, true]);
    const { NEVER } = ApprovalPolicy;
    expect(await approvals({ approval: NEVER, alwaysApprove: { toolNames: ["show"] } })).toEqual([
      false,
      true,
      false,
    ]);
  });

  it("keep the names of an earlier turn without asking the server again", async () => {
    const server = await serveOfficial(registerDesk);
    const first = await openTools(server);
    const asked = server.seen.length;
    const known = first.lists.flatMap(({ tools }) => tools);
    const second = await openTools(server, {}, {}, { known });
    expect(server.seen.length).toBe(asked);
    expect(second.lists).toEqual(first.lists);
    expect((await execute(second, "desk__echo", { a: 1 })).text).toBe('{"a":1}');
  });

  it("get names that other tools of the request do not have", async () => {
    const server = await serveOfficial(registerDesk);
    const opened = await openTools(server, {}, {}, { takenNames: new Set(["desk__echo"]) });
    const name = opened.lists[0]?.tools[0]?.name ?? "";
    expect(name).toMatch(/^desk__echo_[0-9a-f]{8}$/);
    expect((await execute(opened, name, { b: 2 })).text).toBe('{"b":2}');
  });

  it("pass the caller's description of their server to the model once", async () => {
    const opened = await openTools(await serveOfficial(registerDesk), { serverDescription: "A front desk." });
    expect(opened.tools.map(({ tool }) => tool.value)).toMatchObject([
      { description: "repeats\n\nAbout desk, which this tool belongs to: A front desk." },
      { description: "" },
      { description: "" },
    ]);
    expect(opened.lists[0]?.tools[0]?.description).toBe("repeats");
  });

  it("are listed over all pages", async () => {
    const server = await serveByHand({
      "tools/list": ({ params }) =>
        params?.cursor === undefined
          ? { tools: [toTool("one")], nextCursor: "2" }
          : { tools: [toTool(`page ${params.cursor}`)] },
    });
    const opened = await openTools(server);
    expect(opened.lists[0]?.tools.map(({ toolName }) => toolName)).toEqual(["one", "page 2"]);
  });
});

describe("a server that misbehaves", () => {
  async function listingError(
    answers: Parameters<typeof serveByHand>[0],
    limits: Parameters<typeof openTools>[2] = {},
  ): Promise<string> {
    const opened = await openTools(await serveByHand(answers), {}, limits);
    expect(opened.tools).toEqual([]);
    return opened.lists[0]?.error?.message ?? "";
  }

  it("is named with its failure if it cannot list its tools", async () => {
    const page = (count: number) => ({ tools: Array.from({ length: count }, (_, at) => toTool(`t${at}`)) });
    expect(
      await listingError({ initialize: (_, response) => void response.writeHead(500).end("secret") }),
    ).toBe("MCP server desk: the server failed (status 500)");
    expect(
      await listingError({ initialize: (_, response) => void response.writeHead(401).end("secret") }),
    ).toBe("MCP server desk: the server did not accept the credentials (status 401)");
    expect(await listingError({ initialize: (_, response) => void response.end("<html>") })).toBe(
      "MCP server desk: the response is not from an MCP server",
    );
    const redirect = { location: "http://169.254.169.254/" };
    expect(
      await listingError({ initialize: (_, response) => void response.writeHead(307, redirect).end() }),
    ).toBe("MCP server desk: the MCP server sent a redirect (status 307), which is not followed");
    expect(await listingError({ "tools/list": () => page(3) }, { limits: { maxTools: 2 } })).toBe(
      "MCP server desk: it has 3 tools, expected at most 2: select some with allowed_tools",
    );
    expect(await listingError({ "tools/list": () => page(30) }, { limits: { maxListingBytes: 500 } })).toBe(
      "MCP server desk: it lists more than 500 bytes of tools",
    );
    expect(await listingError({ "tools/list": () => ({ tools: [], nextCursor: "again" }) })).toBe(
      "MCP server desk: it lists more than 64 pages of tools",
    );
    expect(await listingError({ "tools/list": () => page(200) }, { limits: { maxAnswerValues: 100 } })).toBe(
      "MCP server desk: the answer of the MCP server has more than 100 JSON values",
    );
    expect(await listingError({ "tools/list": () => undefined }, { limits: { listMs: 50 } })).toMatch(
      /^MCP server desk: \w+ing.* exceeded its time limit of 50 ms$/,
    );
    expect(
      await listingError({
        "tools/list": ({ id }, response) =>
          sendJson(response, { jsonrpc: "2.0", id, error: { code: -32603, message: "database is down" } }),
      }),
    ).toBe("MCP server desk: database is down (JSON-RPC error -32603)");
  });

  it("is named if it cannot be reached", async () => {
    const server = await serveByHand({});
    const gone = { ...server, url: "http://127.0.0.1:1/mcp", port: 1 };
    const opened = await openTools(gone);
    expect(opened.lists[0]?.error?.message).toMatch(/^MCP server desk: .*127\.0\.0\.1:1/);
  });

  async function failedCall(
    answer: Parameters<typeof serveByHand>[0][string],
    timeoutMs?: number,
    settings: Parameters<typeof openTools>[2] = {},
  ): Promise<string> {
    const server = await serveByHand({ "tools/call": answer });
    const opened = await openTools(server, {}, settings);
    const failure = await execute(opened, "desk__work", {}, timeoutMs).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(SDKError);
    return String((failure as SDKError).message);
  }

  it("costs one call and not the run", async () => {
    expect(await failedCall((_, response) => void response.destroy())).toMatch(/connection|closed|socket/i);
    expect(await failedCall((_, response) => void response.writeHead(503).end())).toBe(
      "the server failed (status 503)",
    );
    expect(await failedCall(() => undefined, 50)).toBe("the call exceeded its time limit of 50 ms");
    expect(await failedCall(() => ({ content: "none" }))).toBe("the response is not from an MCP server");
    const large = () => ({ content: [{ type: "text", text: "x".repeat(100_000) }] });
    expect(await failedCall(large, undefined, { limits: { maxAnswerBytes: 50_000 } })).toBe(
      "the answer of the MCP server has more than 50000 bytes",
    );
  });

  it("fails the call when its stream of events ends without a result", async () => {
    const cut = await failedCall((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end('data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"pro');
    });
    expect(cut).toBe("the MCP server ended its answer without a result");
  });

  it("fails the call when its stream of events never ends", async () => {
    const endless = await failedCall(
      (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const write = () => {
          while (response.write(`: ${"x".repeat(1000)}\n`));
        };
        response.on("drain", write);
        write();
      },
      undefined,
      { limits: { maxAnswerBytes: 1_000_000 } },
    );
    expect(endless).toBe("the answer of the MCP server has more than 1000000 bytes");
  });

  it("may hold its stream of events open after the answer, which costs no connection", async () => {
    const server = await serveByHand({
      "tools/call": ({ id }, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } })}\n\n`);
      },
    });
    const opened = await openTools(server);
    for (let calls = 0; calls < 3; calls += 1) await execute(opened, "desk__work");
    await waitUntil(() => openSockets(server) <= 1);
  });

  it("may end a connection and resume the answer on another one", async () => {
    let resumed = "";
    const server = await serveMcp((request, body, response) => {
      const event = (id: string, data: unknown) => `id: ${id}\nretry: 10\ndata: ${JSON.stringify(data)}\n\n`;
      if (request.method === "GET") {
        resumed = String(request.headers["last-event-id"]);
        response.writeHead(200, { "content-type": "text/event-stream" });
        const result = { content: [{ type: "text", text: "late" }] };
        return void response.end(event("e2", { jsonrpc: "2.0", id: Number(resumed.slice(1)), result }));
      }
      const rpc: Rpc = JSON.parse(body);
      if (rpc.method !== "tools/call") return answerByHand(rpc, response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`id: e${rpc.id}\nretry: 10\ndata:\n\n`);
    });
    const opened = await openTools(server);
    expect(await execute(opened, "desk__work")).toMatchObject({ failed: false, text: "late" });
    expect(resumed).toMatch(/^e\d+$/);
  });

  it("gets only refusals of its requests", async () => {
    const server = await serveByHand({
      "tools/call": ({ id }, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        const ask = { jsonrpc: "2.0", id: 99, method: "sampling/createMessage", params: { messages: [] } };
        const result = { content: [{ type: "text", text: "done" }] };
        for (const message of [ask, { jsonrpc: "2.0", id, result }])
          response.write(`data: ${JSON.stringify(message)}\n\n`);
        response.end();
      },
    });
    const opened = await openTools(server);
    expect(await execute(opened, "desk__work")).toMatchObject({ failed: false, text: "done" });
    await waitUntil(() => server.seen.some(({ rpc }) => rpc === "response"));
  });

  it("is not called with arguments that are not an object", async () => {
    const server = await serveByHand({});
    const opened = await openTools(server);
    for (const args of ["[1]", "{", "7"])
      expect(await execute(opened, "desk__work", args)).toMatchObject({
        failed: true,
        text: "the arguments are not a JSON object",
      });
    expect(server.seen.filter(({ rpc }) => rpc === "tools/call")).toEqual([]);
  });
});

describe("a session", () => {
  it("is ended with the run, without waiting for a server that does not answer", async () => {
    const server = await serveByHand({
      initialize: (_, response) => {
        response.setHeader("mcp-session-id", "s-1");
        return {
          protocolVersion: "2025-06-18",
          capabilities: { tools: {} },
          serverInfo: { name: "x", version: "1" },
        };
      },
    });
    const opened = await openTools(server);
    await opened.close();
    expect(server.seen.at(-1)).toMatchObject({ method: "DELETE", headers: { "mcp-session-id": "s-1" } });
    expect(server.seen.filter(({ method }) => method === "GET")).toEqual([]);
    await waitUntil(() => openSockets(server) === 0);
  });
});
