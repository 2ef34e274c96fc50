import { BodyCodec, type BodyCodecOptions } from "./body-codec.ts";
import type { Driver } from "./driver.ts";
import { checkKeys } from "./keys.ts";
import { SqlRunStore } from "./run-store.ts";
import { SqliteDriver } from "./sqlite.ts";
import type { SqliteLocation } from "./sqlite-file.ts";

/** Options of a store. */
export interface StoreOptions extends BodyCodecOptions {
  /** Called with failures in the background, and with what an operator should know. */
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
  const place = location.kind === "file" ? location.path : "in memory";
  return openStore(await SqliteDriver.open(location, onProblem), options, place);
}

/**
 * A store over an open driver, which is closed if that fails.
 * @param place Names the store in errors of the start.
 */
export async function openStore(driver: Driver, options: StoreOptions, place: string): Promise<SqlRunStore> {
  const codec = new BodyCodec(options);
  try {
    await checkKeys(driver, codec, options.keys ?? [], place);
    const store = new SqlRunStore(driver, { codec, onProblem: options.onProblem });
    await store.open();
    return store;
  } catch (thrown) {
    await driver.close();
    throw thrown;
  }
}
