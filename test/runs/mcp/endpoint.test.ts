import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { McpServerSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { type McpEndpoint, readEndpoints } from "../../../src/runs/mcp/endpoint.ts";
import { allowsAddress, type McpSettings, parseAddressPattern } from "../../../src/runs/mcp/settings.ts";

const settings: McpSettings = {
  servers: new Map([
    ["docs", { url: "https://docs.example.com/mcp", headers: { "X-Key": "k" } }],
    ["inner", { url: "http://10.0.0.7/mcp", headers: {}, token: async () => "token" }],
  ]),
  allowedUrls: ["https://*.example.org", "http://127.0.0.1:8080"].flatMap(
    (text) => parseAddressPattern(text) ?? [],
  ),
};

type Fields = MessageInitShape<typeof McpServerSchema>;

function endpoints(...servers: Fields[]): McpEndpoint[] {
  const messages = servers.map((fields) => create(McpServerSchema, { serverLabel: "a", ...fields }));
  return readEndpoints(messages, settings);
}

function problem(...servers: Fields[]): string {
  try {
    endpoints(...servers);
  } catch (error) {
    if (error instanceof InvalidRequestError) return error.message;
  }
  return "";
}

describe("the address of an MCP server", () => {
  it("is the configured one if the label, and the address if given, match a configured server", () => {
    const urls = endpoints(
      { serverLabel: "docs" },
      { serverLabel: "inner", serverUrl: "http://10.0.0.7:80/mcp" },
    );
    expect(urls.map(({ url }) => url.href)).toEqual(["https://docs.example.com/mcp", "http://10.0.0.7/mcp"]);
    expect(urls[0]?.headers).toEqual({ "x-key": "k" });
    expect(urls[1]?.token).toBeDefined();
  });

  it("is the caller's if the configuration allows its origin", () => {
    const [endpoint] = endpoints({ serverUrl: "https://a.b.example.org/mcp?x=1" });
    expect(endpoint?.url.href).toBe("https://a.b.example.org/mcp?x=1");
    expect(problem({ serverUrl: "http://127.0.0.1:8080/mcp" })).toBe("");
  });

  it("is refused if the configuration does not allow it, with the setting that would", () => {
    expect(problem({ serverUrl: "https://evil.example.net/mcp?key=secret" })).toBe(
      "mcp_servers[0].server_url: the configuration does not allow https://evil.example.net: " +
        "add it to mcp.allow_urls, or the server to mcp.servers",
    );
    for (const serverUrl of [
      "http://a.example.org/mcp",
      "https://example.org/mcp",
      "https://a.example.org.evil.net/",
      "https://a.example.org:8443/",
      "https://example.org.:443/",
      "http://127.0.0.1/mcp",
      "http://127.0.0.1:8081/mcp",
      "http://169.254.169.254/latest/meta-data",
      "http://[::ffff:127.0.0.1]:8080/",
      "file:///etc/passwd",
      "https://docs.example.com/other",
    ])
      expect([serverUrl, problem({ serverUrl })]).toEqual([
        serverUrl,
        expect.stringContaining("does not allow"),
      ]);
  });

  it("is refused if it is not an address or contains a password", () => {
    expect(problem({ serverUrl: "nowhere" })).toBe("mcp_servers[0].server_url: expected an https: address");
    expect(problem({ serverUrl: `https://a.example.org/${"x".repeat(3000)}` })).toContain(
      "expected an https:",
    );
    expect(problem({ serverUrl: "https://u:p@a.example.org/" })).toContain("without user name");
    expect(problem({})).toBe("mcp_servers[0].server_url: expected an address: mcp.servers has no server a");
  });

  it("gets no credentials of the configuration if the caller's address is another one", () => {
    const [endpoint] = endpoints({ serverLabel: "docs", serverUrl: "https://a.example.org/mcp" });
    expect(endpoint).toMatchObject({ headers: {} });
    expect(endpoint?.token).toBeUndefined();
  });
});

describe("the description of an MCP server", () => {
  it("names every mistake", () => {
    expect(problem({ serverLabel: "a b" }, { serverLabel: "docs" }, { serverLabel: "docs" })).toBe(
      'mcp_servers[0].server_label: expected at most 64 letters, digits, _ or -, found "a b"; ' +
        'mcp_servers[2].server_label: expected a unique label, found another "docs"',
    );
  });

  it("shortens labels that occur twice", () => {
    const serverLabel = "a".repeat(100_000);
    expect(problem({ serverLabel }, { serverLabel })?.length).toBeLessThan(500);
  });

  it("may add headers, except headers of the connection, the protocol or the configuration", () => {
    const createHeaders = (headers: Record<string, string>, serverLabel = "docs") =>
      problem({ serverLabel, headers });
    expect(createHeaders({ "X-Team": "a" })).toBe("");
    for (const name of ["Host", "Content-Length", "transfer-encoding", "Mcp-Session-Id", "Connection"])
      expect(createHeaders({ [name]: "x" })).toBe(
        `mcp_servers[0].headers: ${name.toLowerCase()} cannot be set`,
      );
    expect(createHeaders({ "x-key": "mine" })).toBe(
      "mcp_servers[0].headers: the configuration already sets x-key for this server",
    );
    expect(createHeaders({ authorization: "Bearer x" }, "inner")).toContain(
      "sets authorization for this server",
    );
    expect(createHeaders({ "bad name": "x" })).toBe(
      'mcp_servers[0].headers: expected names of headers, found "bad name"',
    );
    expect(createHeaders({ "x-a": "line\r\nx-b: 1" })).toBe(
      "mcp_servers[0].headers: the value of x-a cannot be sent",
    );
  });

  it("has a label, an address and headers of a limited length", () => {
    const address = (length: number) => "https://a.example.org/".padEnd(length, "x");
    expect(problem({ serverLabel: "a".repeat(64), serverUrl: address(2048) })).toBe("");
    expect(problem({ serverLabel: "a".repeat(65), serverUrl: address(30) })).toContain("server_label");
    expect(problem({ serverUrl: address(2049) })).toContain("server_url");
    const header = (name: string, value: string) =>
      problem({ serverLabel: "docs", headers: { [name]: value } });
    expect(header("x".repeat(128), "v")).toBe("");
    expect(header("x".repeat(129), "v")).toContain("expected names of headers");
    expect(header("x-a", "v".repeat(16_384))).toBe("");
    expect(header("x-a", "v".repeat(16_385))).toContain("the value of x-a cannot be sent");
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "v"]));
    expect(problem({ serverLabel: "docs", headers: many(64) })).toBe("");
    expect(problem({ serverLabel: "docs", headers: many(65) })).toBe(
      "mcp_servers[0].headers: expected at most 64, found 65",
    );
    const servers = ["a", "b", "c", "d"].map((serverLabel) => ({ serverLabel, serverUrl: address(30) }));
    expect(problem(...servers)).toBe("");
  });

  it("may have an address without the parts that are never sent", () => {
    for (const serverUrl of [
      "https://u@a.example.org/",
      "https://:p@a.example.org/",
      "https://a.example.org/#fragment",
    ])
      expect([serverUrl, problem({ serverUrl })]).toEqual([
        serverUrl,
        expect.stringContaining("without user name, password and fragment"),
      ]);
  });

  it("is refused with at most 200 characters of its origin", () => {
    const host = `${"a.".repeat(120)}example.net`;
    expect(problem({ serverUrl: `https://${host}/` })).toContain(
      `does not allow ${`https://${host}`.slice(0, 200)}: add`,
    );
  });

  it("has the token once, and shows it nowhere", () => {
    expect(problem({ serverLabel: "docs", authorization: "a\nb" })).toBe(
      "mcp_servers[0].authorization: its value cannot be sent",
    );
    expect(problem({ serverLabel: "docs", authorization: "x", headers: { Authorization: "Bearer y" } })).toBe(
      "mcp_servers[0].authorization: expected either this or the header, found both",
    );
    expect(endpoints({ serverLabel: "docs", authorization: "abc" })[0]?.headers).toEqual({
      "x-key": "k",
      authorization: "Bearer abc",
    });
  });
});

