import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import { findForeignAddresses, isPrivateHost, listAddresses } from "../../src/config/local-only.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-local-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function load(text: string, environment = {}) {
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, text);
  return loadConfig({ environment, flags: { config } });
}

const NAMES: Readonly<Record<string, readonly string[]>> = {
  "vllm.default.svc": ["10.96.0.7"],
  "models.corp.example": ["192.168.3.4", "fd00::4"],
  "half.example": ["10.0.0.1", "203.0.113.9"],
  "api.openai.com": ["162.159.140.245"],
};

/** Resolves by the table. */
async function resolve(name: string): Promise<readonly string[]> {
  const addresses = NAMES[name];
  if (addresses === undefined) throw new Error("ENOTFOUND");
  return addresses;
}

const check = (...urls: string[]) =>
  findForeignAddresses(
    urls.map((baseUrl) => ({ what: "provider p", baseUrl })),
    resolve,
  );

describe("findForeignAddresses()", () => {
  it.each([
    "http://127.0.0.1:8000/v1",
    "http://[::1]:8000",
    "http://0.0.0.0:8000",
    "http://10.1.2.3",
    "https://vllm.default.svc/v1",
    "https://models.corp.example",
  ])("takes %s", async (url) => expect(await check(url)).toEqual([]));

  it.each(["http://vllm:8000", "http://vllm.other.svc", "http://v.ns.svc.cluster.local", "http://box.local"])(
    "takes %s, which cannot be resolved yet and cannot be public",
    async (url) => expect(await check(url)).toEqual([]),
  );

  it("describes each address that is elsewhere, or may be", async () => {
    expect(
      await check(
        "https://api.openai.com/v1",
        "http://203.0.113.7",
        "https://half.example",
        "https://gone.example",
        "http://169.254.169.254",
        "http://[2001:db8::1]",
      ),
    ).toEqual([
      "provider p: api.openai.com is not on this machine or in a private network (162.159.140.245), as local_only requires",
      "provider p: 203.0.113.7 is not on this machine or in a private network, as local_only requires",
      "provider p: half.example is not on this machine or in a private network (203.0.113.9), as local_only requires",
      "provider p: gone.example cannot be resolved, so its addresses cannot be checked",
      "provider p: 169.254.169.254 is not on this machine or in a private network, as local_only requires",
      "provider p: [2001:db8::1] is not on this machine or in a private network, as local_only requires",
    ]);
  });

  it("knows the addresses of the providers themselves", () => {
    const settings = (api: "openai-responses" | "anthropic-messages" | "gemini") => ({ api, apiKey: "k" });
    const providers = new Map([
      ["a", settings("openai-responses")],
      ["b", settings("anthropic-messages")],
      ["c", settings("gemini")],
    ]);
    expect(listAddresses(providers).map(({ baseUrl }) => baseUrl)).toEqual([
      "https://api.openai.com/v1",
      "https://api.anthropic.com",
      "https://generativelanguage.googleapis.com",
    ]);
  });
});

describe("local_only", () => {
  it("refuses all providers and tool servers that are elsewhere in one error, including providers from variables", async () => {
    const text = `
local_only: true
providers:
  far: { api: openai-chat, base_url: "http://203.0.113.7/v1" }
  near: { api: openai-chat, base_url: "http://127.0.0.1:8000/v1" }
mcp: { servers: { tools: { url: "https://203.0.113.8/mcp" } } }
`;
    const environment = { OUTRIGGER_COMPATIBLE_BASE_URL: "http://203.0.113.9/v1" };
    const error: unknown = await load(text, environment).catch((thrown: unknown) => thrown);
    expect(String(error)).toMatch(/has 3 mistakes/);
    for (const what of [
      "provider compatible: 203.0.113.9",
      "provider far: 203.0.113.7",
      "mcp server tools: 203.0.113.8",
    ])
      expect(String(error)).toContain(`${what} is not on this machine or in a private network`);
  });

  it("is handed to the providers, and can be set by a variable", async () => {
    const text = `providers: { near: { api: openai-chat, base_url: "http://127.0.0.1:8000/v1" } }`;
    const { client, mcp } = await load(text, { OUTRIGGER_LOCAL_ONLY: "true" });
    expect(client.providers.get("near")).toMatchObject({ localOnly: true });
    expect(mcp.localOnly).toBe(true);
    const free = await load(text);
    expect(free.client.providers.get("near")).not.toHaveProperty("localOnly");
  });
});

it.each([
  ["127.0.0.1", true],
  ["[::1]", true],
  ["10.1.2.3", true],
  ["203.0.113.7", false],
  ["[2001:db8::1]", false],
  ["vllm", true],
  ["keys.default.svc", true],
  ["keys.corp.internal", true],
  ["login.example.com", false],
  ["svc.example.com", false],
])("isPrivateHost() of %s is %s", (host, isPrivate) => {
  expect(isPrivateHost(host)).toBe(isPrivate);
});
