/** SQLite stores for tests. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { RunStore } from "../../../../src/runs/store.ts";
import { type EncryptionKey, parseEncryptionKey } from "../../../../src/runs/stores/encryption-key.ts";
import { SqliteDatabase } from "../../../../src/runs/stores/sqlite/database.ts";
import { SqliteStore, type SqliteStoreOptions } from "../../../../src/runs/stores/sqlite/store.ts";

const MAX_BODY_BYTES = 32 * 1024 * 1024;
const MEMORY_BYTES = 64 * 1024 * 1024;

/** The databases of open stores, so that tests can look into them. */
const databases = new WeakMap<RunStore, SqliteDatabase>();

type Options = Partial<Omit<SqliteStoreOptions, "location">>;

/** A path in a folder that the test removes. */
export function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "outrigger-runs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "runs.db");
}

/** Opens a file, by default a new one. */
export function openFile(options: Options = {}, path = newPath()): SqliteStore {
  return open({ maxBodyBytes: MAX_BODY_BYTES, ...options, location: { kind: "file", path } });
}

/** Opens a store in memory. */
export function openMemory(options: Options = {}, maxBytes = MEMORY_BYTES): SqliteStore {
  return open({ maxBodyBytes: MAX_BODY_BYTES, ...options, location: { kind: "memory", maxBytes } });
}

/** The database of a store. */
export function databaseOf(store: RunStore): SqliteDatabase {
  const database = databases.get(store);
  if (database === undefined) throw new Error("expected a store that was opened here");
  return database;
}

/** The number of rows in each table. */
export async function countRows(store: RunStore): Promise<Record<string, number>> {
  const database = databaseOf(store);
  const tables = database
    .all("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .map(({ name }) => String(name))
    .filter((name) => name !== "migrations" && name !== "key_checks");
  const counts = tables.map((name) => Number(database.first(`SELECT count(*) AS rows FROM ${name}`)?.rows));
  return Object.fromEntries(tables.map((name, index) => [name, counts[index] ?? 0]));
}

/** A new key. */
export function newKey(path = "key"): EncryptionKey {
  return parseEncryptionKey(randomBytes(32).toString("base64"), path);
}

function open(options: SqliteStoreOptions): SqliteStore {
  const database = SqliteDatabase.open(options.location);
  try {
    const store = new SqliteStore(database, options);
    databases.set(store, database);
    return store;
  } catch (error) {
    database.close();
    throw error;
  }
}
