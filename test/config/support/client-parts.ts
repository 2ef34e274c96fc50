import {
  type ClientConfig,
  type ClientParts,
  createCatalogWith,
  openKeyFiles,
} from "../../../src/config/index.ts";

/** A log that nobody reads. */
const silentLog = { info() {}, warn() {} };

/** What the client of a configuration works with, as `outrigger serve` makes it. */
export function getParts(
  config: ClientConfig,
  log: Parameters<typeof openKeyFiles>[1] = silentLog,
): ClientParts {
  return { keyFiles: openKeyFiles(config, log), catalog: createCatalogWith(config), log };
}
