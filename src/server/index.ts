/** The doors of the sidecar. */
export { createLogger, type LoggerOptions } from "./logging.ts";
export {
  type Catalog,
  type CorsOptions,
  DEFAULT_LIMITS,
  type Inference,
  type Limits,
  type RunningServer,
  type ServerOptions,
} from "./options.ts";
export { startServer } from "./start-server.ts";
