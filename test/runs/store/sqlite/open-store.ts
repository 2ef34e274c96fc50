/** SQLite stores for tests. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type EncryptionKey, parseEncryptionKey } from "../../../../src/runs/store/body-codec.ts";
import { openStore, type StoreOptions } from "../../../../src/runs/store/open-store.ts";
import { SqliteDriver } from "../../../../src/runs/store/sqlite.ts";
import type { SqliteLocation } from "../../../../src/runs/store/sqlite-file.ts";
import type { RunStore } from "../../../../src/runs/store.ts";
import { holder, otherHolder } from "../../contract/data.ts";

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MEMORY_BYTES = 64 * 1024 * 1024;

/** The drivers of open stores, so that tests can query their databases. */
const drivers = new WeakMap<RunStore, SqliteDriver>();

/** Options of a store in a file. */
export interface FileOptions extends Partial<StoreOptions> {
  readonly maxBytes?: number;
  readonly isDurable?: boolean;
}

/** A path in a folder that the test removes. */
export function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-runs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "runs.db");
}

/** Opens a file, by default a new one. */
export function openFile(
  { maxBytes, isDurable, ...options }: FileOptions = {},
  path = newPath(),
): Promise<RunStore> {
  return open({ kind: "file", path, maxBytes, isDurable }, options);
}

/** Opens a store in memory. */
export function openMemory(options: Partial<StoreOptions> = {}, maxBytes = MEMORY_BYTES): Promise<RunStore> {
  return open({ kind: "memory", maxBytes }, options);
}

/** The database of a store. */
export function getDriver(store: RunStore): SqliteDriver {
  const driver = drivers.get(store);
  if (driver === undefined) throw new Error("expected a store that was opened here");
  return driver;
}

/** The number of rows in each table with content. */
export async function countRows(store: RunStore): Promise<Record<string, number>> {
  const driver = getDriver(store);
  const tables = (
    await driver.read<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'", [])
  )
    .map(({ name }) => name)
    .filter((name) => !["migrations", "key_checks", "processes", "sqlite_sequence"].includes(name));
  const counts: Record<string, number> = {};
  for (const table of tables) {
    const [row] = await driver.read<{ rows: number }>(`SELECT count(*) AS rows FROM ${table}`, []);
    counts[table] = row?.rows ?? 0;
  }
  return counts;
}

/** A new key. */
export function newKey(path = "key"): EncryptionKey {
  return parseEncryptionKey(randomBytes(32).toString("base64"), path);
}

async function open(location: SqliteLocation, options: Partial<StoreOptions>): Promise<RunStore> {
  const { onProblem = () => {}, maxBodyBytes = MAX_BODY_BYTES } = options;
  const driver = await SqliteDriver.open(location, onProblem);
  const place = location.kind === "file" ? location.path : "in memory";
  const store = await openStore(driver, { ...options, maxBodyBytes, onProblem }, place);
  drivers.set(store, driver);
  for (const process of [holder, otherHolder]) await store.renewLease(process);
  return store;
}
