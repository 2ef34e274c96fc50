/** Checks at the start that the store can be read with the keys that are configured. */
import { ConfigurationError } from "../../../core/errors.ts";
import type { BodyCodec } from "../body-codec.ts";
import type { EncryptionKey } from "../encryption-key.ts";
import type { Database, Statement } from "./database.ts";

const SELECT_CHECKS: Statement = {
  name: "select_key_checks",
  text: "SELECT key_id, body FROM :schema.key_checks",
};

const INSERT_CHECK: Statement = {
  name: "insert_key_check",
  text: "INSERT INTO :schema.key_checks (key_id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING",
};

const SELECT_ANY: Statement = {
  name: "select_any_rows",
  text: "SELECT EXISTS (SELECT 1 FROM :schema.runs) OR EXISTS (SELECT 1 FROM :schema.threads) AS found",
};

const CHECKED_TEXT = "outrigger";

/** What is there of a key. */
interface KeyCheck {
  readonly key_id: string;
  readonly body: Uint8Array;
}

/**
 * Checks the keys, and notes the first one where it is new.
 * @throws ConfigurationError where the store is encrypted and there is no key, or none of its keys; or where it has
 * rows that are not encrypted, and there is a key.
 */
export async function checkKeys(
  database: Database,
  codec: BodyCodec,
  keys: readonly EncryptionKey[],
): Promise<void> {
  const checks = await database.query<KeyCheck>(SELECT_CHECKS, []);
  const [key] = keys;
  if (key === undefined) {
    if (checks.length > 0) throw refused(database, "it is encrypted, but no key is configured");
    return;
  }
  const ids = keys.map(idOf);
  const known = checks.filter(({ key_id }) => ids.includes(key_id));
  for (const { key_id, body } of known) codec.decode(body, placeOf(key_id));
  if (checks.length > 0 && known.length === 0) {
    const paths = keys.map(({ path }) => path).join(", ");
    throw refused(database, `it is encrypted with another key than that of ${paths}`);
  }
  if (checks.length === 0) await checkEmpty(database);
  const id = idOf(key);
  if (known.some(({ key_id }) => key_id === id)) return;
  await database.query(INSERT_CHECK, [id, codec.encode(Buffer.from(CHECKED_TEXT), placeOf(id))]);
}

async function checkEmpty(database: Database): Promise<void> {
  const [rows] = await database.query<{ found: boolean }>(SELECT_ANY, []);
  if (rows?.found === true) {
    throw refused(database, "it has runs that are not encrypted; encryption begins with a new schema");
  }
}

function idOf({ id }: EncryptionKey): string {
  return id.toString("hex");
}

function placeOf(keyId: string): string {
  return `check of the key ${keyId}`;
}

function refused({ schema }: Database, reason: string): ConfigurationError {
  return new ConfigurationError(`cannot use the schema "${schema}" of the database of runs: ${reason}`);
}
