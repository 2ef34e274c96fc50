/** Tools of MCP servers over the API: the routes, the engine, the client and a server together. */
import type { McpServer } from "@modelcontextprotocol/server";
import { Client } from "outrigger";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { RecentAnswers } from "../../../src/endpoints/answers/recent-answers.ts";
import { ResponseCache } from "../../../src/endpoints/answers/response-cache.ts";
import { ReplayCheckpoints } from "../../../src/endpoints/responses/replay-checkpoints.ts";
import { responsesRoutes } from "../../../src/endpoints/responses/routes.ts";
import { createMcpTools } from "../../../src/runs/mcp/mcp-tools.ts";
import { ScriptedModel, type Turn } from "../../generation/support/scripted-model.ts";
import { allowing, anyObject, serveOfficial } from "../../runs/mcp/servers.ts";
import { createTestEngine } from "../../runs/support/test-engine.ts";
import { call } from "../support/call.ts";
import { createDirectory } from "../support/directory.ts";

function registerDesk(server: McpServer): void {
  server.registerTool("look", { inputSchema: anyObject, annotations: { readOnlyHint: true } }, (args) => ({
    content: [{ type: "text", text: `seen ${JSON.stringify(args)}` }],
  }));
  server.registerTool("sell", { inputSchema: anyObject }, () => ({
    content: [{ type: "text", text: "sold" }],
  }));
}

interface Item {
  readonly id: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

async function open(...turns: Turn[]) {
  const server = await serveOfficial(registerDesk);
  const { engine } = await createTestEngine([], { serverTools: createMcpTools(() => allowing(server)) });
  onTestFinished(() => engine.close());
  const model = new ScriptedModel(turns);
  const client = new Client({ providers: { scripted: model }, fieldPaths: "contract" });
  const models = createDirectory();
  const tool = { type: "mcp", server_label: "desk", server_url: server.url };
  const create = async (body: object) => {
    const responseCache = new ResponseCache(new MemoryAccount().kept);
    const routes = responsesRoutes({
      responseCache,
      recentAnswers: new RecentAnswers(responseCache, { keepMs: 0 }),
      checkpoints: new ReplayCheckpoints(),
      engine,
      models,
    });
    const answer = await call(routes, "POST /v1/responses", { body: { model: "m", ...body }, client });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body as { id: string; output: Item[] };
  };
  return { model, tool, create };
}

describe("an MCP server", () => {
  it("is called by the sidecar, and its calls return as the same conversation", async () => {
    const { model, tool, create } = await open(
      [{ name: "desk__look", args: '{"at":"sea"}' }],
      "It is blue.",
      "Still blue.",
    );
    const tools = [{ ...tool, require_approval: "never" }];
    const asked = { role: "user", content: "What is there?" };
    const first = await create({ input: [asked], tools, store: false });
    expect(first.output.map(({ type }) => type)).toEqual(["mcp_list_tools", "mcp_call", "message"]);
    expect(first.output[1]).toMatchObject({ name: "look", output: 'seen {"at":"sea"}' });
    await create({
      input: [asked, ...first.output, { role: "user", content: "And now?" }],
      tools,
      store: false,
    });
    const [, second, third] = model.requests.map(({ messages }) =>
      messages.map(({ role, content }) => [role, content.map(({ part }) => part.case)]),
    );
    expect(third?.slice(0, 3)).toEqual(second);
  });

  it.each([true, false])(
    "waits for the caller's approval, even if nothing is stored (store: %s)",
    async (store) => {
      const { tool, create } = await open([{ name: "desk__sell" }], "Sold.");
      const asked = { role: "user", content: "Sell it." };
      const first = await create({ input: [asked], tools: [tool], store });
      const request = first.output.find(({ type }) => type === "mcp_approval_request");
      expect(request).toMatchObject({ name: "sell", server_label: "desk" });
      const approval = { type: "mcp_approval_response", approval_request_id: request?.id, approve: true };
      const second = store
        ? await create({ previous_response_id: first.id, input: [approval], tools: [tool] })
        : await create({ input: [asked, ...first.output, approval], tools: [tool], store });
      expect(second.output).toMatchObject([
        { type: "mcp_list_tools" },
        { type: "mcp_call", name: "sell", output: "sold", approval_request_id: request?.id },
        { type: "message", content: [{ text: "Sold." }] },
      ]);
    },
  );
});
