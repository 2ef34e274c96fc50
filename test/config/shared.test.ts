/** The section `shared` of a configuration file, and the rules that sidecars share. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChanges, loadConfig } from "../../src/config/index.ts";
import { ConfigurationError } from "../../src/core/errors.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-shared-"));
  await writeFile(join(folder, "password"), "of-the-file\n");
});

afterAll(() => rm(folder, { recursive: true }));

const PROVIDERS = "providers: { main: { api: openai-responses, api_key: k } }";

async function load(text: string, environment: Record<string, string> = {}) {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, `${text}\n${PROVIDERS}\n`);
  return loadConfig({ environment, flags: { config: path } });
}

/** Returns the mistakes of a file, without its folder. */
async function loadMistakes(text: string, environment: Record<string, string> = {}): Promise<string> {
  const thrown = await load(text, environment).catch((error: unknown) => error);
  if (!(thrown instanceof ConfigurationError)) throw new Error("expected mistakes");
  return thrown.message.replaceAll(`${folder}/`, "");
}

const VALKEY = `shared: { valkey: { url: "redis://valkey" } }`;

describe("the section shared", () => {
  it("names a server, with the password of a file that is read for each connection", async () => {
    const { shared } = await load(`
shared:
  valkey: { url: "redis://sharer@[::1]:7000/3", password_file: password, prefix: "team:a", timeout: 100ms }
  when_away: refuse
`);
    expect(shared?.valkey).toMatchObject({
      host: "::1",
      port: 7000,
      username: "sharer",
      database: 3,
      prefix: "team:a",
      timeoutMs: 100,
      tls: undefined,
    });
    expect(shared?.whenAway).toBe("refuse");
    expect(await shared?.valkey?.readPassword()).toBe("of-the-file");
    await writeFile(join(folder, "password"), "of-the-next-file\n");
    expect(await shared?.valkey?.readPassword()).toBe("of-the-next-file");
    await rm(join(folder, "password"));
    expect(await shared?.valkey?.readPassword()).toBe("of-the-next-file");
    await writeFile(join(folder, "password"), "of-the-file\n");
  });

  it("is off by default, and TLS is on by the scheme of the URL", async () => {
    expect((await load("")).shared).toBeUndefined();
    const { shared } = await load(`shared: { valkey: { url: "rediss://:a%40b@valkey.example.com" } }`);
    expect(shared?.valkey).toMatchObject({ host: "valkey.example.com", port: 6379, prefix: "outrigger" });
    expect(shared?.valkey?.tls?.()).toEqual({});
    expect(await shared?.valkey?.readPassword()).toBe("a@b");
  });

  it("uses the database of runs for shared budgets, if there is no other server", async () => {
    const runs = `runs: { store: "postgres://user:hush@db/runs", postgres: { schema: mine } }`;
    const { shared } = await load(`${runs}\nmiddleware: { budget: { window: day, usd: 1, shared: true } }`);
    expect(shared?.postgres).toEqual({
      url: "postgres://user:hush@db/runs",
      schema: "mine",
      timeoutMs: 1000,
    });
    expect((await load(runs)).shared).toBeUndefined();
    const both = `${runs}\n${VALKEY}\nmiddleware: { budget: [{ window: day, usd: 1, shared: SHARED }] }`;
    expect((await load(both.replace("SHARED", "true"))).shared?.postgres).toBeUndefined();
    expect((await load(both.replace("SHARED", "postgres"))).shared?.postgres?.schema).toBe("mine");
  });

  it("names every mistake, and shows no password", async () => {
    expect(
      await loadMistakes(`
shared:
  valkey: { url: "http://user:hush@valkey", password: [hush], tls: { ca_file: 1 }, prefix: "a b", timeout: 0s }
  postgres: { url: "mysql://user:hush@db", schema: Mine }
  when_away: wait
`),
    ).toMatchInlineSnapshot(`
      "the configuration has 8 mistakes:
        outrigger.yaml:3:13 shared.valkey.url: expected a URL such as "redis://valkey:6379", or "rediss://user@valkey.example.com:6380" with TLS, found "http://…@valkey"
        outrigger.yaml:3:45 shared.valkey.password: expected a text, found a list
        outrigger.yaml:3:70 shared.valkey.tls.ca_file: expected a text, found 1
        outrigger.yaml:3:84 shared.valkey.prefix: expected up to 100 letters, digits, dots, colons, underscores and hyphens, found "a b"
        outrigger.yaml:3:99 shared.valkey.timeout: expected a duration above 0 such as "500ms" or "10s", found "0s"
        outrigger.yaml:4:15 shared.postgres.url: expected a URL that begins with "postgres://", found "mysql://…@db"
        outrigger.yaml:4:44 shared.postgres.schema: expected up to 40 lower-case letters, digits and underscores, not beginning with a digit, found "Mine"
        outrigger.yaml:5:3 shared.when_away: expected local, refuse, allow, found "wait""
    `);
    const url = `shared: { valkey: { url: "redis:user:hush@valkey" } }`;
    expect(await loadMistakes(url)).not.toContain("hush");
    expect(
      await loadMistakes(`shared: { valkey: { url: "redis://u:\${SECRET}@valkey/x" } }`, { SECRET: "hush" }),
    ).not.toContain("hush");
    expect(
      await loadMistakes(`shared: { valkey: { url: "redis://u:p@valkey", password: q, tls: {} } }`),
    ).toMatchInlineSnapshot(`
      "the configuration has 2 mistakes:
        outrigger.yaml:1:61 shared.valkey.tls: expected a url that begins with "rediss://", found a mapping
        outrigger.yaml:1:21 shared.valkey.url: expected one password, in url, password or password_file, found "redis://…@valkey""
    `);
    expect(
      await loadMistakes(`shared: { valkey: { url: "redis://valkey", password_file: none } }`),
    ).toMatchInlineSnapshot(
      `"the configuration is wrong: outrigger.yaml:1:44 shared.valkey.password_file: cannot read none (ENOENT)"`,
    );
  });

  it("limits the entries of a shared cache only", async () => {
    const cache = (fields: string) => `${VALKEY}\nmiddleware: { cache: { ${fields} } }`;
    expect((await load(cache("shared: true, max_entry_bytes: 1KiB"))).shared?.valkey).toBeDefined();
    for (const fields of ["max_entry_bytes: 1KiB", "shared: false, max_entry_bytes: 1KiB"])
      expect(await loadMistakes(cache(fields))).toContain("expected no max_entry_bytes without shared: true");
  });

  it("must have a server for every shared rule", async () => {
    const text = `
middleware:
  budget: { window: day, usd: 1, shared: true }
  rate_limit: { requests_per_minute: 1, shared: true }
  cache: { max_entry_bytes: 1KiB, when_away: refuse }
  circuit_breaker: { when_away: allow }
`;
    expect(await loadMistakes(text)).toMatchInlineSnapshot(`
      "the configuration has 2 mistakes:
        outrigger.yaml:6:22 middleware.circuit_breaker.when_away: expected no when_away without shared: true, found "allow"
        outrigger.yaml:5:35 middleware.cache.when_away: expected local, allow, found "refuse""
    `);
    const valid = text.replace(/ {2}c.*\n/g, "");
    expect(await loadMistakes(valid)).toMatchInlineSnapshot(`
      "the configuration has 2 mistakes:
        outrigger.yaml:3:3 middleware.budget: expected shared.valkey or shared.postgres to store the counts, found neither
        outrigger.yaml:4:3 middleware.rate_limit: expected shared.valkey to store the counts, found nothing"
    `);
    const database = `shared: { postgres: { url: "postgres://db" } }`;
    expect(await loadMistakes(`${valid}${database}`)).toContain(
      "middleware.rate_limit: expected shared.valkey",
    );
    expect(
      await loadMistakes(`${VALKEY}\nmiddleware: { budget: { window: day, usd: 1, shared: postgres } }`),
    ).toContain("expected shared.postgres with a url, or runs.store in PostgreSQL, found neither");
    await writeFile(
      join(folder, "keys.yaml"),
      `keys: [{ name: shop, key: "${"k".repeat(20)}", budget: { window: day, usd: 1, shared: true } }]`,
    );
    expect(await loadMistakes("access_keys_file: keys.yaml")).toContain(
      "access_keys_file: the budget of shop: expected shared.valkey",
    );
    await writeFile(
      join(folder, "keys.yaml"),
      `keys: [{ name: shop, key: "${"k".repeat(20)}", rate_limit: { requests_per_minute: 9, shared: true } }]`,
    );
    expect(await loadMistakes("access_keys_file: keys.yaml")).toContain(
      "access_keys_file: the rate limit of shop: expected shared.valkey to store the counts",
    );
    const jwt = `jwt: { issuer: "https://i", audience: a, jwks_url: "https://i/keys", rules: [{ budget: { window: day, usd: 1, shared: true } }] }`;
    expect(await loadMistakes(jwt)).toContain("jwt.budget: expected shared.valkey or shared.postgres");
    expect((await load(`access_keys_file: keys.yaml\n${VALKEY}`)).shared?.valkey?.host).toBe("valkey");
  });

  it("needs a restart if it changes, or if a budget is the first in the database of runs", async () => {
    const before = await load(VALKEY);
    expect(findChanges(before, await load(VALKEY)).fixed).toEqual([]);
    expect(findChanges(before, await load(VALKEY.replace('valkey"', 'other"'))).fixed).toEqual(["shared"]);
    const runs = `runs: { store: "postgres://db/runs" }`;
    const budget = `${runs}\nmiddleware: { budget: { window: day, usd: 1, shared: true } }`;
    expect(findChanges(await load(runs), await load(budget)).fixed).toEqual(["shared"]);
  });
});
