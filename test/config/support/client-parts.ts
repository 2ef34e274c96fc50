import { type ClientConfig, createCatalogWith, type MiddlewareParts } from "../../../src/config/index.ts";

/** A log that nobody reads. */
const silentLog = { info() {}, warn() {} };

/** Creates the parts of a configuration's client as `outrigger serve` does. */
export function getParts(config: ClientConfig, log: MiddlewareParts["log"] = silentLog): MiddlewareParts {
  return { catalog: createCatalogWith(config), log };
}
