/** The listeners of the sidecar: its services over gRPC, gRPC-Web, Connect and JSON, health, and shutdown. */

export type { ModelClient } from "../generation/loop/model-calls.ts";
export { AccessControl } from "./access/access-control.ts";
export type { Limits } from "./base/limits.ts";
export type { Service } from "./calls/service.ts";
export type { CorsOptions } from "./http/origin.ts";
export type { ListenersOptions, RunningServer, ServerOptions } from "./options.ts";
export { type Catalog, createCatalogService } from "./services/catalog-service.ts";
export { createGenerationService } from "./services/generation-service.ts";
export { createEmbeddingService, createInferenceService } from "./services/inference-service.ts";
export { createRunService, createThreadService } from "./services/run-service.ts";
export type { ShutdownPart } from "./shutdown.ts";
export { startServer } from "./start-server.ts";
