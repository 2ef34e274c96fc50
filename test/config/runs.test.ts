import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig, openRunStore, type RunsConfig } from "../../src/config/index.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-runs-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function load(text: string, environment: Record<string, string> = {}): Promise<RunsConfig> {
  const path = join(folder, "outrigger.yaml");
  await writeFile(path, text);
  return (await loadConfig({ environment, flags: { config: path } })).runs;
}

function problem(text: string, environment: Record<string, string> = {}): Promise<string> {
  return load(text, environment).then(
    () => "",
    (error: unknown) => String(error).replaceAll(folder, ""),
  );
}

const KEY = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

describe("the section runs of a configuration", () => {
  it("says whether responses that are not stored may continue stored ones", async () => {
    const config = await load("runs: { allow_unstored_continuation: true }");
    expect(config.allowsUnstoredContinuation).toBe(true);
    expect(await problem("runs: { allow_unstored_continuation: 1 }")).toContain("true or false");
  });

  it("says how long reasoning is kept of responses that are not stored", async () => {
    expect((await load("runs: { keep_unstored_reasoning: 10m }")).keepUnstoredMs).toBe(600_000);
    expect((await load("runs: { keep_unstored_reasoning: 0 }")).keepUnstoredMs).toBe(0);
    expect(await problem("runs: { keep_unstored_reasoning: soon }")).toContain("a duration");
  });

  it("keeps runs in memory if it is left out", async () => {
    const expected = {
      store: { kind: "memory", maxBytes: 67_108_864 },
      maxBodyBytes: 16_777_216,
      keys: [],
      limits: {},
    };
    expect(await load("log_level: info")).toEqual(expected);
    expect((await loadConfig({ environment: {} })).runs).toEqual(expected);
  });

  it("names a file, keys for it, an age and limits", async () => {
    await writeFile(join(folder, "new.key"), KEY);
    await writeFile(join(folder, "old.key"), Buffer.alloc(32, 7).toString("base64"));
    const { store, maxBodyBytes, keys, limits } = await load(`
runs:
  store: /var/lib/outrigger/runs.db
  max_body_bytes: 8MiB
  encryption_key_files: [new.key, old.key]
  retention: 7d
  limits: { max_background_runs: 8, thread_wait: 5s }
`);
    expect(store).toEqual({ kind: "file", path: "/var/lib/outrigger/runs.db" });
    expect(maxBodyBytes).toBe(8 * 1024 * 1024);
    expect(keys.map(({ bytes }) => bytes.toString("hex"))).toEqual([KEY, "07".repeat(32)]);
    expect(limits).toEqual({ retentionMs: 7 * 24 * 3_600_000, maxBackgroundRuns: 8, threadWaitMs: 5000 });
  });

  it("limits the size of a file, and makes its writes durable", async () => {
    const { store } = await load("runs: { store: /data/runs.db, max_file_size: 2GiB, durability: full }");
    expect(store).toEqual({ kind: "file", path: "/data/runs.db", maxBytes: 2 * 1024 ** 3, isDurable: true });
    expect(await problem("runs: { durability: most }")).toContain("durability");
  });

  it("reads ages in days and in other units, and 0 forever", async () => {
    const loadRetention = async (age: string) =>
      (await load(`runs: { retention: ${age} }`)).limits.retentionMs;
    expect(await loadRetention("12h")).toBe(12 * 3_600_000);
    expect(await loadRetention("0")).toBe(0);
    expect(await problem("runs: { retention: 30 }")).toContain(
      'expected an age such as "30d" or "12h", or 0 for no limit',
    );
  });

  it("names a database whose URL is in a variable or a file", async () => {
    const url = "postgres://user:password@db.internal:5432/runs";
    const fromVariable = await load(
      `runs: { store: "\${RUNS_URL}", postgres: { schema: a, pool_size: 4 } }`,
      {
        RUNS_URL: url,
      },
    );
    expect(fromVariable.store).toEqual({ kind: "postgres", url, schema: "a", poolSize: 4 });
    await writeFile(join(folder, "url"), `${url}\n`);
    await writeFile(join(folder, "listen"), `${url}_direct`);
    const fromFile = await load("runs: { store_file: url, postgres: { listen_url_file: listen } }");
    expect(fromFile.store).toEqual({ kind: "postgres", url, listenUrl: `${url}_direct` });
  });

  it("is overridden only by the variable for the store", async () => {
    const runs = await load("runs: { store: /a.db, max_body_bytes: 1MiB, limits: { max_steps: 3 } }", {
      OUTRIGGER_RUNS_STORE: "/b.db",
    });
    expect(runs).toEqual({
      store: { kind: "file", path: "/b.db" },
      maxBodyBytes: 1024 * 1024,
      keys: [],
      limits: { maxSteps: 3 },
    });
    await writeFile(join(folder, "url"), "/c.db");
    expect((await load("runs: { store_file: url }", { OUTRIGGER_RUNS_STORE: "/b.db" })).store).toEqual({
      kind: "file",
      path: "/b.db",
    });
  });

  it("refuses an invalid store, without showing a password", async () => {
    expect(await problem("runs: { store: sqlite }")).toContain(
      'outrigger.yaml:1:9 runs.store: expected "memory", the absolute path of a file such as ' +
        '"/var/lib/outrigger/runs.db", or a URL that begins with "postgres://", found "sqlite"',
    );
    for (const store of ["./runs.db", "/var/lib/", "mysql://user:password@host/db", "postgres://"]) {
      const text = await problem(`runs: { store: "${store}" }`);
      expect(text).toContain("runs.store: expected");
      expect(text).not.toContain("password");
    }
    expect(await problem("runs: { store: 7 }")).toContain("runs.store: expected");
    expect(await problem("log_level: info", { OUTRIGGER_RUNS_STORE: "runs.db" })).toContain(
      'OUTRIGGER_RUNS_STORE: expected "memory", the absolute path of a file',
    );
  });

  it("names all files that cannot be used and what they should hold, without showing their content", async () => {
    await writeFile(join(folder, "short.key"), "c2VjcmV0");
    await writeFile(join(folder, "url"), "mysql://user:password@host/db");
    const text = await problem(`
runs:
  store_file: url
  encryption_key_files: [short.key, missing.key]
  postgres: { listen_url_file: missing }
`);
    expect(text).toContain(
      'runs.store_file: expected "memory", an absolute path or a postgres:// URL in the file',
    );
    expect(text).toContain(
      "runs.encryption_key_files[0]: expected a key of 32 bytes in Base64 or hexadecimal in /short.key, found 6 bytes",
    );
    expect(text).toContain("runs.encryption_key_files[1]: cannot read /missing.key (ENOENT)");
    expect(text).toContain("runs.postgres.listen_url_file: cannot read /missing (ENOENT)");
    expect(text).not.toMatch(/password|c2VjcmV0/);
  });

  it("accepts one location for the store and one for the second URL", async () => {
    expect(await problem("runs: { store: memory, store_file: url }")).toContain(
      "runs.store_file: expected either store or store_file, found both",
    );
    expect(await problem("runs: { postgres: { listen_url: a, listen_url_file: b } }")).toContain(
      "runs.postgres.listen_url_file: expected either listen_url or listen_url_file, found both",
    );
  });
});

describe("openRunStore()", () => {
  it("opens a file and a store in memory", async () => {
    const file = await openRunStore(await load(`runs: { store: ${join(folder, "runs.db")} }`), () => {});
    expect(file.isShared).toBe(false);
    expect(await file.countQueued("")).toEqual({ owner: 0, total: 0 });
    await expect(
      openRunStore(await load(`runs: { store: ${join(folder, "runs.db")} }`), () => {}),
    ).rejects.toThrow("another process uses it");
    await file.close();
    const memory = await openRunStore(await load("log_level: info"), () => {});
    expect(await memory.countQueued("")).toEqual({ owner: 0, total: 0 });
    await memory.close();
  });
});
