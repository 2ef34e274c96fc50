/** Checks at the start that the store can be read with the keys that are configured. */
import { ConfigurationError } from "../../../core/errors.ts";
import type { EncryptionKey } from "../encryption-key.ts";
import { blob, text } from "./columns.ts";
import type { Tables } from "./run-rows.ts";

const SELECT_CHECKS = "SELECT key_id, body FROM key_checks";
const INSERT_CHECK = "INSERT INTO key_checks (key_id, body) VALUES (?, ?)";
const SELECT_ANY = "SELECT EXISTS (SELECT 1 FROM runs) OR EXISTS (SELECT 1 FROM threads) AS has_rows";
const CHECKED_TEXT = "outrigger";

/**
 * Checks the keys, and notes the first one where it is new.
 * @throws ConfigurationError where the store is encrypted and there is no key, or none of its keys; or where it has
 * rows that are not encrypted, and there is a key.
 */
export function checkKeys(tables: Tables, keys: readonly EncryptionKey[]): void {
  const { database, codec } = tables;
  const checks = database
    .all(SELECT_CHECKS)
    .map((row) => ({ keyId: text(row.key_id), body: blob(row.body) }));
  const [key] = keys;
  if (key === undefined) {
    if (checks.length > 0) throw refused(database.name, "it is encrypted, but no key is configured");
    return;
  }
  const known = checks.filter(({ keyId }) => keys.some(({ id }) => id.toString("hex") === keyId));
  for (const { keyId, body } of known) codec.decode(body, placeOf(keyId));
  if (checks.length > 0 && known.length === 0) {
    throw refused(
      database.name,
      `it is encrypted with another key than ${listed(keys.map(({ path }) => path))}`,
    );
  }
  if (checks.length === 0 && database.first(SELECT_ANY)?.has_rows === 1) {
    throw refused(database.name, "it has runs that are not encrypted; encryption begins with a new store");
  }
  const keyId = key.id.toString("hex");
  if (known.some((check) => check.keyId === keyId)) return;
  database.change(INSERT_CHECK, keyId, codec.encode(Buffer.from(CHECKED_TEXT), placeOf(keyId)));
}

function placeOf(keyId: string): string {
  return `check of the key ${keyId}`;
}

function refused(name: string, reason: string): ConfigurationError {
  return new ConfigurationError(`cannot use the run store ${name}: ${reason}`);
}

function listed(paths: readonly string[]): string {
  return paths.length === 1 ? `that of ${paths.join()}` : `those of ${paths.join(", ")}`;
}
