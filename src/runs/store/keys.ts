/** Checks at the start that the configured keys can read the store. */
import { ConfigurationError } from "../../core/errors.ts";
import type { BodyCodec } from "./body-codec.ts";
import type { Driver } from "./driver.ts";
import type { EncryptionKey } from "./encryption-key.ts";

const SELECT_CHECKS = "SELECT key_id, body FROM :schema.key_checks";
const INSERT_CHECK = "INSERT INTO :schema.key_checks (key_id, body) VALUES ($1, $2) ON CONFLICT DO NOTHING";
const SELECT_ANY = `
  SELECT CASE WHEN EXISTS (SELECT 1 FROM :schema.runs) OR EXISTS (SELECT 1 FROM :schema.threads)
    THEN 1 ELSE 0 END AS found`;

const CHECKED_TEXT = "outrigger";

/**
 * Checks the keys, and records the first one if it is new.
 * @param place Names the store in errors: the path of its file, or its schema.
 * @throws ConfigurationError if the store is encrypted and none of its keys is configured, or if it has bodies that are
 *   not encrypted and a key is configured.
 */
export async function checkKeys(
  driver: Driver,
  codec: BodyCodec,
  keys: readonly EncryptionKey[],
  place: string,
): Promise<void> {
  const checks = await driver.read<{ key_id: string; body: Uint8Array }>(SELECT_CHECKS, []);
  const [key] = keys;
  if (key === undefined) {
    if (checks.length > 0) throw refused(place, "it is encrypted, but no key is configured");
    return;
  }
  const ids = keys.map(({ id }) => id.toString("hex"));
  const known = checks.filter(({ key_id }) => ids.includes(key_id));
  for (const { key_id, body } of known) codec.decode(body, getCheckPlace(key_id));
  if (checks.length > 0 && known.length === 0) {
    const paths = keys.map(({ path }) => path).join(", ");
    throw refused(place, `it is encrypted with another key than that of ${paths}`);
  }
  if (checks.length === 0) await checkEmpty(driver, place);
  const id = key.id.toString("hex");
  if (known.some(({ key_id }) => key_id === id)) return;
  const body = codec.encode(Buffer.from(CHECKED_TEXT), getCheckPlace(id));
  await driver.batch([{ text: INSERT_CHECK, values: [id, body] }], "end");
}

async function checkEmpty(driver: Driver, place: string): Promise<void> {
  const [row] = await driver.read<{ found: number }>(SELECT_ANY, []);
  if (row?.found === 1) {
    throw refused(place, "it has runs that are not encrypted; encryption begins with a new store");
  }
}

function getCheckPlace(keyId: string): string {
  return `check of the key ${keyId}`;
}

function refused(place: string, reason: string): ConfigurationError {
  return new ConfigurationError(`cannot use the run store ${place}: ${reason}`);
}
