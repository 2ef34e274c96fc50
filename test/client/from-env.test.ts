import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Client,
  ConfigurationError,
  getDefaultClient,
  imagePart,
  setDefaultClient,
  textOf,
  userMessage,
} from "outrigger";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { readProviders } from "../../src/client/from-env.ts";

const request = { model: "sim-text", messages: [userMessage("Say hello.")] };

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});

afterAll(() => simulator.close());

describe("Client.fromEnv()", () => {
  it("reads files under the folders that it is given, and no others", async () => {
    const folder = await mkdtemp(join(tmpdir(), "outrigger-"));
    await writeFile(join(folder, "pixel.png"), "pixel");
    const ask = (client: Client) =>
      client.complete({ model: "sim-text", messages: [userMessage([imagePart(join(folder, "pixel.png"))])] });
    const environment = { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: simulator.openaiBaseUrl };
    await using allowed = Client.fromEnv(environment, { allowFilesUnder: [folder] });
    simulator.clearRequests();
    await ask(allowed);
    expect(JSON.stringify(simulator.requests)).toContain(Buffer.from("pixel").toString("base64"));
    await using refusing = Client.fromEnv(environment);
    await expect(ask(refusing)).rejects.toThrow("the option allowFilesUnder");
    await rm(folder, { recursive: true });
  });

  it("refuses an option that does not exist, as the constructor does", () => {
    const options = { allowFileUnder: ["/data"] } as object;
    expect(() => Client.fromEnv({}, options)).toThrow(
      "allowFileUnder is not an option of Client.fromEnv; expected one of defaultProvider, ",
    );
    expect(() => new Client({ provider: {} } as object)).toThrow(
      "provider is not an option of Client; expected one of providers, defaultProvider, modelAliases, middleware, catalog, fieldPaths, hideToolErrors; did you mean providers?",
    );
  });

  it("registers openai with all of its variables", async () => {
    await using client = Client.fromEnv({
      OPENAI_API_KEY: " sk-test\n",
      OPENAI_BASE_URL: simulator.openaiBaseUrl,
      OPENAI_ORG_ID: "org-1",
      OPENAI_PROJECT_ID: "proj-1",
    });
    expect([client.providerNames, client.defaultProvider]).toEqual([["openai"], "openai"]);
    simulator.clearRequests();
    const response = await client.complete(request);
    expect(response).toMatchObject({ provider: "openai", model: "sim-text" });
    expect(textOf(response)).toContain("Say hello.");
    expect(simulator.requests[0]?.headers).toMatchObject({
      authorization: "Bearer sk-test",
      "openai-organization": "org-1",
      "openai-project": "proj-1",
    });
  });

  it.each([
    [{ GEMINI_API_KEY: "k", ANTHROPIC_API_KEY: "k", OPENAI_API_KEY: "k" }, ["openai", "anthropic", "gemini"]],
    [{ GOOGLE_API_KEY: "k", ANTHROPIC_API_KEY: "k" }, ["anthropic", "gemini"]],
    [{ GOOGLE_API_KEY: "k" }, ["gemini"]],
    [
      { OUTRIGGER_COMPATIBLE_BASE_URL: "http://127.0.0.1:1/v1", GEMINI_API_KEY: "k" },
      ["gemini", "compatible"],
    ],
  ])("registers providers in the same order whatever %j", async (environment, names) => {
    await using client = Client.fromEnv(environment);
    expect([client.providerNames, client.defaultProvider]).toEqual([names, names[0]]);
  });

  it.each([
    [{ OPENAI_API_KEY: "k" }, "OPENAI_BASE_URL", () => simulator.openaiBaseUrl, "OPENAI_API_KEY"],
    [{ GOOGLE_API_KEY: "k" }, "GEMINI_BASE_URL", () => simulator.geminiBaseUrl, "GOOGLE_API_KEY"],
  ])(
    "names the variable of a key that the provider rejects: %j",
    async (environment, name, getUrl, variable) => {
      await using client = Client.fromEnv({ ...environment, [name]: getUrl() });
      const call = client.complete({ ...request, model: "sim-text:status=401" });
      await expect(call).rejects.toThrow(variable);
    },
  );

  it.each([
    ["Google's variable where ours is not set", "", "/google"],
    ["ours where both are set", "/ours", "/ours"],
  ])("reads the base URL of gemini from %s", async (_, ours, taken) => {
    await using client = Client.fromEnv({
      GEMINI_API_KEY: "k",
      GEMINI_BASE_URL: ours && `${simulator.geminiBaseUrl}${ours}`,
      GOOGLE_GEMINI_BASE_URL: `${simulator.geminiBaseUrl}/google`,
    });
    simulator.clearRequests();
    await expect(client.complete(request)).rejects.toThrow();
    expect(simulator.requests[0]?.path).toMatch(new RegExp(`^${taken}/v1beta/models/sim-text:`));
  });

  it("names the variable that holds an invalid address", () => {
    expect(() => Client.fromEnv({ GEMINI_API_KEY: "k", GOOGLE_GEMINI_BASE_URL: "no url" })).toThrow(
      /GOOGLE_GEMINI_BASE_URL: /,
    );
  });

  it.each([
    ["OPENAI_API_KEY", '"sk-test"', "expected a key, found one in quotes"],
    ["OPENAI_BASE_URL", "https://a.test/v1/responses", 'expected a base URL, to which "/responses" is added'],
  ])("refuses a wrong %s by its name", (variable, value, problem) => {
    const environment = { OPENAI_API_KEY: "sk-test", [variable]: value };
    expect(() => Client.fromEnv(environment)).toThrow(`${variable}: ${problem}`);
    expect(readProviders(environment).problems).toHaveLength(1);
  });

  it("passes middleware on", async () => {
    const seen: string[] = [];
    const environment = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: simulator.openaiBaseUrl };
    const middleware = [
      {
        complete: (passed: { provider: string }, next: (passed: never) => Promise<never>) => {
          seen.push(passed.provider);
          return next(passed as never);
        },
      },
    ];
    await using client = Client.fromEnv(environment, { middleware });
    await client.complete(request);
    expect(seen).toEqual(["openai"]);
  });

  it.each([{}, { OPENAI_API_KEY: "" }, { OPENAI_API_KEY: " " }])(
    "registers nothing for %j, and calls name the variables that were read",
    async (environment) => {
      const client = Client.fromEnv(environment);
      expect(client.providerNames).toEqual([]);
      await expect(client.complete(request)).rejects.toThrow(
        new ConfigurationError(
          "no provider is registered. None of these environment variables is set: OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY, GOOGLE_API_KEY, OUTRIGGER_COMPATIBLE_BASE_URL.",
        ),
      );
    },
  );

  it("names variables that have no effect", async () => {
    const client = Client.fromEnv({
      OPENAI_BASE_URL: "https://e.org/v1",
      OPENAI_ORG_ID: "o",
      ANTHROPIC_BASE_URL: "https://e.org",
    });
    await expect(client.complete(request)).rejects.toThrow(
      "OPENAI_BASE_URL, OPENAI_ORG_ID are set, but OPENAI_API_KEY is not: the provider openai is not registered. " +
        "ANTHROPIC_BASE_URL is set, but ANTHROPIC_API_KEY is not: the provider anthropic is not registered.",
    );
  });

  it("refuses an invalid base URL without showing it", () => {
    const environment = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "sk-pasted-in-the-wrong-place" };
    expect(() => Client.fromEnv(environment)).toThrow(ConfigurationError);
    expect(() => Client.fromEnv(environment)).toThrow(/^OPENAI_BASE_URL: (?!.*sk-pasted)/);
  });
});

