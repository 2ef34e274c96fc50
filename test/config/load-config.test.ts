import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startSimulator } from "../../simulator/index.ts";
import type { Client } from "../../src/client/client.ts";
import { buildClient, type ClientConfig, type ConfigFlags, loadConfig } from "../../src/config/index.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { userMessage } from "../../src/core/message.ts";
import { getParts } from "./support/client-parts.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-config-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function toFile(text: string): Promise<string> {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, text);
  return path;
}

function getClient(config: ClientConfig): Client {
  return buildClient(config, getParts(config));
}

/** Loads a file and gives the lines of its error, without the folder. */
async function mistakesIn(text: string, environment = {}): Promise<string[]> {
  return loadMistakes(environment, { config: await toFile(text) });
}

async function loadMistakes(environment = {}, flags: ConfigFlags = {}): Promise<string[]> {
  try {
    getClient((await loadConfig({ environment, flags })).client);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const text = error.message.replaceAll(`${folder}/`, "");
    const single = text.replace("the configuration is wrong: ", "");
    return single === text ? text.split("\n  ").slice(1) : [single];
  }
}

describe("loadConfig()", () => {
  it("lets the limit on one answer follow the memory for answers unless it is set itself", async () => {
    const environment = { OPENAI_API_KEY: "k" };
    const answerBytes = async (limits: string) => {
      const flags = { config: await toFile(`limits:\n  ${limits}\n`) };
      const { client } = await loadConfig({ environment, flags });
      return client.providers.get("openai");
    };
    expect(await answerBytes("max_answer_memory: 80MiB")).toMatchObject({
      answerLimits: { maxBytes: 10 * 1024 * 1024 },
    });
    expect(await answerBytes("max_answer_bytes: 1MiB")).toMatchObject({
      answerLimits: { maxBytes: 1024 * 1024 },
    });
  });

  it("has defaults for everything", async () => {
    const config = await loadConfig({ environment: {} });
    expect(config).toMatchObject({
      listeners: {
        data: { addresses: ["127.0.0.1:6190"] },
        admin: { address: "0.0.0.0:6191" },
        limits: {},
      },
      log: { level: "info", format: "numbers" },
      client: { defaultProvider: undefined },
      mcp: { servers: new Map(), allowedUrls: [], limits: {} },
      tlsFiles: [],
      notices: [],
    });
    expect(config.client.providers.size).toBe(0);
  });

  it("reads a file with all fields", async () => {
    const config = await toFile(`
listen: [127.0.0.1:7000, "unix:///run/outrigger.sock"]
admin_listen: off
allowed_hosts: [api.example.com, "*.corp.example"]
unix_socket_mode: "0600"
default_provider: eu
log_level: debug
drain_timeout: 1m30s
allow_unauthenticated: true
reflection: false
limits:
  max_message_bytes: 64MiB
  max_concurrent_streams: 50
  max_header_list_bytes: 8KiB
  max_connections: 7
  max_admin_connections: 8
  max_calls: 9
  max_request_memory: 64MiB
  max_unsent_bytes: 16MiB
  max_message_elements: 1000
  max_compression_ratio: 20
  stall_timeout: 5s
  max_generation_steps: 12
  stream_reset_burst: 10
  stream_reset_rate: 5
  keepalive_interval: 5s
  max_connection_idle: 10m
  max_connection_age: 1h
  max_connection_age_grace: 30s
  protocol_timeout: 1s
  headers_timeout: 2s
  request_timeout: 3s
  idle_timeout: 4s
cors:
  allowed_origins: ["https://app.example.com", "*"]
timeouts: { connect: 5s, request: 0 }
media:
  allow_files_under: [/data/images]
middleware:
  model_aliases:
    fast: { provider: eu, model: gpt-5.2-mini }
    any: { model: gpt-5.2 }
providers:
  main: { api: openai-responses, api_key: sk-main }
  eu:
    api: openai-responses
    api_key: \${EU_KEY}
    base_url: https://eu.api.openai.com/v1/
    organization: org-1
    project: proj-1
    headers: { X-Team: "\${TEAM}s" }
    timeouts: { connect: 1s, between_bytes: 10m }
`);
    const environment = { EU_KEY: "sk-eu", TEAM: "rocket" };
    const { settings, file, ...loaded } = await loadConfig({ environment, flags: { config } });
    const { client } = loaded;
    expect(file).toMatchObject({ providers: { eu: { project: "proj-1" } } });
    expect(settings).toMatchObject({ default_provider: "eu", log_level: "debug", drain_timeout: 90_000 });
    expect({ ...loaded, client: { ...client, providers: [...client.providers] } }).toEqual({
      path: config,
      listeners: {
        data: {
          addresses: ["127.0.0.1:7000", "unix:///run/outrigger.sock"],
          cors: { allowedOrigins: ["https://app.example.com", "*"] },
        },
        admin: undefined,
        allowedHosts: ["api.example.com", "*.corp.example"],
        unixSocketMode: 0o600,
        limits: {
          maxMessageBytes: 64 * 1024 * 1024,
          maxConcurrentStreams: 50,
          maxHeaderListBytes: 8192,
          maxConnections: 7,
          maxAdminConnections: 8,
          maxCalls: 9,
          maxRequestMemoryBytes: 67_108_864,
          maxUnsentBytes: 16_777_216,
          maxMessageElements: 1000,
          maxCompressionRatio: 20,
          stallTimeoutMs: 5000,
          maxGenerationSteps: 12,
          streamResetBurst: 10,
          streamResetRate: 5,
          keepaliveIntervalMs: 5000,
          maxConnectionIdleMs: 600_000,
          maxConnectionAgeMs: 3_600_000,
          maxConnectionAgeGraceMs: 30_000,
          protocolTimeoutMs: 1000,
          headersTimeoutMs: 2000,
          requestTimeoutMs: 3000,
          idleTimeoutMs: 4000,
        },
      },
      access: { keys: undefined, allowUnauthenticated: true },
      log: { level: "debug", format: "numbers" },
      shutdown: { timeoutMs: 90_000 },
      runs: {
        store: { kind: "memory", maxBytes: 67_108_864 },
        maxBodyBytes: 16_777_216,
        keys: [],
        limits: {},
      },
      reflection: false,
      client: {
        defaultProvider: "eu",
        hasCallers: false,
        tlsPaths: new Map(),
        keyFiles: new Map(),
        keyOrigins: new Map([
          ["main", "providers.main.api_key of the configuration file"],
          ["eu", "providers.eu.api_key of the configuration file"],
        ]),
        middleware: {
          modelAliases: {
            fast: { provider: "eu", model: "gpt-5.2-mini" },
            any: { model: "gpt-5.2" },
          },
          fallbacks: [],
          rules: {},
          providerRules: new Map([
            ["main", {}],
            ["eu", {}],
          ]),
        },
        models: [],
        providers: [
          [
            "main",
            {
              api: "openai-responses",
              apiKey: "sk-main",
              timeouts: { connectMs: 5000, requestMs: 0 },
              allowFilesUnder: ["/data/images"],
            },
          ],
          [
            "eu",
            {
              api: "openai-responses",
              apiKey: "sk-eu",
              baseUrl: "https://eu.api.openai.com/v1",
              organization: "org-1",
              project: "proj-1",
              defaultHeaders: { "X-Team": "rockets" },
              timeouts: { connectMs: 1000, requestMs: 0, betweenBytesMs: 600_000 },
              allowFilesUnder: ["/data/images"],
            },
          ],
        ],
        remedy:
          "None of these environment variables is set: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OUTRIGGER_COMPATIBLE_BASE_URL.",
      },
      mcp: { servers: new Map(), allowedUrls: [], limits: {} },
      tlsFiles: [],
      notices: [],
    });
  });

  it("takes flags before variables, variables before the file, the file before the defaults", async () => {
    const config = await toFile("listen: :1\nadmin_listen: :2\nlog_level: warn\n");
    const environment = {
      OUTRIGGER_CONFIG: config,
      OUTRIGGER_LISTEN: ":3, [::1]:4",
      OUTRIGGER_ADMIN_LISTEN: ":5",
      OUTRIGGER_LOG_LEVEL: "",
      OUTRIGGER_LOG_FORMAT: "words",
    };
    const loaded = await loadConfig({ environment, flags: { "admin-listen": "off" } });
    expect(loaded).toMatchObject({
      listeners: { data: { addresses: [":3", "[::1]:4"] }, admin: undefined },
      log: { level: "warn", format: "words" },
    });
  });

  it("registers the providers of the variables first, and lets the file replace one", async () => {
    const config = await toFile(`
providers:
  zeta: { api: openai-responses, api_key: z }
  openai: { api: openai-responses, api_key: from-file, base_url: "http://127.0.0.1:1/v1" }
`);
    const environment = { OPENAI_API_KEY: "from-variable", OPENAI_ORG_ID: "org" };
    const { providers } = (await loadConfig({ environment, flags: { config } })).client;
    expect([...providers.keys()]).toEqual(["openai", "zeta"]);
    expect(providers.get("openai")).toEqual({
      api: "openai-responses",
      apiKey: "from-file",
      baseUrl: "http://127.0.0.1:1/v1",
      timeouts: {},
    });
  });

  it("reads keys from files, without their line break", async () => {
    await writeFile(join(folder, "key"), "sk-secret\r\n");
    const relative = "providers: { main: { api: openai-responses, api_key_file: key } }";
    const { client } = await loadConfig({ environment: {}, flags: { config: await toFile(relative) } });
    expect(client.providers.get("main")).toMatchObject({ apiKey: "sk-secret" });
  });

  it("says which key files cannot be used", async () => {
    await writeFile(join(folder, "two-keys"), "sk-one\nsk-two\n");
    await writeFile(join(folder, "no-key"), "\n");
    const text = ["missing", "two-keys", "no-key"]
      .map((name) => `  ${name}: { api: openai-responses, api_key_file: ${name} }\n`)
      .join("");
    expect(await mistakesIn(`providers:\n${text}`)).toEqual([
      "outrigger.yaml:2:37 providers.missing.api_key_file: cannot read missing (ENOENT)",
      "outrigger.yaml:3:38 providers.two-keys.api_key_file: expected one key, found spaces or line breaks in it (two-keys)",
      "outrigger.yaml:4:36 providers.no-key.api_key_file: expected one key in no-key, found nothing",
    ]);
  });

  it("reports all mistakes of all sources together", async () => {
    const text = `
lisen: 127.0.0.1:6190
log_level: loud
drain_timeout: soon
limits:
  max_message_bytes: lots
  max_streams: 3
cors: { allowed_origins: [app.example.com] }
media: { allow_files_under: [images] }
providers:
  main:
    api: openai
    base_url: ftp://example.com
    headers: { "X Team": a, X-Key: 1 }
  "bad name": { api: openai-responses, api_key: x }
`;
    const environment = {
      OUTRIGGER_CONFIG: await toFile(text),
      OUTRIGGER_LISTEN: "6190",
      OPENAI_BASE_URL: "x",
    };
    expect(await loadMistakes({ ...environment, OPENAI_API_KEY: "k" }, { "log-level": "inf" })).toEqual([
      'outrigger.yaml:3:1 log_level: expected trace, debug, info, warn, error, fatal, silent, found "loud"',
      'outrigger.yaml:4:1 drain_timeout: expected a duration such as "500ms", "10s" or "1m30s", found "soon"',
      'outrigger.yaml:6:3 limits.max_message_bytes: expected a size such as "32MiB" or a number of bytes from 1, found "lots"',
      'outrigger.yaml:7:3 limits.max_streams: unknown field, expected one of max_connections, max_admin_connections, max_calls, max_request_memory, max_answer_memory, max_history_memory, max_read_memory, max_kept_memory, max_unsent_bytes, max_message_bytes, max_message_elements, max_compression_ratio, max_concurrent_streams, max_header_list_bytes, stream_reset_burst, stream_reset_rate, keepalive_interval, max_connection_idle, max_connection_age, max_connection_age_grace, protocol_timeout, headers_timeout, request_timeout, stall_timeout, idle_timeout, max_generation_steps, max_request_media_bytes, max_answer_bytes, max_answer_event_bytes, max_answer_events, max_answer_parts, max_answer_json_values; did you mean "max_concurrent_streams"?',
      'outrigger.yaml:8:27 cors.allowed_origins[0]: expected an origin such as "https://app.example.com", or "*", found "app.example.com"',
      'outrigger.yaml:9:30 media.allow_files_under[0]: expected an absolute path, found "images"',
      'outrigger.yaml:12:5 providers.main.api: expected openai-responses, anthropic-messages, gemini, openai-chat, command, found "openai"; did you mean "openai-responses" or "openai-chat"?',
      'outrigger.yaml:13:5 providers.main.base_url: the base URL has the scheme "ftp:"; expected an http: or https: URL, for instance https://api.example.com/v1, found "ftp://example.com"',
      "outrigger.yaml:14:16 providers.main.headers.X Team: expected the name of a header",
      "outrigger.yaml:14:29 providers.main.headers.X-Key: expected a text, found a number that is not shown",
      'outrigger.yaml:15:3 providers.bad name: expected a name of at most 64 letters, digits, ".", "_" or "-"',
      'outrigger.yaml:2:1 lisen: unknown field, expected one of listen, admin_listen, allowed_hosts, unix_socket_mode, tls, admin_tls, default_provider, log_level, log_format, drain_timeout, access_keys_file, jwt, allow_unauthenticated, local_only, reflection, limits, cors, timeouts, media, mcp, middleware, models, providers, runs, shared; did you mean "listen"?',
      "outrigger.yaml:11:3 providers.main: expected api_key or api_key_file, found neither",
      'OUTRIGGER_LISTEN: expected an address such as "127.0.0.1:6190", "[::1]:6190", ":6190" or "unix:///run/outrigger.sock", found "6190"',
      '--log-level: expected trace, debug, info, warn, error, fatal, silent, found "inf"; did you mean "info"?',
      "OPENAI_BASE_URL: the base URL is a text of 1 characters that is not a URL; expected an http: or https: URL, for instance https://api.example.com/v1",
    ]);
  });

  it("names the line and column of YAML that does not parse", async () => {
    expect(await mistakesIn("listen: [a\nlog_level: info\n")).toEqual([
      "outrigger.yaml:2:1: flow sequence in block collection must be sufficiently indented and end with a ]",
    ]);
    expect(await mistakesIn(`media: { a: \${KEY} }`)).toEqual([
      `outrigger.yaml:1:14: unexpected flow-map-start at node end; between { } and [ ] a variable needs quotes: "\${NAME}"`,
    ]);
    expect(await mistakesIn("log_level: info\nlog_level: warn\n")).toEqual([
      "outrigger.yaml:2:1: map keys must be unique",
    ]);
    expect(await mistakesIn("just text")).toEqual([
      expect.stringMatching(
        /^outrigger\.yaml:1:1: expected a mapping with some of listen, .*, found a text$/,
      ),
    ]);
  });

  it("names variables that are not set, and nothing else about their fields", async () => {
    const text =
      `limits:\n  max_concurrent_streams: \${STREAMS}\n` +
      `providers:\n  main: { api: openai-responses, api_key: '\${KEY}', project: '\${1}', organization: '$\${KEY}' }\n`;
    expect(await mistakesIn(text, { KEY: "" })).toEqual([
      "outrigger.yaml:2:3 limits.max_concurrent_streams: the environment variable STREAMS is not set",
      "outrigger.yaml:4:34 providers.main.api_key: the environment variable KEY is not set",
      `outrigger.yaml:4:53 providers.main.project: expected "\${NAME}" with the name of an environment variable`,
    ]);
  });

  it("names the entry of a list in which a variable is not set", async () => {
    const budgets = `middleware:\n  budget: [{ window: day, usd: 1 }, { window: '\${WINDOW}', usd: 1 }]\n`;
    expect(await mistakesIn(budgets)).toEqual([
      "outrigger.yaml:2:39 middleware.budget[1].window: the environment variable WINDOW is not set",
    ]);
    expect(await mistakesIn(`listen: [':1', '\${LISTEN}']\n`)).toEqual([
      "outrigger.yaml:1:16 listen[1]: the environment variable LISTEN is not set",
    ]);
  });

  it("fills variables into numbers, and keeps the escaped form", async () => {
    const text =
      `limits:\n  max_concurrent_streams: \${STREAMS}\nreflection: \${REFLECTION}\n` +
      `providers: { main: { api: openai-responses, api_key: 'a$\${KEY}b' } }\n`;
    const environment = { STREAMS: "12", REFLECTION: "false" };
    const config = await loadConfig({ environment, flags: { config: await toFile(text) } });
    expect(config.listeners.limits).toEqual({ maxConcurrentStreams: 12 });
    expect(config.reflection).toBe(false);
    expect(config.client.providers.get("main")).toMatchObject({ apiKey: `a\${KEY}b` });
  });

  it.each(["0660", "660", '"0888"', '"rw"', '"07777"'])(
    "refuses %s as permissions of a socket",
    async (mode) => {
      expect(await mistakesIn(`unix_socket_mode: ${mode}`)).toEqual([
        expect.stringMatching(
          /^outrigger\.yaml:1:1 unix_socket_mode: expected permissions in quotes such as "0660", found /,
        ),
      ]);
    },
  );

  it("takes a list of hosts from a variable, and refuses invalid names", async () => {
    const { listeners } = await loadConfig({
      environment: { OUTRIGGER_ALLOWED_HOSTS: "a.example, *.b.example" },
    });
    expect(listeners.allowedHosts).toEqual(["a.example", "*.b.example"]);
    expect(await loadMistakes({ OUTRIGGER_ALLOWED_HOSTS: "http://a.example" })).toEqual([
      expect.stringMatching(/^OUTRIGGER_ALLOWED_HOSTS: expected a host name such as "api\.example\.com"/),
    ]);
  });

  it("rejects a default provider that does not exist, and names its source", async () => {
    const environment = { OPENAI_API_KEY: "k", OUTRIGGER_DEFAULT_PROVIDER: "anthropic" };
    expect(await loadMistakes(environment)).toEqual([
      'OUTRIGGER_DEFAULT_PROVIDER: expected openai, found "anthropic"',
    ]);
    expect(await mistakesIn("default_provider: openai")).toEqual([
      'outrigger.yaml:1:1 default_provider: expected a provider, but there is none, found "openai"',
    ]);
  });

  it("names the alias of a model whose provider does not exist", async () => {
    const text = `
middleware:
  model_aliases:
    fast: { provider: other, model: m }
    empty: { provider: main }
providers: { main: { api: openai-responses, api_key: k } }
`;
    expect(await mistakesIn(text.replace("    empty: { provider: main }\n", ""))).toEqual([
      'outrigger.yaml:4:13 middleware.model_aliases.fast.provider: expected main, found "other"',
    ]);
    expect(await mistakesIn(text)).toEqual([
      "outrigger.yaml:5:5 middleware.model_aliases.empty.model: expected a text, or targets instead, found nothing",
    ]);
  });

  it("never shows a key", async () => {
    const secret = "sk-very-secret";
    const found = await mistakesIn(
      `providers: { main: { api: x, api_key: [${secret}], api_key_file: y, headers: { a: [${secret}] } } }`,
    );
    expect(found.length).toBeGreaterThan(2);
    expect(found.join()).not.toContain(secret);
    for (const misplaced of [
      secret,
      `providers: ${secret}`,
      `providers: { main: ${secret} }`,
      `providers: { main: { api: gemini, api_key: k, headers: ${secret} } }`,
      `providers: { main: { api: gemini, api_key: k, base_url: "ftp://user:${secret}@example.com" } }`,
    ]) {
      const [mistake] = await mistakesIn(misplaced);
      expect(mistake).toMatch(/expected .*, found /);
      expect(mistake).not.toContain(secret);
    }
  });

  it("says that a file cannot be read", async () => {
    await expect(
      loadConfig({ environment: {}, flags: { config: join(folder, "none.yaml") } }),
    ).rejects.toThrow(/^cannot read the configuration file .*none\.yaml \(ENOENT\)$/);
  });

  it("reads an entry of every wire API, and holds each to the fields of its API", async () => {
    const config = await toFile(`providers:
  claude: { api: anthropic-messages, api_key: a, api_version: "2023-06-01" }
  google: { api: gemini, api_key: g }
  local: { api: openai-chat, base_url: "http://127.0.0.1:8000/v1", profile: vllm, query: { v: "1" } }
`);
    const { providers } = (await loadConfig({ environment: {}, flags: { config } })).client;
    expect([...providers.values()]).toEqual([
      { api: "anthropic-messages", apiKey: "a", apiVersion: "2023-06-01", timeouts: {} },
      { api: "gemini", apiKey: "g", timeouts: {} },
      {
        api: "openai-chat",
        baseUrl: "http://127.0.0.1:8000/v1",
        profile: "vllm",
        query: { v: "1" },
        timeouts: {},
      },
    ]);
  });

  it("rejects fields of another wire API, and a compatible server without its address", async () => {
    const config = await toFile(`providers:
  google: { api: gemini, api_key: g, organization: o }
  local: { api: openai-chat }
`);
    await expect(loadConfig({ environment: {}, flags: { config } })).rejects.toThrow(
      /google\.organization: expected no organization with api gemini[\s\S]*local\.base_url: expected the server's base URL/,
    );
  });

  it("reports settings without effect, and leaves Kubernetes' variables alone", async () => {
    const environment = {
      OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
      OUTRIGGER_LISTN: ":1",
      OUTRIGGER_PORT: "tcp://10.0.0.1:6190",
      OUTRIGGER_PORT_6190_TCP_ADDR: "10.0.0.1",
      OUTRIGGER_SERVICE_HOST: "10.0.0.1",
      OUTRIGGER_METRICS_SERVICE_PORT_HTTP: "6191",
    };
    const { notices, client } = await loadConfig({ environment });
    expect(notices).toEqual([
      "OPENAI_BASE_URL is set, but OPENAI_API_KEY is not: the provider openai is not registered.",
      "OUTRIGGER_LISTN is set and has no meaning; did you mean OUTRIGGER_LISTEN?",
    ]);
    expect(client.remedy).toBe(
      `None of these environment variables is set: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OUTRIGGER_COMPATIBLE_BASE_URL. ${notices[0]}`,
    );
  });
});

