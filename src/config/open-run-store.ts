import type { RunStore } from "../runs/store.ts";
import type { RunsConfig } from "./runs.ts";

/**
 * Opens the store of a configuration. Each kind is loaded only if it is used.
 * @param onProblem Called with failures in the background, and with what an operator should know.
 * @throws ConfigurationError if the store cannot be used as it is configured; ServerError if a database cannot be
 * reached.
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
