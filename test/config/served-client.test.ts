import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userMessage } from "outrigger";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { toRequest } from "../../src/client/request-input.ts";
import { type Config, findChanges, loadConfig, ServedClient } from "../../src/config/index.ts";
import { Authority, hasTlsTools } from "../support/certificates.ts";

let simulator: Simulator;
let folder: string;

beforeAll(async () => {
  simulator = await startSimulator();
  folder = await mkdtemp(join(tmpdir(), "outrigger-served-client-"));
  await writeFile(join(folder, "key"), "sk-in-a-file");
});

afterAll(async () => {
  await simulator.close();
  await rm(folder, { recursive: true });
});

async function load(text: string): Promise<Config> {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, text);
  return loadConfig({ environment: {}, flags: { config: path } });
}

const log = { info() {}, warn() {} };

async function serve(text: string): Promise<ServedClient> {
  return new ServedClient((await load(text)).client, { log });
}

function withMain(more = "", settings = ""): string {
  return `
providers:
  main: { api: openai-responses, api_key: sk-main, base_url: "${simulator.openaiBaseUrl}"${settings} }
${more}`;
}

const request = (model: string, text = "hi") => toRequest({ model, messages: [userMessage(text)] });

describe("ServedClient", () => {
  it("names the invalid fields of a request as the contract does", async () => {
    const client = await serve(withMain());
    const invalid = request("sim-text");
    invalid.maxTokens = -1;
    await expect(client.complete(invalid)).rejects.toMatchObject({ violations: [{ field: "max_tokens" }] });
  });

  it("uses added providers, aliases and models from the next call on, and no longer removed ones", async () => {
    const client = await serve(withMain("middleware: { model_aliases: { old: { model: sim-text } } }"));
    expect((await client.complete(request("old"))).model).toBe("sim-text");
    const before = client.routing;
    client.use(
      (
        await load(
          withMain(`  second: { api: openai-responses, api_key: b, base_url: "${simulator.openaiBaseUrl}" }
middleware: { model_aliases: { new: { model: second/sim-text } } }
models: [{ id: house, provider: main, context_window: 7 }]
`),
        )
      ).client,
    );
    expect(await client.complete(request("new"))).toMatchObject({ provider: "second", model: "sim-text" });
    expect(client.resolveModel({ provider: "", model: "old" })).toMatchObject({ model: "old" });
    expect(client.routing).not.toBe(before);
    expect([...client.providers.keys()]).toEqual(["main", "second"]);
    expect(client.catalog.getModelInfo("house")?.contextWindow).toBe(7);
    expect([client.hasModel("house"), client.hasModel("second/sim-text")]).toEqual([true, true]);
    await client.close();
  });

  it("lets a stream continue that began before its provider was removed", async () => {
    const client = await serve(withMain());
    const events = client.stream(request("sim-text"))[Symbol.asyncIterator]();
    expect((await events.next()).done).toBe(false);
    client.use(
      (await load('providers: { other: { api: openai-chat, base_url: "http://127.0.0.1:1/v1" } }')).client,
    );
    const kinds: (string | undefined)[] = [];
    for (let next = await events.next(); next.done !== true; next = await events.next())
      kinds.push(next.value.event.case);
    expect(kinds.at(-1)).toBe("finish");
    await expect(client.complete(request("main/sim-text"))).rejects.toThrow("127.0.0.1:1");
    await client.close();
  });

  it("keeps the counts of budgets, also if their amounts change, and of other limits that stay the same", async () => {
    const limited = (requests: number, more = "") =>
      `middleware: { budget: { window: month, requests: ${requests} }, rate_limit: { requests_per_minute: 4, max_wait: 0 } }${more}`;
    const client = await serve(withMain(limited(2)));
    const call = () => client.complete(request("sim-text"));
    const use = async (text: string) => client.use((await load(text)).client);
    await call();
    await use(withMain(limited(2, "\nlog_level: warn"), ", timeouts: { request: 9s }"));
    await call();
    await expect(call()).rejects.toThrow("2 requests per month");
    await use(withMain(limited(3)));
    await call();
    await expect(call()).rejects.toThrow("3 requests per month");
    await use(withMain(limited(9)));
    await call();
    await expect(call()).rejects.toThrow("4 requests per minute");
    await client.close();
  });

  it("counts a budget in money by the prices of the new configuration", async () => {
    const priced = (input: number) => `
middleware: { budget: { window: month, usd: 1 } }
models: [{ id: sim-text, provider: main, prices: { input: ${input}, output: 1 } }]`;
    const client = await serve(withMain(priced(1)));
    await client.complete(request("sim-text"));
    client.use((await load(withMain(priced(1_000_000)))).client);
    await expect(client.complete(request("sim-text"))).rejects.toThrow("1 US dollars per month");
    await client.close();
  });

  it("keeps cached answers until a provider changes", async () => {
    const client = await serve(withMain("middleware: { cache: {} }"));
    const isHit = async () =>
      (await client.complete(request("sim-text"))).warnings.some(({ code }) => code === "cache_hit");
    expect([await isHit(), await isHit()]).toEqual([false, true]);
    client.use((await load(withMain("middleware: { cache: {} }\nlog_level: warn"))).client);
    expect(await isHit()).toBe(true);
    client.use((await load(withMain("middleware: { cache: {} }", ", timeouts: { request: 9s }"))).client);
    expect(await isHit()).toBe(false);
    await client.close();
  });

  it.skipIf(!hasTlsTools)(
    "keeps cached answers next to a provider with TLS files, until that provider changes",
    async () => {
      const { file } = new Authority();
      const secured = `  secured: { api: openai-chat, base_url: "https://localhost:1/v1", tls: { ca_file: ${file} } }\n`;
      const text = withMain(`${secured}middleware: { cache: {} }`);
      const client = await serve(text);
      await client.complete(request("sim-text"));
      client.use((await load(`${text}\nlog_level: warn`)).client);
      const { warnings } = await client.complete(request("sim-text"));
      expect(warnings.map(({ code }) => code)).toEqual(["cache_hit"]);
      client.use(
        (await load(text.replace("openai-chat", "openai-responses").replace("tls:", "api_key: k, tls:")))
          .client,
      );
      expect((await client.complete(request("sim-text"))).warnings).toEqual([]);
      await client.close();
    },
  );

  it("changes nothing if a provider of the new configuration cannot be created", async () => {
    const client = await serve(withMain());
    const { client: config } = await load(withMain());
    const broken = new Map([...config.providers, ["broken", { api: "openai-chat", baseUrl: "no address" }]]);
    const use = () => client.use({ ...config, providers: broken as typeof config.providers });
    expect(use).toThrow("provider broken:");
    expect([...client.providers.keys()]).toEqual(["main"]);
    expect((await client.complete(request("sim-text"))).provider).toBe("main");
    await client.close();
  });
});