describe("parseAddressPattern()", () => {
  it("reads origins, and domains with at least two labels", () => {
    expect(parseAddressPattern("https://MCP.example.com/")).toEqual({
      protocol: "https:",
      host: "mcp.example.com",
      port: "",
    });
    expect(parseAddressPattern("https://*.example.com:8443")).toMatchObject({
      host: ".example.com",
      port: "8443",
    });
    expect(parseAddressPattern("http://localhost:3000")).toMatchObject({ host: "localhost" });
  });

  it("refuses patterns that allow more than they seem to", () => {
    for (const text of [
      "*",
      "https://*",
      "https://*.com",
      "https://*.10.0.0.1",
      "https://a*.example.com",
      "https://example.com/path",
      "https://example.com?x",
      "https://u@example.com",
      "http://example.com",
      "http://*.localhost",
      "ftp://example.com",
      "example.com",
      "",
    ])
      expect([text, parseAddressPattern(text)]).toEqual([text, undefined]);
  });

  it("allows hosts below a domain, but not the domain itself", () => {
    const pattern = parseAddressPattern("https://*.example.com");
    if (pattern === undefined) throw new Error("no pattern");
    const allowed = (url: string) => allowsAddress(pattern, new URL(url));
    expect(allowed("https://a.example.com/x")).toBe(true);
    expect(allowed("https://a.b.example.com:443/")).toBe(true);
    expect(allowed("https://example.com/")).toBe(false);
    expect(allowed("https://aexample.com/")).toBe(false);
  });
});