describe("the default client", () => {
  afterEach(() => {
    setDefaultClient(undefined);
    vi.unstubAllEnvs();
  });

  it("is created from the environment at its first use", async () => {
    vi.stubEnv("OPENAI_API_KEY", "k");
    vi.stubEnv("OPENAI_BASE_URL", simulator.openaiBaseUrl);
    await using client = getDefaultClient();
    expect(client.providerNames).toEqual(["openai"]);
    expect(getDefaultClient()).toBe(client);
    expect(textOf(await client.complete(request))).toContain("Say hello.");
  });

  it("is the value that was set", () => {
    const client = new Client();
    setDefaultClient(client);
    expect(getDefaultClient()).toBe(client);
    setDefaultClient(undefined);
    expect(getDefaultClient()).not.toBe(client);
  });
});

describe("the default provider", () => {
  const keys = { OPENAI_API_KEY: "k", GEMINI_API_KEY: "k" };

  it("is the first in the order of the variables", () => {
    expect(Client.fromEnv(keys).defaultProvider).toBe("openai");
  });

  it("is taken from OUTRIGGER_DEFAULT_PROVIDER", () => {
    expect(Client.fromEnv({ ...keys, OUTRIGGER_DEFAULT_PROVIDER: "gemini" }).defaultProvider).toBe("gemini");
  });

  it("has to be registered", () => {
    expect(() => Client.fromEnv({ ...keys, OUTRIGGER_DEFAULT_PROVIDER: "anthropic" })).toThrow(
      'the default provider "anthropic" is not registered',
    );
  });

  it("may be named if no provider is registered", () => {
    expect(Client.fromEnv({ OUTRIGGER_DEFAULT_PROVIDER: "gemini" }).defaultProvider).toBeUndefined();
  });
});

it("reads the key of a compatible server, if it has one", () => {
  const url = { OUTRIGGER_COMPATIBLE_BASE_URL: "http://127.0.0.1:8000/v1" };
  const settings = (environment: Record<string, string>) =>
    readProviders(environment).providers.get("compatible");
  expect(settings(url)).toStrictEqual({ api: "openai-chat", baseUrl: "http://127.0.0.1:8000/v1" });
  expect(settings({ ...url, OUTRIGGER_COMPATIBLE_API_KEY: "a-key" })).toMatchObject({ apiKey: "a-key" });
});

it("lists the variables of each provider that are set, its key first", () => {
  const { variables } = readProviders({
    OPENAI_ORG_ID: "org-1",
    OPENAI_BASE_URL: "http://127.0.0.1:1/v1",
    OPENAI_API_KEY: "k",
    OPENAI_PROJECT_ID: " ",
    GOOGLE_API_KEY: "k",
    GEMINI_API_KEY: "",
  });
  expect([...variables]).toEqual([
    ["openai", ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID"]],
    ["gemini", ["GOOGLE_API_KEY"]],
  ]);
});
