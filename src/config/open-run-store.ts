import { DEFAULT_RUN_LIMITS } from "../runs/limits.ts";
import type { RunStore } from "../runs/store.ts";
import type { RunsConfig } from "./runs.ts";

/**
 * Opens the store of a configuration. Each kind is loaded only where it is used.
 * @param onProblem Is told of what fails in the background.
 * @throws ConfigurationError where the store cannot be used as it is configured; ServerError where a database cannot be
 * reached.
 */
export async function openRunStore(
  { store, maxBodyBytes, keys, limits }: RunsConfig,
  onProblem: (error: unknown) => void,
): Promise<RunStore> {
  if (store.kind === "postgres") {
    const { openPostgresStore } = await import("../runs/stores/postgres/store.ts");
    const { leaseMs = DEFAULT_RUN_LIMITS.leaseMs } = limits;
    // A process that has lost its runs has also lost what was delivered to it.
    return openPostgresStore({ ...store, maxBodyBytes, keys, heartbeatSeconds: leaseMs / 1000, onProblem });
  }
  const { SqliteStore } = await import("../runs/stores/sqlite/store.ts");
  return SqliteStore.open({ location: store, maxBodyBytes, keys });
}