describe("findChanges()", () => {
  const everything = () =>
    withMain(
      `  filed: { api: openai-responses, api_key_file: key, headers: { a: b }, retries: { max_retries: 1 } }
default_provider: main
log_level: warn
drain_timeout: 3s
allowed_hosts: ["*.example.com"]
cors: { allowed_origins: ["https://app.example.com"] }
limits: { max_calls: 9 }
timeouts: { request: 1m }
runs: { store: memory }
mcp: { servers: { wiki: { url: "http://127.0.0.1:1/mcp", authorization: secret } } }
middleware: { logging: { redact: ["a+"] }, budget: { window: day, usd: 1 }, cache: {} }
models: [{ id: house, provider: main, release_date: 2026-01-01, prices: { input: 1, output: 2 } }]
jwt: { issuer: "https://login.example.com", audience: a, jwks_url: "https://login.example.com/keys", clock_tolerance: 9s }
`,
    );

  it("finds none between two readings of the same file", async () => {
    expect(findChanges(await load(everything()), await load(everything()))).toEqual({ live: [], fixed: [] });
  });

  it.each([
    ["sk-main", "sk-other", ["providers.main"], []],
    ["a: b", "a: c", ["providers.filed"], []],
    ["max_retries: 1", "max_retries: 2", ["providers.filed"], []],
    ["default_provider: main", "default_provider: filed", ["default_provider"], []],
    ["usd: 1", "usd: 2", ["middleware.budget"], []],
    ['redact: ["a+"]', 'redact: ["b+"]', ["middleware.logging"], []],
    ["cache: {}", "model_aliases: { a: { model: b } }", ["middleware.cache", "middleware.model_aliases"], []],
    ["id: house", "id: home", ["models"], []],
    ["authorization: secret", "authorization: other", ["mcp.servers"], []],
    ["timeouts: { request: 1m }", "timeouts: { request: 2m }", ["timeouts.request"], []],
    ["log_level: warn\ndrain_timeout: 3s", "drain_timeout: 4s", ["log_level"], ["drain_timeout"]],
    ["max_calls: 9", "max_calls: 8", [], ["limits"]],
    ["clock_tolerance: 9s", "rules: [{ models: [main/*] }]", ["jwt.clock_tolerance", "jwt.rules"], []],
    ["audience: a", "audience: b", ["jwt.audience"], []],
    ["example.com/keys", "example.com/jwks", ["jwt.jwks_url"], []],
    ['issuer: "https://login', 'issuer: "https://sso', ["jwt.issuer"], []],
    ["runs: { store: memory }", "", [], ["runs"]],
  ])("tells that %j became %j", async (old, now, live, fixed) => {
    const changes = findChanges(await load(everything()), await load(everything().replace(old, now)));
    expect(changes).toEqual({ live, fixed });
  });

  it("reports that the order of the providers changed, on which the default depends", async () => {
    const [first, second] = ["a", "b"].map((name) => `  ${name}: { api: openai-responses, api_key: x }\n`);
    const before = await load(`providers:\n${first}${second}`);
    expect(findChanges(before, await load(`providers:\n${second}${first}`)).live).toEqual(["providers"]);
  });
});
