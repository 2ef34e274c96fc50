import {
  type ClientConfig,
  type ClientParts,
  createCatalogWith,
  openKeyFiles,
} from "../../../src/config/index.ts";

/** A log that nobody reads. */
const silentLog = { info() {}, warn() {} };

/** Creates the parts of a configuration's client as `outrigger serve` does. */
export function getParts(
  config: ClientConfig,
  log: Parameters<typeof openKeyFiles>[1] = silentLog,
): ClientParts {
  return { keyFiles: openKeyFiles(config, log), catalog: createCatalogWith(config), log };
}
