/** The configuration of a sidecar, and the Client that is built from it. */
export { AccessKeysFile } from "./access-keys.ts";
export { buildClient, createCatalogWith } from "./build-client.ts";
export type { MiddlewareParts } from "./build-middleware.ts";
export type { ClientConfig, Config, ListenersConfig } from "./config.ts";
export { findChanges } from "./config-changes.ts";
export type { TokenIssuer } from "./jwt.ts";
export { loadConfig } from "./load-config.ts";
export { openRunStore } from "./open-run-store.ts";
export type { RunsConfig } from "./runs.ts";
export { ServedClient } from "./served-client.ts";
export type { ConfigFlags } from "./sources.ts";
export type { ListenerTls, TlsFiles } from "./tls-files.ts";
