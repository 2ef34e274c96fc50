/** TLS towards MCP servers: an authority in place of the public ones, and the certificate of the sidecar. */
import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { McpServerSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { createMcpTools } from "../../../src/runs/mcp/mcp-tools.ts";
import type { ConfiguredMcpServer } from "../../../src/runs/mcp/settings.ts";
import { Authority, hasTlsTools } from "../../support/certificates.ts";
import { anyObject, serveOfficial } from "./servers.ts";

it.skipIf(!hasTlsTools)("reaches a server that asks for the certificate of the sidecar", async () => {
  const authority = new Authority();
  const ca = readFileSync(authority.file, "latin1");
  const read = ({ cert, key }: { readonly cert: string; readonly key: string }) => ({
    cert: readFileSync(cert, "latin1"),
    key: readFileSync(key, "latin1"),
  });
  const identity = { ...read(authority.issue()), ca, requestCert: true, rejectUnauthorized: true };
  const server = await serveOfficial(
    (official) => official.registerTool("look", { inputSchema: anyObject }, () => ({ content: [] })),
    "modern",
    identity,
  );
  const listWith = async (tls: ConfiguredMcpServer["tls"]) => {
    const servers = new Map([["desk", { url: server.url, headers: {}, tls }]]);
    const tools = createMcpTools(() => ({ servers, allowedUrls: [], environment: {} }));
    const desk = create(McpServerSchema, { serverLabel: "desk" });
    const opened = await tools.open([desk], { signal: new AbortController().signal });
    await opened.close();
    return opened.lists[0];
  };
  const certified = { ca, ...read(authority.issue({ name: "sidecar" })) };
  expect((await listWith(() => certified))?.tools.map(({ toolName }) => toolName)).toEqual(["look"]);
  for (const incomplete of [{ ca }, undefined]) {
    const listed = await listWith(incomplete && (() => incomplete));
    expect([listed?.tools, listed?.error?.message]).toEqual([[], expect.stringContaining("MCP server desk")]);
  }
});
