import type { RunStore } from "../runs/store.ts";
import { BodyCodec } from "../runs/stores/body-codec.ts";
import type { RunsConfig } from "./runs.ts";

/**
 * Opens the store of a configuration. Each kind is loaded only where it is used.
 * @param onProblem Is told of what fails in the background.
 * @throws ConfigurationError where the store cannot be used as it is configured; ServerError where a database cannot be
 * reached.
 */
export async function openRunStore(
  { store, maxBodyBytes, keys }: RunsConfig,
  onProblem: (error: unknown) => void,
): Promise<RunStore> {
  if (store.kind === "postgres") {
    const { openPostgresStore } = await import("../runs/stores/postgres/store.ts");
    return openPostgresStore({ ...store, codec: new BodyCodec({ maxBodyBytes, keys }), onProblem });
  }
  const { SqliteStore } = await import("../runs/stores/sqlite/store.ts");
  return SqliteStore.open({ location: store, maxBodyBytes, keys });
}
