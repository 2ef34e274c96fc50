import { ConfigurationError } from "../../core/errors.ts";
import { BodyCodec, type BodyCodecOptions, type EncryptionKey } from "./body-codec.ts";
import type { Driver } from "./driver.ts";
import { SqlRunStore } from "./run-store.ts";
import { SqliteDriver } from "./sqlite.ts";
import type { SqliteLocation } from "./sqlite-file.ts";

/** Options of a store. */
export interface StoreOptions extends BodyCodecOptions {
  /** Called with failures in the background, and with problems that an operator should know about. */
  readonly onProblem: (problem: unknown) => void;
}

/** Options of a store in SQLite. */
export interface SqliteStoreOptions extends StoreOptions {
  readonly location: SqliteLocation;
}

/**
 * Opens a store in a file of this process alone, or in memory. Runs that an earlier process left IN_PROGRESS are
 * abandoned at once, and those that it left QUEUED are delivered again.
 * @throws ConfigurationError that names the file.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqlRunStore> {
  const { location, onProblem } = options;
  const storeName = location.kind === "file" ? location.path : "in memory";
  return openStore(await SqliteDriver.open(location, onProblem), options, storeName);
}

/**
 * Returns a store over an open driver. Closes the driver if it throws.
 * @param storeName Names the store in errors.
 */
export async function openStore(
  driver: Driver,
  options: StoreOptions,
  storeName: string,
): Promise<SqlRunStore> {
  const codec = new BodyCodec(options);
  try {
    await checkKeys(driver, codec, options.keys ?? [], storeName);
    const store = new SqlRunStore(driver, codec, options.onProblem);
    await store.open();
    return store;
  } catch (thrown) {
    await driver.close();
    throw thrown;
  }
}

const SELECT_CHECKS = "SELECT key_id, body FROM :schema.key_checks";
const INSERT_CHECK = "INSERT INTO :schema.key_checks (key_id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const SELECT_ANY = `
  SELECT CASE WHEN EXISTS (SELECT 1 FROM :schema.runs) OR EXISTS (SELECT 1 FROM :schema.threads)
    THEN 1 ELSE 0 END AS found`;

const CHECKED_TEXT = "outrigger";

/**
 * Checks the keys, and records the first one if it is new.
 * @param storeName Names the store in errors: the path of its file, or its schema.
 * @throws ConfigurationError if the store is encrypted and none of its keys is configured, or if it has bodies that are
 *   not encrypted and a key is configured.
 */
async function checkKeys(
  driver: Driver,
  codec: BodyCodec,
  keys: readonly EncryptionKey[],
  storeName: string,
): Promise<void> {
  const checks = await driver.read<{ key_id: string; body: Uint8Array }>(SELECT_CHECKS, []);
  const [key] = keys;
  if (key === undefined) {
    if (checks.length > 0) throw refused(storeName, "it is encrypted, but no key is configured");
    return;
  }
  const ids = keys.map(({ id }) => id.toString("hex"));
  const known = checks.filter(({ key_id }) => ids.includes(key_id));
  for (const { key_id, body } of known) codec.decode(body, toCheckBodyId(key_id));
  if (checks.length > 0 && known.length === 0) {
    const paths = keys.map(({ path }) => path).join(", ");
    throw refused(storeName, `it is encrypted with a key other than the one in ${paths}`);
  }
  if (checks.length === 0) {
    const [row] = await driver.read<{ found: number }>(SELECT_ANY, []);
    if (row?.found === 1)
      throw refused(storeName, "it has runs that are not encrypted; enable encryption with an empty store");
  }
  const id = key.id.toString("hex");
  if (known.some(({ key_id }) => key_id === id)) return;
  const body = codec.encode(Buffer.from(CHECKED_TEXT), toCheckBodyId(id));
  await driver.batch([{ text: INSERT_CHECK, values: [id, body] }], "end");
}

function toCheckBodyId(keyId: string): string {
  return `check of the key ${keyId}`;
}

function refused(storeName: string, reason: string): ConfigurationError {
  return new ConfigurationError(`cannot use the run store ${storeName}: ${reason}`);
}
