import { ConfigurationError } from "../../../core/errors.ts";
import type { Database, Queries } from "./database.ts";
import { migrations } from "./schema.ts";

/**
 * Brings the schema to the version of this program, creating it where there is none. Sidecars that start at the same
 * time wait for each other.
 * @throws ConfigurationError where a newer program has changed the schema.
 */
export async function migrate(database: Database): Promise<void> {
  // Without a lock and without the right to create anything, where there is nothing to do.
  if ((await versionOf(database, database.schema)) === migrations.length) return;
  await database.transaction(async (queries) => {
    await queries.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
      `outrigger ${database.schema}`,
    ]);
    await createSchema(queries, database.schema);
    await createSchema(queries, queueSchemaOf(database.schema));
    const version = await versionOf(queries, database.schema);
    for (const [index, migration] of migrations.entries()) {
      if (index >= version) await apply(queries, database.schema, index + 1, migration);
    }
  });
}

/** The schema of the queue. The library that keeps it names the tables there. */
export function queueSchemaOf(schema: string): string {
  return `${schema}_queue`;
}

/** Creates a schema where there is none. Where there is one, no right to create schemas is needed. */
async function createSchema(queries: Queries, schema: string): Promise<void> {
  const { rows } = await queries.execute("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
  if (rows.length === 0) await queries.execute(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
}

/** The number of the latest migration that was applied; 0 for none. */
async function versionOf(queries: Queries, schema: string): Promise<number> {
  const { rows: tables } = await queries.execute("SELECT to_regclass($1) IS NOT NULL AS found", [
    `${schema}.migrations`,
  ]);
  if (!isRow(tables[0]) || tables[0].found !== true) return 0;
  const { rows } = await queries.execute(`SELECT max(number) AS version FROM ${schema}.migrations`);
  const version = isRow(rows[0]) ? Number(rows[0].version) : 0;
  if (version > migrations.length) throw newerSchema(schema, version);
  return version;
}

async function apply(queries: Queries, schema: string, number: number, migration: string): Promise<void> {
  if (number === 1) {
    await queries.execute(
      `CREATE TABLE ${schema}.migrations (number INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL)`,
    );
  }
  await queries.execute(migration.replaceAll(":schema", schema));
  await queries.execute(`INSERT INTO ${schema}.migrations VALUES ($1, now())`, [number]);
}

function newerSchema(schema: string, version: number): ConfigurationError {
  return new ConfigurationError(
    `the schema "${schema}" of the database of runs has version ${version}; ` +
      `this version of Outrigger knows version ${migrations.length} at most: use the one that changed it, or a later one`,
  );
}

function isRow(row: unknown): row is Readonly<Record<string, unknown>> {
  return typeof row === "object" && row !== null;
}