describe("variables that are not settings", () => {
  const loadNotices = async (environment: Record<string, string>, text = "{}") =>
    (await loadConfig({ environment, flags: { config: await toFile(text) } })).notices;

  it.each([
    ["OUTRIGER_LISTEN", "OUTRIGGER_LISTEN"],
    ["OUTRIGGERS_LISTEN", "OUTRIGGER_LISTEN"],
    ["outrigger_listen", "OUTRIGGER_LISTEN"],
    ["OUTRIGGER_LOGLEVEL", "OUTRIGGER_LOG_LEVEL"],
    ["OUTRIGGER_ADMIN_LISTN", "OUTRIGGER_ADMIN_LISTEN"],
    ["OUTRIGER_COMPATIBLE_BASE_URL", "OUTRIGGER_COMPATIBLE_BASE_URL"],
  ])("are named with the intended setting: %s", async (variable, meant) => {
    expect(await loadNotices({ [variable]: "x" })).toEqual([
      `${variable} is set and has no meaning; did you mean ${meant}?`,
    ]);
  });

  it("are named if nothing is close", async () => {
    expect(await loadNotices({ OUTRIGGER_DRAIN_TIMEOUT: "1s", OUTBOUND_LISTEN: "x", PATH: "/bin" })).toEqual([
      'OUTRIGGER_DRAIN_TIMEOUT is set and has no meaning; "outrigger serve --help" lists the variables',
    ]);
  });

  it("are not named if the configuration file uses them", async () => {
    const text = `log_level: \${OUTRIGGER_LEVEL}`;
    expect(await loadNotices({ OUTRIGGER_LEVEL: "warn" }, text)).toEqual([]);
  });
});

describe("buildClient()", () => {
  it("builds a client with the providers in order and the default that was chosen", async () => {
    const config = await toFile(`
default_provider: second
providers:
  first: { api: openai-responses, api_key: a }
  second: { api: openai-responses, api_key: b }
`);
    await using client = getClient((await loadConfig({ environment: {}, flags: { config } })).client);
    expect(client.providerNames).toEqual(["first", "second"]);
    expect(client.defaultProvider).toBe("second");
  });

  it("builds a client with the model aliases of the configuration", async () => {
    const simulator = await startSimulator();
    const config = await toFile(`
middleware: { model_aliases: { fast: { provider: second, model: sim-text } } }
providers:
  first: { api: openai-responses, api_key: a, base_url: "http://127.0.0.1:1/v1" }
  second: { api: openai-responses, api_key: b, base_url: "${simulator.openaiBaseUrl}" }
`);
    await using client = getClient((await loadConfig({ environment: {}, flags: { config } })).client);
    const response = await client.complete({ model: "fast", messages: [userMessage("hi")] });
    expect(response).toMatchObject({ provider: "second", model: "sim-text" });
    await simulator.close();
  });
});
