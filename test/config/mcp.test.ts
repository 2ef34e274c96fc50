import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import type { McpSettings } from "../../src/runs/mcp/settings.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-mcp-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function load(text: string, environment: Record<string, string> = {}): Promise<McpSettings> {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, text);
  return (await loadConfig({ environment, flags: { config: path } })).mcp;
}

async function problem(text: string): Promise<string> {
  return load(text).then(
    () => "",
    (error: unknown) => String(error).replaceAll(folder, ""),
  );
}

describe("the section mcp of a configuration", () => {
  it("names servers, addresses that callers may use, and limits", async () => {
    await writeFile(join(folder, "token"), "from-file\n");
    const { servers, allowedUrls, limits } = await load(
      `
mcp:
  servers:
    docs: { url: https://docs.example.com/mcp, authorization: "\${TOKEN}", headers: { X-Team: a } }
    desk: { url: http://desk.internal/mcp, authorization_file: token }
    open: { url: https://open.example.com/mcp }
  allow_urls: ["https://*.example.org"]
  call_timeout: 10s
  max_tools: 12
`,
      { TOKEN: "from-variable" },
    );
    expect(servers.get("docs")).toMatchObject({
      url: "https://docs.example.com/mcp",
      headers: { "X-Team": "a" },
    });
    expect(await servers.get("docs")?.token?.()).toBe("from-variable");
    expect(await servers.get("desk")?.token?.()).toBe("from-file");
    expect(servers.get("open")?.token).toBeUndefined();
    expect(allowedUrls).toEqual([{ protocol: "https:", host: ".example.org", port: "" }]);
    expect(limits).toEqual({ callMs: 10_000, maxTools: 12 });
  });

  it("reads a token again for each run, and hides its location from callers", async () => {
    const file = join(folder, "token");
    await writeFile(file, "first");
    const { servers } = await load(
      "mcp: { servers: { a: { url: https://a.example.com, authorization_file: token } } }",
    );
    const token = servers.get("a")?.token;
    expect(await token?.()).toBe("first");
    await writeFile(file, "second");
    expect(await token?.()).toBe("second");
    await rm(file);
    await expect(token?.()).rejects.toThrow(/^its authorization_file cannot be read$/);
  });

  it("allows nothing if it is left out", async () => {
    const { servers, allowedUrls } = await load("");
    expect([servers.size, allowedUrls]).toEqual([0, []]);
  });

  it("is refused with its mistakes, without showing a token", async () => {
    expect(await problem("mcp: { allow_urls: [http://example.com] }")).toContain(
      'mcp.allow_urls[0]: expected an origin such as "https://mcp.example.com"',
    );
    expect(await problem("mcp: { servers: { a: { url: nowhere } } }")).toContain(
      "mcp.servers.a.url: the base URL is",
    );
    expect(await problem("mcp: { servers: { 'a b': { url: https://a.example.com } } }")).toContain(
      'expected a label of at most 64 letters, digits, "_" or "-"',
    );
    const both = "{ url: https://a.example.com, authorization: s3cret, authorization_file: token }";
    const found = await problem(`mcp: { servers: { a: ${both} } }`);
    expect(found).toContain("expected either authorization or authorization_file, found both");
    expect(
      await problem('mcp: { servers: { a: { url: https://a.example.com, authorization: "s3\\ncret" } } }'),
    ).not.toContain("s3");
    expect(
      await problem("mcp: { servers: { a: { url: https://a.example.com, authorization_file: token } } }"),
    ).toContain("mcp.servers.a.authorization_file: cannot read /token (ENOENT)");
  });
});
