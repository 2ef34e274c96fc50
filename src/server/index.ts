/** The doors of the sidecar. */
export type { Catalog, CorsOptions, Inference, Limits, RunningServer, ServerOptions } from "./options.ts";
export { startServer } from "./start-server.ts";
