import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AccessKeysFile, loadConfig } from "../../src/config/index.ts";
import { ConfigurationError } from "../../src/core/errors.ts";

/** Longer than the interval between checks of a file. */
const NEXT_CHECK_MS = 150;

const ENVIRONMENT = { OPENAI_API_KEY: "sk-provider", ANTHROPIC_API_KEY: "sk-provider" };
const SECRET = "first-access-key-0001";

let folder: string;
let lines: [level: string, fields: object, message: string][];
const log = {
  info: (fields: object, message: string) => void lines.push(["info", fields, message]),
  warn: (fields: object, message: string) => void lines.push(["warn", fields, message]),
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-access-"));
  lines = [];
});

afterEach(() => rm(folder, { recursive: true }));

function hashKey(key: string): Buffer {
  return createHash("sha256").update(key).digest();
}

async function load(text: string, settings = "") {
  await writeFile(join(folder, "keys.yaml"), text);
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, `access_keys_file: keys.yaml\n${settings}`);
  const { access } = await loadConfig({ environment: ENVIRONMENT, flags: { config } });
  if (access.keys === undefined) throw new Error("no access keys were read");
  return access.keys;
}

/** The lines of the error that a file of keys causes, without the folder. */
async function mistakesIn(text: string): Promise<string[]> {
  const error: unknown = await load(text).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigurationError)) throw error;
  return error.message
    .replaceAll(`${folder}/`, "")
    .replace(/^.*?: (?=outrigger)/, "")
    .split("\n  ")
    .filter((line) => !line.startsWith("the configuration has"))
    .map((line) => line.replace("outrigger.yaml:1:1 access_keys_file: ", ""));
}

