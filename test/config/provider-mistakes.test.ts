import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/index.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-mistakes-"));
});

afterAll(() => rm(folder, { recursive: true }));

async function load(text: string, environment: Record<string, string> = {}) {
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, text);
  return loadConfig({ environment, flags: { config } });
}

const keys: readonly [what: string, key: string, problem: string][] = [
  ["an en dash", "sk–very-secret", "found U+2013 as its character 3, which keys do not have"],
  ["quotes", '"sk-very-secret"', "found one in quotes; write it without them"],
  ["Bearer in front", "Bearer sk-very-secret", 'found "Bearer" in front of it; write the key alone'],
  [
    "a name in front",
    "GEMINI_API_KEY=very-secret",
    "found the name of a variable in front of it; write the key alone",
  ],
  ["a space", "sk very-secret", "found spaces or line breaks in it"],
];

describe("a key in the field of something else", () => {
  it.each([
    "providers: { main: { api: openai-chat, base_url: KEY } }",
    "providers: { main: { api: KEY, api_key: x } }",
    "providers: { main: { api: gemini, api_key_file: KEY } }",
    "providers: { main: { api: gemini, api_key: abc } }\ndefault_provider: KEY",
    "timeouts: { connect: KEY }",
    "listen: KEY",
  ])("is not shown: %s", async (text) => {
    for (const key of ["sk-proj-very-secret-0123", "AIzaVerySecret0123456789", "gsk_very-secret-0123"]) {
      const refusal = load(text.replace("KEY", key));
      await expect(refusal).rejects.toThrow("a text that reads like a key, which is not shown");
      await expect(refusal).rejects.not.toThrow(/very-?secret/i);
    }
  });

  it("is not shown in a variable", async () => {
    const environment = {
      OPENAI_API_KEY: "a-valid-key",
      OUTRIGGER_DEFAULT_PROVIDER: "sk-proj-very-secret-0123",
    };
    const refusal = loadConfig({ environment });
    await expect(refusal).rejects.toThrow(
      "OUTRIGGER_DEFAULT_PROVIDER: expected openai, found a text that reads",
    );
  });
});

describe("a key that cannot be one", () => {
  it.each(keys)("is refused in a variable, because of %s", async (_, key, problem) => {
    const refusal = loadConfig({ environment: { ANTHROPIC_API_KEY: key } });
    await expect(refusal).rejects.toThrow(/^the configuration is wrong: ANTHROPIC_API_KEY: expected/);
    await expect(refusal).rejects.toThrow(problem);
    await expect(refusal).rejects.not.toThrow("very-secret");
  });

  it.each(["$MY_KEY", `\${MY_KEY}`])("is refused in a variable that names another one, %s", async (key) => {
    await expect(loadConfig({ environment: { ANTHROPIC_API_KEY: key } })).rejects.toThrow(
      "ANTHROPIC_API_KEY: expected a key, found the name of a variable that was not replaced",
    );
  });

  it.each(keys)("is refused in the file, because of %s", async (_, key, problem) => {
    const text = `providers: { main: { api: gemini, api_key: '${key}' } }`;
    const refusal = load(text);
    await expect(refusal).rejects.toThrow(problem);
    await expect(refusal).rejects.toThrow("providers.main.api_key: expected");
    await expect(refusal).rejects.not.toThrow("very-secret");
  });

  it.each(keys)("is refused in a separate file, because of %s", async (_, key, problem) => {
    await writeFile(join(folder, "key"), `${key}\n`);
    const refusal = load("providers: { main: { api: gemini, api_key_file: key } }");
    await expect(refusal).rejects.toThrow(problem);
    await expect(refusal).rejects.not.toThrow("very-secret");
  });
});

