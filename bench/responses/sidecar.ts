/** The sidecar as it is released, with a store for responses. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../../src/cli/process-settings.ts";
import { bundleAsShipped } from "../implementations/bundle.ts";
import { type Running, startListening } from "../processes.ts";
import { RUN_FOLDER } from "../work-folder.ts";

/** Where a sidecar keeps responses. */
export type StoreKind = "memory" | "sqlite";

/** Number of stores of this run, so that each has a file of its own. */
let stores = 0;

let bundle: Promise<string> | undefined;

/** Starts a sidecar in front of an upstream. */
export async function startSidecar(upstream: string, store: StoreKind): Promise<Running> {
  bundle ??= bundleAsShipped("outrigger", "src/cli/main.ts");
  const start = await bundle;
  stores += 1;
  const config = join(RUN_FOLDER, `responses-${stores}.json`);
  // YAML is a superset of JSON.
  await writeFile(config, JSON.stringify(configuration(store)));
  return startListening((address) => ({
    file: process.execPath,
    args: [...NODE_OPTIONS, start, "serve", "--config", config],
    env: {
      ...ALLOCATOR_VARIABLES,
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `http://${upstream}/v1`,
      OUTRIGGER_LISTEN: address,
      OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
    },
  }));
}

function configuration(store: StoreKind): object {
  return { runs: { store: store === "memory" ? "memory" : join(RUN_FOLDER, `responses-${stores}.db`) } };
}
