import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runHere } from "./support/spawn-outrigger.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-check-"));
});

afterEach(() => rm(folder, { recursive: true }));

/** Checks a file. */
async function check(text: string, environment: Record<string, string> = {}) {
  const file = join(folder, "outrigger.yaml");
  await writeFile(file, text);
  return runHere(["check-config", file], environment);
}

describe("outrigger check-config", () => {
  it("says what would be served, without a secret", async () => {
    await writeFile(join(folder, "keys.yaml"), "keys: [{ name: checkout, key: hush-0123456789abcdef }]\n");
    const text = `
listen: ["0.0.0.0:6190", "unix:///run/outrigger.sock"]
admin_listen: off
access_keys_file: keys.yaml
providers:
  local: { api: openai-chat, base_url: "http://localhost:8000/v1?key=hush" }
  other: { api: anthropic-messages, api_key: hush-key }
  agent: { api: command, command: [/bin/cat], format: text }
middleware:
  model_aliases:
    fast: { model: m, provider: local }
    split: { targets: [{ model: m, provider: local, weight: 95 }, { model: other/n, weight: 5 }] }
    cheap: { targets: [{ model: m, provider: local }, { model: n }], choose: cost }
models: [{ id: m, provider: local }]
mcp: { servers: { docs: { url: "https://mcp.example.com/mcp", authorization: hush } } }
runs: { store: "postgres://user:hush@db.example.com/runs" }
shared: { valkey: { url: "rediss://user:hush@valkey.example.com" }, postgres: { url: "postgres://u:hush@db/x" } }
`;
    const { code, stdout, stderr } = await check(text, {
      OPENAI_API_KEY: "sk-hush",
      OUTRIGGER_LOGLEVEL: "x",
    });
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n")).toEqual([
      "calls:    0.0.0.0:6190, unix:///run/outrigger.sock",
      "admin:    off",
      "callers:  checkout",
      "provider: openai, openai-responses, https://api.openai.com/v1, key from OPENAI_API_KEY, the default",
      "provider: local, openai-chat, http://localhost:8000/v1, no key",
      "provider: other, anthropic-messages, https://api.anthropic.com/, key from providers.other.api_key of the configuration file",
      "provider: agent, command",
      "alias:    fast, local/m",
      "alias:    split, by weight: local/m 95, other/n 5",
      "alias:    cheap, by cost: local/m, n",
      "model:    local/m",
      "mcp:      docs, https://mcp.example.com/mcp",
      "runs:     in PostgreSQL at db.example.com",
      "shared:   in Valkey at valkey.example.com:6379 with TLS, budgets in PostgreSQL at db; when away: local",
      "notice:   OUTRIGGER_LOGLEVEL is set and has no meaning; did you mean OUTRIGGER_LOG_LEVEL?",
      "",
    ]);
    expect(stdout).not.toContain("hush");
  });

  it("names every mistake, and exits with 3", async () => {
    const { code, stdout, stderr } = await check("log_level: loud\ndrain_timeout: soon\n", {
      OPENAI_API_KEY: "k",
    });
    expect([code, stdout]).toEqual([3, ""]);
    expect(stderr).toMatch(
      /2 mistakes:\n.*log_level: expected trace.*found "loud"\n.*drain_timeout: expected a duration/,
    );
    const open = await check('listen: "0.0.0.0:1"\n', { OPENAI_API_KEY: "k" });
    expect([open.code, open.stderr]).toEqual([3, expect.stringContaining("is open to the network")]);
    expect((await check("log_level: info\n")).stderr).toContain("no provider is configured");
    expect((await runHere(["check-config", join(folder, "missing")])).code).toBe(3);
  });

  it("names the issuers of tokens, and the sources of their keys", async () => {
    const issuer = (name: string) =>
      `{ issuer: "https://${name}.test", audience: [a, b], jwks_url: "https://${name}.test/jwks?hush", caller: "${name}/{sub}"`;
    const text = `
listen: 0.0.0.0:6190
jwt:
  - ${issuer("one")}, rules: [{ models: [openai/*] }] }
  - ${issuer("two")} }
`;
    const { code, stdout } = await check(text, { OPENAI_API_KEY: "sk-hush" });
    expect(code).toBe(0);
    expect(stdout.split("\n")).toEqual(
      expect.arrayContaining([
        "callers:  everyone with a token",
        "tokens:   https://one.test for a, b, keys from https://one.test/jwks, 1 rule",
        "tokens:   https://two.test for a, b, keys from https://two.test/jwks, every model",
      ]),
    );
    expect(stdout).not.toContain("hush");
  });

  it("takes one file", async () => {
    for (const args of [[], ["a", "b"], ["--config"]])
      expect(await runHere(["check-config", ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("expected the path of one configuration file"),
      });
  });
});