describe("a base URL under which every call would fail", () => {
  it.each([
    ["openai-chat", "http://h:1/v1/chat/completions", "/chat/completions", "http://h:1/v1"],
    ["openai-chat", "http://h:1/v1/models/", "/models", "http://h:1/v1"],
    ["openai-responses", "https://h/v1/responses", "/responses", "https://h/v1"],
    ["anthropic-messages", "https://h/v1/messages", "/v1/messages", "https://h"],
    ["gemini", "https://h/v1beta", "/v1beta", "https://h"],
    ["gemini", "https://h/v1beta/models", "/v1beta/models", "https://h"],
  ])("is refused for %s: %s", async (api, url, end, base) => {
    const problem = `expected a base URL, to which "${end}" is added; write "${base}"`;
    await expect(
      load(`providers: { main: { api: ${api}, api_key: k, base_url: "${url}" } }`),
    ).rejects.toThrow(`providers.main.base_url: ${problem}`);
  });

  it("is refused in a variable", async () => {
    const environment = { GEMINI_API_KEY: "k", GEMINI_BASE_URL: "https://h/v1beta/" };
    await expect(loadConfig({ environment })).rejects.toThrow(
      'GEMINI_BASE_URL: expected a base URL, to which "/v1beta" is added; write "https://h"',
    );
  });

  it("is refused without the version at OpenAI itself", async () => {
    const environment = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://api.openai.com" };
    await expect(loadConfig({ environment })).rejects.toThrow(
      'OPENAI_BASE_URL: expected a base URL with its version; write "https://api.openai.com/v1"',
    );
  });

  it("causes a notice without a path at other servers, some of which have their API there", async () => {
    const { notices } = await loadConfig({
      environment: { OUTRIGGER_COMPATIBLE_BASE_URL: "http://localhost:11434" },
    });
    expect(notices).toEqual([
      'provider compatible: the base URL has no path, but most servers expect a version; if calls fail with 404, write "http://localhost:11434/v1"',
    ]);
  });

  it("is accepted without a notice as providers document it", async () => {
    const { notices } = await load(`
providers:
  one: { api: openai-chat, base_url: "https://h/openai/v1/" }
  two: { api: anthropic-messages, api_key: k, base_url: "https://h/v1" }
  three: { api: gemini, api_key: k, base_url: "https://h" }
  four: { api: openai-responses, api_key: k, base_url: "https://h/openai/deployments/d" }
`);
    expect(notices).toEqual([]);
  });
});

describe("a provider in variables and in the file", () => {
  const text = (key: string) => `providers: { openai: { api: openai-responses, api_key: "${key}" } }`;
  const environment = { OPENAI_API_KEY: "of-variable", OPENAI_ORG_ID: "org" };

  it("is the file's, and the variables without effect are named", async () => {
    const { client, notices } = await load(text("of-file"), environment);
    expect(client.providers.get("openai")).toMatchObject({ apiKey: "of-file" });
    expect(client.providers.get("openai")).not.toHaveProperty("organization");
    expect(notices).toEqual([
      expect.stringMatching(
        /outrigger\.yaml:1:14 providers\.openai replaces the provider of the variables: OPENAI_API_KEY, OPENAI_ORG_ID has no effect$/,
      ),
    ]);
  });

  it("is not reported if the file refers to the variables", async () => {
    const { notices } = await load(text(`\${OPENAI_API_KEY}`), { OPENAI_API_KEY: "k" });
    expect(notices).toEqual([]);
  });
});

describe("a word that is close to another", () => {
  it.each([
    ["api: openai", "providers: { main: { api: openai } }", '"openai-responses" or "openai-chat"'],
    [
      "a kind of errors",
      "middleware: { fallbacks: [{ targets: [{ model: m }], on: [timeout] }] }",
      '"request_timeout"',
    ],
    ["the default provider", "default_provider: opnai\nproviders: { openai: { api: gemini } }", '"openai"'],
  ])("is suggested for %s", async (_, text, meant) => {
    await expect(load(text)).rejects.toThrow(`; did you mean ${meant}?`);
  });
});

describe("a single value in the place of a list", () => {
  it("is described under the path that the file has", async () => {
    const text = "middleware: { budget: { window: weekly, usd: ten, wat: 1 } }";
    await expect(load(text)).rejects.toThrow(
      /1:25 middleware\.budget\.window: expected hour, day, month, found "weekly"/,
    );
    await expect(load(text)).rejects.toThrow(
      /1:41 middleware\.budget\.usd: expected a number .*, found "ten"/,
    );
    await expect(load(text)).rejects.toThrow(/1:51 middleware\.budget\.wat: unknown field/);
  });
});

describe("a variable that is true or false", () => {
  it.each([
    ["1", true],
    ["TRUE", true],
    ["yes", true],
    ["on", true],
    ["0", false],
    ["no", false],
  ])("takes the word %s", async (word, expected) => {
    const { access } = await loadConfig({ environment: { OUTRIGGER_ALLOW_UNAUTHENTICATED: word } });
    expect(access.allowUnauthenticated).toBe(expected);
  });

  it("is refused with another word", async () => {
    await expect(loadConfig({ environment: { OUTRIGGER_LOCAL_ONLY: "maybe" } })).rejects.toThrow(
      'OUTRIGGER_LOCAL_ONLY: expected true or false, found "maybe"',
    );
  });
});
