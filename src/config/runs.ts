/** The storage of runs, from the section `runs` of a configuration and the files that it names. */
import { resolve } from "node:path";
import { getHeapStatistics } from "node:v8";
import { ConfigurationError } from "../core/errors.ts";
import type { RunLimits } from "../runs/limits.ts";
import { type EncryptionKey, parseEncryptionKey } from "../runs/store/body-codec.ts";
import { compact } from "./fields.ts";
import { readKeyFile } from "./key-files.ts";
import type { Locate } from "./problems.ts";
import { parseStorePlace, type StorePlace } from "./runs-schema.ts";
import type { Settings } from "./schema.ts";
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

/** The section `runs` and its source. */
export interface RunsSource {
  readonly settings: Pick<Settings, "runs">;
  /** Base of relative paths. Undefined for the working directory. */
  readonly folder?: string | undefined;
  readonly locate: Locate;
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
 * Reads the configuration of runs. The store is taken from the first source that names one; everything else is in the
 * last source, which is the file.
 */
export async function readRuns(sources: readonly RunsSource[]): Promise<Parsed<RunsConfig>> {
  const file = sources.at(-1);
  const section = file?.settings.runs ?? {};
  const source = sources.find(({ settings }) => hasStore(settings.runs)) ?? file;
  if (source === undefined) return { value: toRuns({}, { kind: "memory" }, [], {}) };
  const problems = checkSection(source);
  const place = await readPlace(source);
  const listenUrl = await readListenUrl(section, file ?? source);
  const keys = await readKeys(section, file ?? source);
  const all = [...problems, ...getProblems(place), ...getProblems(listenUrl), ...getProblems(keys)];
  if (all.length > 0 || !("value" in place) || !("value" in listenUrl) || !("value" in keys)) {
    return { problem: all.join("\n") };
  }
  return { value: toRuns(section, place.value, keys.value, compact({ listenUrl: listenUrl.value })) };
}

function hasStore(section: Section | undefined): boolean {
  return section?.store !== undefined || section?.store_file !== undefined;
}

function toRuns(
  section: Section,
  place: StorePlace,
  keys: readonly EncryptionKey[],
  { listenUrl }: { readonly listenUrl?: string },
): RunsConfig {
  const { memory_size: maxBytes = getDefaultMemorySize(), retention, limits = {} } = section;
  const { max_file_size: maxFileBytes, durability } = section;
  const { max_body_bytes: maxBodyBytes = DEFAULT_MAX_BODY_BYTES, postgres = {} } = section;
  const { allow_unstored_continuation: allowsUnstoredContinuation } = section;
  const { keep_unstored_reasoning: keepUnstoredMs } = section;
  const { schema, pool_size: poolSize } = postgres;
  return {
    store: toStoreConfig(place, {
      maxBytes,
      file: compact({
        maxBytes: maxFileBytes,
        isDurable: durability === undefined ? undefined : durability === "full",
      }),
      postgres: compact({ listenUrl, schema, poolSize }),
    }),
    maxBodyBytes:
      place.kind === "memory" ? Math.min(maxBodyBytes, maxBytes * MAX_MEMORY_SHARE) : maxBodyBytes,
    keys,
    ...compact({ allowsUnstoredContinuation, keepUnstoredMs }),
    limits: { ...limits, ...compact({ retentionMs: retention }) },
  };
}

function toStoreConfig(
  place: StorePlace,
  settings: {
    readonly maxBytes: number;
    readonly file: Omit<FileConfig, "kind" | "path">;
    readonly postgres: Omit<PostgresConfig, "kind" | "url">;
  },
): StoreConfig {
  if (place.kind === "memory") return { ...place, maxBytes: settings.maxBytes };
  return place.kind === "postgres" ? { ...place, ...settings.postgres } : { ...place, ...settings.file };
}

function checkSection({ settings: { runs = {} }, locate }: RunsSource): string[] {
  const { store, store_file: file, postgres = {} } = runs;
  const problems = [];
  if (store !== undefined && file !== undefined) {
    problems.push(`${locate(["runs", "store_file"])}: expected either store or store_file, found both`);
  }
  if (postgres.listen_url !== undefined && postgres.listen_url_file !== undefined) {
    const where = locate(["runs", "postgres", "listen_url_file"]);
    problems.push(`${where}: expected either listen_url or listen_url_file, found both`);
  }
  return problems;
}

async function readPlace({
  settings: { runs = {} },
  folder,
  locate,
}: RunsSource): Promise<Parsed<StorePlace>> {
  if (runs.store !== undefined || runs.store_file === undefined)
    return { value: runs.store ?? { kind: "memory" } };
  const where = locate(["runs", "store_file"]);
  const read = await readKeyFile(resolve(folder ?? "", runs.store_file));
  if (!("value" in read)) return { problem: `${where}: ${read.problem}` };
  const place = parseStorePlace(read.value);
  return place === undefined
    ? { problem: `${where}: expected "memory", an absolute path or a postgres:// URL in the file` }
    : { value: place };
}

async function readListenUrl(
  { postgres = {} }: Section,
  { folder, locate }: RunsSource,
): Promise<Parsed<string | undefined>> {
  const { listen_url: url, listen_url_file: file } = postgres;
  if (file === undefined) return { value: url };
  const read = await readKeyFile(resolve(folder ?? "", file));
  if ("value" in read) return read;
  return { problem: `${locate(["runs", "postgres", "listen_url_file"])}: ${read.problem}` };
}

async function readKeys(
  { encryption_key_files: paths = [] }: Section,
  { folder, locate }: RunsSource,
): Promise<Parsed<readonly EncryptionKey[]>> {
  const keys: EncryptionKey[] = [];
  const problems: string[] = [];
  for (const [index, path] of paths.entries()) {
    const read = await readEncryptionKey(resolve(folder ?? "", path));
    if ("value" in read) keys.push(read.value);
    else problems.push(`${locate(["runs", "encryption_key_files", index])}: ${read.problem}`);
  }
  return problems.length === 0 ? { value: keys } : { problem: problems.join("\n") };
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

function getProblems(parsed: Parsed<unknown>): string[] {
  return "value" in parsed ? [] : [parsed.problem];
}
