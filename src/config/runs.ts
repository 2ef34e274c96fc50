/** The storage of runs, from the section `runs` of a configuration and the files that it names. */

import { resolve } from "node:path";
import { getHeapStatistics } from "node:v8";
import { compact } from "../core/compact.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { RunLimits } from "../runs/limits.ts";
import { type EncryptionKey, parseEncryptionKey } from "../runs/store/body-codec.ts";
import { readKeyFile } from "./key-files.ts";
import { toConfigurationError, unwrapParsed } from "./problems.ts";
import { parseStoreLocation, type StoreLocation } from "./runs-schema.ts";
import type { Settings } from "./schema.ts";
import type { ReadSource } from "./sources.ts";
import type { Parsed } from "./watched-file.ts";

/** The settings of stored runs. */
export interface RunsConfig {
  readonly store: StoreConfig;
  /** Largest stored element of a run, in bytes. */
  readonly maxBodyBytes: number;
  /** The first key encrypts stored data, all keys decrypt. Empty if the data is not encrypted. */
  readonly keys: readonly EncryptionKey[];
  /** Whether a `/v1` response that is not stored may continue stored ones. Default false. */
  readonly allowsUnstoredContinuation?: boolean;
  /** How long `/v1` keeps answers with tool calls that are not stored, in milliseconds. Default: one hour. */
  readonly keepUnstoredMs?: number;
  /** Changes to the limits of the engine. */
  readonly limits: Partial<RunLimits>;
}

/** The store of runs. */
export type StoreConfig =
  | { readonly kind: "memory"; readonly maxBytes: number }
  | FileConfig
  | PostgresConfig;

/** A SQLite file. */
export interface FileConfig {
  readonly kind: "file";
  readonly path: string;
  /** Size limit. Absent if only the disk limits the size. */
  readonly maxBytes?: number;
  /** Whether completed writes survive a power failure. */
  readonly isDurable?: boolean;
}

/** A PostgreSQL database. */
export interface PostgresConfig {
  readonly kind: "postgres";
  readonly url: string;
  readonly listenUrl?: string;
  readonly schema?: string;
  readonly poolSize?: number;
}

type Section = NonNullable<Settings["runs"]>;

const MEBIBYTE = 1024 * 1024;

/** Responses have about 10 KB, so this holds some thousands. */
const MAX_DEFAULT_MEMORY_BYTES = 64 * MEBIBYTE;

/** Largest default size of the store, as a share of the heap's size; the store is outside the heap. */
const HEAP_SHARE = 1 / 8;

/** Returns the default size of a store in memory. */
export function getDefaultMemorySize(heapBytes: number = getHeapStatistics().heap_size_limit): number {
  return Math.min(Math.floor(heapBytes * HEAP_SHARE), MAX_DEFAULT_MEMORY_BYTES);
}

/** The same as the largest message that the sidecar accepts. */
const DEFAULT_MAX_BODY_BYTES = 32 * MEBIBYTE;

/** Largest share of a store in memory for a single element. */
const MAX_MEMORY_SHARE = 1 / 4;

/**
 * Reads the configuration of runs. A store in the variables overrides the store in the file. All other settings come
 * from the file.
 * @throws ConfigurationError with all mistakes.
 */
export async function readRuns(variables: ReadSource, file: ReadSource): Promise<RunsConfig> {
  const source = variables.settings.runs?.store === undefined ? file : variables;
  const section = file.settings.runs ?? {};
  const { memorySize = getDefaultMemorySize(), maxBodyBytes = DEFAULT_MAX_BODY_BYTES } = section;
  const { allowsUnstoredContinuation, keepUnstoredMs, retentionMs, limits } = section;
  const problems = findContradictions(source);
  const location = await readLocation(source, problems);
  const listenUrl = await readListenUrl(section, file, problems);
  const keys = await readKeys(section, file, problems);
  if (problems.length > 0) throw toConfigurationError(problems);
  return {
    store: toStore(location, { ...section, memorySize }, listenUrl),
    maxBodyBytes:
      location.kind === "memory" ? Math.min(maxBodyBytes, memorySize * MAX_MEMORY_SHARE) : maxBodyBytes,
    keys,
    ...compact({ allowsUnstoredContinuation, keepUnstoredMs }),
    limits: { ...limits, ...compact({ retentionMs }) },
  };
}

function toStore(
  location: StoreLocation,
  { memorySize, maxFileSize, durability, postgres = {} }: Section & { readonly memorySize: number },
  listenUrl: string | undefined,
): StoreConfig {
  switch (location.kind) {
    case "memory":
      return { ...location, maxBytes: memorySize };
    case "file":
      return {
        ...location,
        ...compact({
          maxBytes: maxFileSize,
          isDurable: durability === undefined ? undefined : durability === "full",
        }),
      };
    case "postgres": {
      const { schema, poolSize } = postgres;
      return { ...location, ...compact({ listenUrl, schema, poolSize }) };
    }
  }
}

function findContradictions({ settings: { runs = {} }, locate }: ReadSource): string[] {
  const { store, storeFile, postgres = {} } = runs;
  const problems = [];
  if (store !== undefined && storeFile !== undefined) {
    problems.push(`${locate(["runs", "store_file"])}: expected either store or store_file, found both`);
  }
  if (postgres.listenUrl !== undefined && postgres.listenUrlFile !== undefined) {
    const where = locate(["runs", "postgres", "listen_url_file"]);
    problems.push(`${where}: expected either listen_url or listen_url_file, found both`);
  }
  return problems;
}

async function readLocation(
  { settings: { runs = {} }, folder = "", locate }: ReadSource,
  problems: string[],
): Promise<StoreLocation> {
  const { store, storeFile } = runs;
  const memory = { kind: "memory" } as const;
  if (store !== undefined || storeFile === undefined) return store ?? memory;
  const where = locate(["runs", "store_file"]);
  const text = unwrapParsed(await readKeyFile(resolve(folder, storeFile)), where, problems);
  const location = text === undefined ? memory : parseStoreLocation(text);
  if (location !== undefined) return location;
  problems.push(`${where}: expected "memory", an absolute path or a postgres:// URL in the file`);
  return memory;
}

async function readListenUrl(
  { postgres = {} }: Section,
  { folder = "", locate }: ReadSource,
  problems: string[],
): Promise<string | undefined> {
  const { listenUrl, listenUrlFile } = postgres;
  if (listenUrlFile === undefined) return listenUrl;
  const where = locate(["runs", "postgres", "listen_url_file"]);
  return unwrapParsed(await readKeyFile(resolve(folder, listenUrlFile)), where, problems);
}

async function readKeys(
  { encryptionKeyFiles = [] }: Section,
  { folder = "", locate }: ReadSource,
  problems: string[],
): Promise<readonly EncryptionKey[]> {
  const keys: EncryptionKey[] = [];
  for (const [index, path] of encryptionKeyFiles.entries()) {
    const where = locate(["runs", "encryption_key_files", index]);
    const key = unwrapParsed(await readEncryptionKey(resolve(folder, path)), where, problems);
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

async function readEncryptionKey(path: string): Promise<Parsed<EncryptionKey>> {
  const read = await readKeyFile(path);
  if (!("value" in read)) return read;
  try {
    return { value: parseEncryptionKey(read.value, path) };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { problem: error.message };
  }
}