describe("the file with the access keys", () => {
  it("takes the name of a certificate in place of a key, once", async () => {
    const { keys } = await load("keys:\n  - { name: shop, certificate: spiffe://example.org/shop }\n");
    expect(keys).toMatchObject([{ name: "shop", certificate: "spiffe://example.org/shop", digests: [] }]);
    const wrong =
      "keys:\n  - { name: a, certificate: x }\n  - { name: b, certificate: x }\n  - { name: c }\n";
    expect(await mistakesIn(wrong)).toEqual([
      expect.stringMatching(/keys\[2\].key: expected a key of 16 .*; or a certificate; found nothing$/),
      expect.stringMatching(/keys\[1\].certificate: another entry has the same certificate$/),
    ]);
  });

  it("gives each key a name, its digests, its rate and its models", async () => {
    const { keys } = await load(`
keys:
  - name: checkout
    key: ${SECRET}
  - name: search
    key: [${"a".repeat(16)}, "sha256:${hashKey("the-new-key-of-search").toString("hex")}"]
    rate_limit: { requests_per_minute: 60, burst: 5 }
    models: [openai/*, claude-haiku-4-5]
`);
    expect(keys).toMatchObject([
      { name: "checkout", digests: [hashKey(SECRET)], isRestricted: false },
      {
        name: "search",
        digests: [hashKey("a".repeat(16)), hashKey("the-new-key-of-search")],
        rateLimit: { requestsPerMinute: 60, burst: 5 },
        isRestricted: true,
      },
    ]);
    expect(keys[0]?.rateLimit).toBeUndefined();
    expect(keys[0]?.allowsModel("anything", "at all")).toBe(true);
  });

  it("gives a key budgets, for all its calls or for those of some models", async () => {
    const { keys } = await load(`
keys:
  - name: one
    key: ${SECRET}
    budget: { window: month, usd: 200 }
  - name: several
    key: ${"a".repeat(16)}
    budget:
      - { window: day, tokens: 2000000, requests: 5000 }
      - { window: day, usd: 5, models: [openai/gpt-5*], allow_unknown_prices: true }
`);
    expect(keys.map(({ budgets }) => budgets)).toMatchObject([
      [{ window: "month", usd: 200 }],
      [
        { window: "day", tokens: 2_000_000, requests: 5000 },
        { window: "day", usd: 5, models: ["openai/gpt-5*"], allowUnknownPrices: true },
      ],
    ]);
    const [all, some] = keys[1]?.budgets ?? [];
    expect([all?.countsModel("x", "y"), some?.countsModel("openai", "gpt-5-mini")]).toEqual([true, true]);
    expect(some?.countsModel("anthropic", "gpt-5")).toBe(false);
  });

  it("reports mistakes in budgets", async () => {
    const text = `
keys:
  - name: a
    key: ${SECRET}
    budget: { window: week, usd: 1 }
  - name: b
    key: ${"a".repeat(16)}
    budget: [{ window: day }, { window: day, usd: 0, tokns: 5 }]
`;
    expect(await mistakesIn(text)).toEqual([
      'keys.yaml:5:15 keys[0].budget.window: expected hour, day, month, found "week"',
      "keys.yaml:8:14 keys[1].budget[0]: expected requests, tokens, usd or several of them, found a mapping",
      expect.stringMatching(
        /keys\[1\].budget\[1\].usd: expected a number from 0.000001 to 1000000, found 0$/,
      ),
      expect.stringMatching(/keys\[1\].budget\[1\].…: unknown field, expected one of window/),
    ]);
    const unknown = `keys: [{ name: a, key: ${SECRET}, budget: { window: day, usd: 1, models: [opnai/x] } }]`;
    expect(await mistakesIn(unknown)).toEqual([
      expect.stringMatching(
        /keys\[0\].budget.*models\[0\]: expected the name of a provider before "\/": openai/,
      ),
    ]);
  });

  it("uses the rate of a minute as the burst if none is set", async () => {
    const { keys } = await load(
      `keys: [{ name: a, key: ${SECRET}, rate_limit: { requests_per_minute: 60 } }]`,
    );
    expect(keys[0]?.rateLimit).toEqual({ requestsPerMinute: 60, burst: 60 });
  });

  it("is found next to the configuration file, or by a variable", async () => {
    await writeFile(join(folder, "other.yaml"), `keys: [{ name: other, key: ${SECRET} }]`);
    const environment = { ...ENVIRONMENT, OUTRIGGER_ACCESS_KEYS_FILE: join(folder, "other.yaml") };
    const { access } = await loadConfig({ environment });
    expect(access).toMatchObject({ keys: { path: join(folder, "other.yaml"), keys: [{ name: "other" }] } });
    expect((await load(`keys: [{ name: mine, key: ${SECRET} }]`)).path).toBe(join(folder, "keys.yaml"));
  });

  it.each<[entry: string, allowed: string[], denied: string[]]>([
    ["openai/gpt-5", ["openai/gpt-5"], ["openai/gpt-5-mini", "anthropic/gpt-5", "openai/openai/gpt-5"]],
    ["openai/*", ["openai/gpt-5", "openai/a/b"], ["anthropic/gpt-5", "openai2/gpt-5"]],
    ["gpt-5*", ["openai/gpt-5", "anthropic/gpt-5-mini"], ["openai/gpt-4", "openai/xgpt-5"]],
    ["*/gpt-5", ["openai/gpt-5", "anthropic/gpt-5"], ["openai/x/gpt-5"]],
    ["anthropic/*-latest", ["anthropic/claude-latest"], ["anthropic/-lates", "anthropic/claude-latest2"]],
    ["anthropic/ab*bc", ["anthropic/abbc", "anthropic/ab-bc"], ["anthropic/abc"]],
    ["*", ["openai/gpt-5", "anthropic/x"], []],
    ["team/fast", ["openai/gpt-5-mini", "anthropic/claude-haiku-4-5"], ["openai/fast", "openai/gpt-5"]],
    ["cheap", ["openai/gpt-5-nano"], ["openai/gpt-5", "anthropic/gpt-5-nano"]],
    ["split", ["openai/gpt-5-mini", "anthropic/claude-haiku-4-5"], ["anthropic/gpt-5-mini", "openai/gpt-5"]],
    ["haiku", ["anthropic/claude-haiku-4-5", "openai/gpt-5-mini"], ["openai/claude-haiku-4-5"]],
  ])("allows exactly the models of %j", async (entry, allowed, denied) => {
    const aliases = `
middleware:
  model_aliases:
    team/fast: { provider: openai, model: gpt-5-mini, fallbacks: [{ provider: anthropic, model: claude-haiku-4-5 }] }
    cheap: { model: gpt-5-nano }
    split: { targets: [{ model: gpt-5-mini }, { provider: anthropic, model: claude-haiku-4-5, weight: 0 }] }
    haiku: { model: anthropic/claude-haiku-4-5, fallbacks: [{ model: openai/gpt-5-mini }] }
`;
    const { keys } = await load(`keys: [{ name: a, key: ${SECRET}, models: ["${entry}"] }]`, aliases);
    const allows = (name: string) => {
      const slash = name.indexOf("/");
      return keys[0]?.allowsModel(name.slice(0, slash), name.slice(slash + 1));
    };
    expect(allowed.filter((name) => !allows(name))).toEqual([]);
    expect(denied.filter(allows)).toEqual([]);
  });

  it("reports all of its mistakes with their places, and shows no key", async () => {
    const text = `
keys:
  - name: "no spaces"
    key: ${SECRET}
  - name: short
    key: too-short-secret
    keys: x
  - name: hash
    key: "sha256:abcd${SECRET}"
  - name: many
    key: [${Array.from({ length: 9 }, (_, index) => `${index}`.repeat(16)).join(", ")}]
  - name: rate
    key: ${"d".repeat(16)}
    rate_limit: { requests_per_minute: 0 }
  - ${SECRET}
  - ${SECRET}: x
`;
    const found = await mistakesIn(text.replace("too-short-secret", "too-short"));
    expect(found).toEqual([
      expect.stringMatching(/^keys.yaml:3:5 keys\[0\].name: expected a name of at most 64 letters/),
      expect.stringMatching(/^keys.yaml:6:5 keys\[1\].key: expected a key of 16.*not shown$/),
      expect.stringMatching(/^keys.yaml:7:5 keys\[1\].keys: unknown field.*did you mean "key"\?$/),
      expect.stringMatching(/^keys.yaml:9:5 keys\[2\].key: expected a key of 16.*not shown$/),
      expect.stringMatching(
        /^keys.yaml:11:5 keys\[3\].key: expected a key .* list of up to 8 .*found a list$/,
      ),
      expect.stringMatching(
        /^keys.yaml:14:19 keys\[4\].rate_limit.requests_per_minute: expected a whole number/,
      ),
      expect.stringMatching(/^keys.yaml:15:5 keys\[5\]: expected a mapping.*found a text$/),
      expect.stringMatching(/^keys.yaml:16:5 keys\[6\].name: expected a name/),
      expect.stringMatching(/^keys.yaml:16:5 keys\[6\].…: unknown field/),
    ]);
    expect(found.join()).not.toMatch(/first-access|too-short|abcd|1111/);
  });

  it("does not give a name or a key to two callers", async () => {
    const text = `
keys:
  - { name: a, key: ${SECRET} }
  - { name: a, key: ${"b".repeat(16)} }
  - { name: c, key: "sha256:${hashKey(SECRET).toString("hex")}" }
`;
    expect(await mistakesIn(text)).toEqual([
      "keys.yaml:4:7 keys[1].name: another key has the same name",
      "keys.yaml:5:16 keys[2].key: the entry a has the same key",
    ]);
  });

  it("names providers that do not exist", async () => {
    expect(
      await mistakesIn(`keys: [{ name: a, key: ${SECRET}, models: [opnai/gpt-5, "a*b*c", openai/] }]`),
    ).toEqual([
      expect.stringMatching(
        /^keys.yaml:1:\d+ keys\[0\].models\[0\]: expected the name of a provider before "\/": openai, anthropic$/,
      ),
      expect.stringMatching(
        /models\[1\]: expected a name on each side of "\/", with at most one "\*" in it$/,
      ),
      expect.stringMatching(/models\[2\]: expected a name on each side/),
    ]);
  });

  it("has a limited number of bytes and keys", async () => {
    expect(await mistakesIn(`#${"x".repeat(1024 * 1024)}`)).toEqual([
      "the file keys.yaml is over 1048576 bytes",
    ]);
    const keys = Array.from({ length: 257 }, (_, index) => `{ name: k${index}, key: ${SECRET}${index} }`);
    expect(await mistakesIn(`keys: [${keys.join(", ")}]`)).toEqual([
      expect.stringMatching(/keys: expected at most 256 keys/),
    ]);
    const many = Array.from({ length: 65 }, (_, entry) => {
      const digests = Array.from(
        { length: 8 },
        (_, index) => `sha256:${hashKey(`${entry} ${index}`).toString("hex")}`,
      );
      return { name: `k${entry}`, key: digests };
    });
    expect(await mistakesIn(JSON.stringify({ keys: many }))).toEqual([
      expect.stringMatching(/keys: expected at most 512 keys in all entries together, found 520$/),
    ]);
    expect(await mistakesIn("keys: []")).toEqual([
      expect.stringMatching(/keys: expected a list of keys, each with a name and a key, found an empty list/),
    ]);
  });

  it("may reach each of its limits", async () => {
    const whole = `keys: [{ name: a, key: ${SECRET} }]\n#`;
    expect((await load(whole.padEnd(1024 * 1024, "x"))).keys).toHaveLength(1);
    const entries = Array.from({ length: 256 }, (_, index) => ({
      name: `k${index}`,
      key: [`${SECRET}-${index}`, `${SECRET}+${index}`],
    }));
    expect((await load(JSON.stringify({ keys: entries }))).keys).toHaveLength(256);
    const eight = Array.from({ length: 8 }, (_, index) => `${SECRET}${index}`);
    expect((await load(JSON.stringify({ keys: [{ name: "a", key: eight }] }))).keys[0]?.digests).toHaveLength(
      8,
    );
    const longest = { name: "n".repeat(64), key: "k".repeat(512), certificate: "c".repeat(256) };
    expect((await load(JSON.stringify({ keys: [longest] }))).keys).toMatchObject([{ name: longest.name }]);
  });

  it.each([
    ["name", { name: "n".repeat(65), key: SECRET }],
    ["key", { name: "a", key: "k".repeat(513) }],
    ["key", { name: "a", key: "k".repeat(15) }],
    ["key", { name: "a", key: `sha256:${"0".repeat(63)}` }],
    ["certificate", { name: "a", certificate: "c".repeat(257) }],
    ["certificate", { name: "a", certificate: "" }],
  ])("refuses a %s one character beyond its bound", async (field, entry) => {
    expect(await mistakesIn(JSON.stringify({ keys: [entry] }))).toEqual([
      expect.stringContaining(` keys[0].${field}: expected `),
    ]);
  });

  it("must exist", async () => {
    await writeFile(join(folder, "outrigger.yaml"), "access_keys_file: none.yaml");
    const config = join(folder, "outrigger.yaml");
    await expect(loadConfig({ environment: ENVIRONMENT, flags: { config } })).rejects.toThrow(
      `outrigger.yaml:1:1 access_keys_file: cannot read the access keys in ${folder}/none.yaml (ENOENT)`,
    );
  });
});

