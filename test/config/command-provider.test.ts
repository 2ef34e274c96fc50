import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildClient, type Config, loadConfig } from "../../src/config/index.ts";
import { textOf, userMessage } from "../../src/core/message.ts";
import { getParts } from "./support/client-parts.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-command-config-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function load(text: string, environment: Record<string, string> = {}): Promise<Config> {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, text);
  return loadConfig({ environment, flags: { config: path } });
}

async function problem(entry: string, rest = ""): Promise<string> {
  return load(`${rest}providers: { agent: { api: command, ${entry} } }`)
    .then(({ client }) => void buildClient(client, getParts(client)))
    .then(
      () => "",
      (error: unknown) => String(error),
    );
}

describe("a provider with api: command", () => {
  it("is a program that answers the requests that name it", async () => {
    const { client: config } = await load(
      `
providers:
  agent:
    api: command
    command: [/bin/sh, -c, 'echo "$GREETING from $0 $1"; cat', "{model}", "{effort}"]
    format: text
    environment: { GREETING: "\${WORD}" }
    efforts: { high: [--hard] }
    folder: ${folder}
    max_processes: 2
    timeouts: { request: 20s }
`,
      { WORD: "Hello" },
    );
    expect(config.providers.get("agent")).toMatchObject({ maxProcesses: 2, timeouts: { requestMs: 20_000 } });
    const client = buildClient(config, getParts(config));
    const request = { model: "m-1", reasoningEffort: "high", messages: [userMessage("Who?")] };
    const response = await client.complete(request);
    expect(textOf(response)).toBe("Hello from m-1 --hard\nWho?");
    expect(response.provider).toBe("agent");
    await client.close();
  });

  it("exists only with an entry in the configuration", async () => {
    const { client } = await load("", { OPENAI_API_KEY: "sk-1", PATH: "/bin" });
    expect([...client.providers.values()].map(({ api }) => api)).toEqual(["openai-responses"]);
  });

  it("is refused with its mistakes, which do not show its environment", async () => {
    expect(await problem("format: text")).toContain(
      "providers.agent.command: expected a list of the program and its arguments",
    );
    expect(await problem("command: [/bin/cat]")).toContain(
      "providers.agent.format: expected the format of its output",
    );
    expect(await problem("command: [/bin/cat], format: xml")).toContain("expected text, json-lines, codex");
    const named = "command: [/bin/cat, '{images}'], format: text";
    expect(await problem(named)).toContain("the command needs {images} if images arguments are configured");
    expect(await problem(`${named}, images: [--image]`)).toContain("the images arguments need {file}");
    expect(await problem(`${named}, images: [--image, '{file}']`)).toBe("");
    expect(await problem("command: [/bin/cat], format: text, schema: ['{file}']")).toContain(
      "the command needs {schema} if schema arguments are configured",
    );
    expect(await problem("command: [/bin/cat], format: text, api_key: k")).toContain(
      "expected no api_key with api command",
    );
    expect(await problem("command: [cat], format: text")).toContain(
      "provider agent: the command must begin with",
    );
    expect(await problem("command: [/bin/cat], format: text, environment: { 'A-B': x }")).toContain(
      "expected the name of a variable",
    );
    const hidden = await problem("command: [/bin/cat], format: text, environment: { A: 12345 }");
    expect(hidden).toContain("environment.A: expected a text, found a number that is not shown");
    const elsewhere = await load(
      "providers: { main: { api: openai-chat, base_url: http://127.0.0.1:1, command: [/bin/cat] } }",
    ).catch(String);
    expect(elsewhere).toContain("expected no command with api openai-chat: only command has it");
  });

  it("is refused by local_only unless the entry says that it keeps to this machine", async () => {
    const entry = "command: [/bin/cat], format: text";
    expect(await problem(entry, "local_only: true\n")).toContain("set `local: true`");
    expect(await problem(`${entry}, local: true`, "local_only: true\n")).toBe("");
  });
});
