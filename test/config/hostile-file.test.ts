import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeFailure } from "../../src/cli/describe-failure.ts";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { buildClient, loadConfig } from "../../src/config/index.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { getParts } from "./support/client-parts.ts";

const VALID = `
listen: [127.0.0.1:7000, "unix:///run/outrigger.sock"]
admin_listen: 0.0.0.0:6191
default_provider: eu
log_level: debug
drain_timeout: 1m30s
limits: { max_message_bytes: 64MiB, keepalive_interval: 5s }
cors:
  allowed_origins: ["https://app.example.com", "*"]
timeouts: &limits { connect: 5s, request: 0 }
middleware:
  model_aliases:
    fast: { provider: eu, model: gpt-5.2-mini }
providers:
  eu:
    api: openai-responses
    api_key: \${KEY}
    base_url: https://eu.api.openai.com/v1/
    headers: { X-Team: "\${TEAM}s" }
    timeouts: *limits
  local: { api: openai-chat, base_url: "http://localhost:8000/v1", query: { a: b } }
`;
const environment = { KEY: "sk-very-secret", TEAM: "rocket" };

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-hostile-"));
});

afterAll(() => rm(folder, { recursive: true }));

/** Returns the message and the exit code for a refused file, or undefined for an accepted one. */
async function toRefusal(text: string): Promise<{ message: string; code: number } | undefined> {
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, text);
  try {
    const { client } = await loadConfig({ environment, flags: { config } });
    await buildClient(client, getParts(client)).close();
    return undefined;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return describeFailure(error, {});
  }
}

/** Texts with a meaning in YAML or in this file. */
const TOKENS = [
  ...[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "-",
    "?",
    "|",
    ">",
    "&a ",
    "*a",
    "*limits",
    "!!binary ",
    "!!set ",
    "<<: ",
  ],
  ...[
    "\n",
    "  ",
    "\t",
    "#",
    "'",
    '"',
    "---\n",
    "%YAML 1.1\n",
    "null",
    "~",
    "true",
    "0x10",
    "1e400",
    "-1",
    ".nan",
  ],
  ...[
    `\${`,
    `\${KEY}`,
    `\${}`,
    `$\${KEY}`,
    "__proto__: 1\n",
    "constructor",
    "providers:\n",
    "\u0000",
    "\ud800",
    "\ufeff",
  ],
];

const mutation = fc.record({
  at: fc.nat(VALID.length),
  remove: fc.nat(30),
  insert: fc.oneof(
    fc.constantFrom(...TOKENS),
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.tuple(fc.nat(VALID.length), fc.nat(60)).map(([from, length]) => VALID.slice(from, from + length)),
  ),
});

function mutated(mutations: readonly { at: number; remove: number; insert: string }[]): string {
  return mutations.reduce((text, { at, remove, insert }) => {
    return `${text.slice(0, at)}${insert}${text.slice(at + remove)}`;
  }, VALID);
}

describe("a configuration file that is wrong in some way", () => {
  it("is accepted without mutations", async () => {
    expect(await toRefusal(VALID)).toBeUndefined();
  });

  it("is accepted, or refused with exit code 3, after any mutation, and no message shows a key", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 6 }), async (mutations) => {
        const refusal = await toRefusal(mutated(mutations));
        if (refusal === undefined) return;
        expect(refusal.code).toBe(exitCodes.configuration);
        expect(refusal.message).not.toMatch(/very-secret|undefined|\[object/);
      }),
      { numRuns: 500 },
    );
  });

  const levels = 20_000;
  const cases: readonly [what: string, text: string, message: RegExp][] = [
    ["aliases of aliases", aliasBomb(), /outrigger\.yaml: expected fewer uses of aliases/],
    [
      "levels of nesting",
      `listen: ${"[".repeat(levels)}${"]".repeat(levels)}`,
      /expected fewer levels of nesting/,
    ],
    ["unknown fields", manyFields(10_000), /and 9950 more/],
    ["equal names", "log_level: info\n".repeat(2000), /map keys must be unique/],
    ["bytes", `# ${"x".repeat(256 * 1024)}\n`, /is over 262144 bytes/],
  ];
  it.each(cases)("is refused for its many %s", async (_what, text, message) => {
    const refusal = await toRefusal(text);
    expect(refusal?.code).toBe(exitCodes.configuration);
    expect(refusal?.message).toMatch(message);
    expect(refusal?.message.length).toBeLessThan(100_000);
  });

  it("is refused if it never ends", async () => {
    const failure = loadConfig({ environment: {}, flags: { config: "/dev/zero" } });
    await expect(failure).rejects.toThrow("the configuration file /dev/zero is over 262144 bytes");
    const config = join(folder, "endless-key.yaml");
    await writeFile(config, "providers: { main: { api: openai-responses, api_key_file: /dev/zero } }");
    await expect(loadConfig({ environment: {}, flags: { config } })).rejects.toThrow(
      "/dev/zero is over 65536 bytes",
    );
  });

  it.each([
    `providers: { main: { api: openai-responses, api_key: k, base_url: '\${KEY}' } }`,
    `providers: { main: { api: openai-responses, api_key: k, base_url: '\${KEY}.example/x' } }`,
    `providers: { main: { api: openai-responses, api_key: k, base_url: 'ftp:\${KEY}' } }`,
    `default_provider: \${KEY}`,
    `log_level: \${KEY}`,
    `listen: [&key '\${KEY}', *key]`,
    `drain_timeout: x\${KEY}`,
    `middleware: { model_aliases: { a: { model: m, provider: '\${KEY}' } } }`,
    `cors: { allowed_origins: ['\${KEY}'] }`,
    `limits: '\${KEY}'`,
    `listen: '\${sk-very-secret}'`,
  ])("does not show the value of a variable: %s", async (text) => {
    const refusal = await toRefusal(text);
    expect(refusal?.code).toBe(exitCodes.configuration);
    expect(refusal?.message).not.toContain("very-secret");
  });
});

function aliasBomb(): string {
  const levels = Array.from({ length: 9 }, (_, level) => {
    const items = Array.from({ length: 9 }, () => (level === 0 ? "x" : `*a${level - 1}`));
    return `a${level}: &a${level} [${items.join(", ")}]`;
  });
  return `${levels.join("\n")}\n`;
}

function manyFields(count: number): string {
  return Array.from({ length: count }, (_, index) => `field_${index}: 1\n`).join("");
}
