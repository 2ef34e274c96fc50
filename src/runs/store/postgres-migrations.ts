import type { ClientBase } from "pg";
import { ConfigurationError } from "../../core/errors.ts";
import { migrations } from "./schema.ts";

const TYPES: Readonly<Record<string, string>> = {
  ":identity": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  ":id": 'TEXT COLLATE "C"',
  // The codec compresses bodies already.
  ":bytes": "BYTEA STORAGE EXTERNAL",
  ":long": "BIGINT",
  ":table": "",
  // Room for the versions that the writes of a run leave, so that they need no new index entries.
  ":updated_table": "WITH (fillfactor = 70)",
  ":keyed_table": "",
};

/**
 * Brings a schema to the version of this program, and creates it if there is none. Sidecars that start at the same time
 * wait for each other.
 * @throws ConfigurationError if a newer program has changed the schema.
 */
export async function migratePostgres(client: ClientBase, schema: string): Promise<void> {
  // Without a lock and without the right to create anything, if there is nothing to do.
  if ((await readVersion(client, schema)) === migrations.length) return;
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`outrigger ${schema}`]);
    const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    if (rows.length === 0) await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
    const version = await readVersion(client, schema);
    for (const [index, migration] of migrations.entries()) {
      if (index >= version) await apply(client, schema, index + 1, migration);
    }
    await client.query("COMMIT");
  } catch (thrown) {
    await client.query("ROLLBACK").catch(() => {});
    throw thrown;
  }
}

/** The number of the latest migration that was applied; 0 for none. */
async function readVersion(client: ClientBase, schema: string): Promise<number> {
  const table = `${schema}.migrations`;
  const found = await client.query<{ found: boolean }>("SELECT to_regclass($1) IS NOT NULL AS found", [
    table,
  ]);
  if (found.rows[0]?.found !== true) return 0;
  const { rows } = await client.query<{ version: number }>(`SELECT max(number) AS version FROM ${table}`);
  const version = Number(rows[0]?.version ?? 0);
  if (version <= migrations.length) return version;
  throw new ConfigurationError(
    `the schema "${schema}" of the database of runs has version ${version}; ` +
      `this version of Outrigger knows version ${migrations.length} at most: use the one that changed it, or a later one`,
  );
}

async function apply(client: ClientBase, schema: string, number: number, migration: string): Promise<void> {
  if (number === 1) {
    await client.query(
      `CREATE TABLE ${schema}.migrations (number INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)`,
    );
  }
  const types = /:identity\b|:id\b|:bytes\b|:long\b|:updated_table\b|:keyed_table\b|:table\b/g;
  const text = migration.replaceAll(":schema.", `${schema}.`).replace(types, (word) => TYPES[word] ?? word);
  await client.query(text);
  await client.query(`INSERT INTO ${schema}.migrations VALUES ($1, now())`, [number]);
}
