import type { RunStore } from "../runs/store.ts";
import type { RunsConfig } from "./runs.ts";

/**
 * Opens the store of a configuration. Each kind is loaded only if it is used.
 * @param onProblem Called with background failures and notices for operators.
 * @throws ConfigurationError if the configuration of the store is unusable; ServerError if a database cannot be
 *   reached.
 */
export async function openRunStore(
  { store, maxBodyBytes, keys }: RunsConfig,
  onProblem: (problem: unknown) => void,
): Promise<RunStore> {
  const options = { maxBodyBytes, keys, onProblem };
  if (store.kind === "postgres") {
    const { openPostgresStore } = await import("../runs/store/postgres.ts");
    return openPostgresStore({ ...store, ...options });
  }
  const { openSqliteStore } = await import("../runs/store/open-store.ts");
  return openSqliteStore({ location: store, ...options });
}
