/** The fields that a configuration file may change while the sidecar runs, and those that need a restart. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChanges, loadConfig } from "../../src/config/index.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-changes-"));
});

afterAll(() => rm(folder, { recursive: true }));

const MAIN = "main: { api: openai-responses, api_key: k }";
const OTHER = "other: { api: anthropic-messages, api_key: k }";
const JWT = 'jwt: { issuer: "https://i", audience: a, jwks_url: "https://i/keys" }';

async function load(text: string, providers = [MAIN, OTHER]) {
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, `${text}\nproviders: { ${providers.join(", ")} }\n`);
  return loadConfig({ environment: {}, flags: { config } });
}

async function compare(before: string, after: string) {
  return findChanges(await load(before), await load(after));
}

describe("findChanges()", () => {
  it("finds no change in a file with the same settings in another notation", async () => {
    const [before, after] = ["log_level: info", "# Comment\nlog_level: 'info'"];
    expect(await compare(before, after)).toEqual({ live: [], fixed: [] });
  });

  it.each([
    ["default_provider", "default_provider: main", "default_provider: other"],
    ["local_only", "local_only: false", ""],
    ["log_level", "", "log_level: debug"],
    ["media.allow_files_under", "", "media: { allow_files_under: [/data] }"],
    ["media.allow_files_under", "media: { allow_files_under: [/data] }", ""],
    [
      "middleware.logging",
      "middleware: { logging: { max_text: 100 } }",
      "middleware: { logging: { max_text: 200 } }",
    ],
    ["models", "", "models: [{ id: m, provider: main }]"],
    ["timeouts.connect", "timeouts: { connect: 1s }", "timeouts: { connect: 2s }"],
    ["mcp.servers", "", 'mcp: { servers: { docs: { url: "https://docs.test" } } }'],
    ["jwt.audience", JWT, JWT.replace("audience: a", "audience: b")],
  ])("lets %s change while the sidecar runs", async (path, before, after) => {
    expect(await compare(before, after)).toEqual({ live: [path], fixed: [] });
  });

  it("names the providers that were added, changed or removed", async () => {
    const before = await load("", [MAIN, OTHER]);
    const after = await load("", [MAIN.replace("k }", "l }"), "third: { api: gemini, api_key: k }"]);
    const { live, fixed } = findChanges(before, after);
    expect([[...live].sort(), fixed]).toEqual([["providers.main", "providers.other", "providers.third"], []]);
  });

  it("reports a changed order of the providers", async () => {
    const [before, after] = [await load("", [MAIN, OTHER]), await load("", [OTHER, MAIN])];
    expect(findChanges(before, after)).toEqual({ live: ["providers"], fixed: [] });
    const [quiet, loud] = [await load("", [MAIN, OTHER]), await load("log_level: debug", [OTHER, MAIN])];
    expect(findChanges(quiet, loud).live).toEqual(["log_level"]);
  });

  it.each([
    ["listen", "", 'listen: "127.0.0.1:0"'],
    ["allow_unauthenticated", "allow_unauthenticated: true", ""],
    ["drain_timeout", "drain_timeout: 1s", "drain_timeout: 2s"],
    ["limits", "", "limits: { max_message_bytes: 1MiB }"],
    ["jwt", "", JWT],
    ["jwt", JWT, ""],
  ])("requires a restart for a changed %s", async (path, before, after) => {
    expect((await compare(before, after)).fixed).toEqual([path]);
  });
});