describe("AccessKeysFile", () => {
  it("follows the symbolic links of a mounted secret", async () => {
    const mount = async (version: string, name: string) => {
      await mkdir(join(folder, `..${version}`));
      await writeFile(join(folder, `..${version}`, "keys.yaml"), `keys: [{ name: ${name}, key: ${SECRET} }]`);
      await symlink(`..${version}`, join(folder, "..data_tmp"));
      await rename(join(folder, "..data_tmp"), join(folder, "..data"));
    };
    await mount("2026_01", "one");
    await symlink("..data/keys.yaml", join(folder, "mounted.yaml"));
    const path = join(folder, "mounted.yaml");
    const environment = { ...ENVIRONMENT, OUTRIGGER_ACCESS_KEYS_FILE: path };
    const { access } = await loadConfig({ environment });
    if (access.keys === undefined) throw new Error("no access keys were read");
    const file = new AccessKeysFile(access.keys, log);
    const first = file.current();
    expect(first.map(({ name }) => name)).toEqual(["one"]);
    await mount("2026_02", "two");
    await setTimeout(NEXT_CHECK_MS);
    expect(file.current().map(({ name }) => name)).toEqual(["two"]);
    expect(lines).toEqual([["info", { path, names: ["two"] }, "using the changed access keys"]]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
  });

  it("keeps the last keys while the file is wrong or missing, and warns once of each", async () => {
    const file = new AccessKeysFile(await load(`keys: [{ name: a, key: ${SECRET} }]`), log);
    const path = join(folder, "keys.yaml");
    const keys = file.current();
    for (const change of [
      () => writeFile(path, `keys: [{ name: b, key: short-${SECRET.slice(0, 6)} }, { name: "" }]`),
      () => rm(path),
      // A circle of links, which cannot even be looked at.
      () => symlink(path, path),
    ]) {
      await change();
      for (let look = 0; look < 2; look += 1) {
        await setTimeout(NEXT_CHECK_MS);
        expect(file.current()).toBe(keys);
      }
    }
    const message = "cannot use the changed access keys, keeping the previous ones";
    expect(lines).toEqual([
      [
        "warn",
        {
          path,
          problem: expect.stringMatching(/keys\[0\].key: expected a key.*, and one more mistake$/),
        },
        message,
      ],
      ["warn", { path, problem: `cannot read ${path} (ENOENT)` }, message],
      ["warn", { path, problem: `cannot read ${path} (ELOOP)` }, message],
    ]);
    expect(JSON.stringify(lines)).not.toContain("short-");
  });

  it("keeps the same list if the file was only touched", async () => {
    const text = `keys: [{ name: a, key: ${SECRET} }]`;
    const file = new AccessKeysFile(await load(text), log);
    const keys = file.current();
    await writeFile(join(folder, "keys.yaml"), text);
    file.reload();
    expect(file.current()).toBe(keys);
    expect(lines).toEqual([]);
  });
});
