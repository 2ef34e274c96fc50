/**
 * `outrigger`: the library. See docs/library.md. Schemas are in `outrigger/proto`, the building blocks of adapters in
 * `outrigger/kit`.
 */

import "./core/node-version.ts";
import { getDefaultClient, setDefaultClient } from "./client/default-client.ts";
import { setModelClientSource } from "./generation/default-model-client.ts";

// The catalog.
export { Catalog, type CatalogOptions, costOf, createCatalog, defaultCatalog } from "./catalog/catalog.ts";
export type { CapabilityWord, CatalogEntry } from "./catalog/catalog-data.ts";
export type { CostOptions } from "./catalog/model-cost.ts";
export { capabilityNames } from "./catalog/model-info.ts";
export type { ModelPrices, ModelSettings } from "./catalog/model-settings.ts";
export type { ModelTraits } from "./catalog/model-traits.ts";
export { getLatestModel, getModelInfo, listModels } from "./client/catalog.ts";
export { Client, type ClientOptions, type FromEnvOptions } from "./client/client.ts";
export type { FieldPaths } from "./client/field-paths.ts";
export type { Environment } from "./client/from-env.ts";
export type {
  CompleteNext,
  Middleware,
  MiddlewareFunction,
  MiddlewareMethods,
  StreamNext,
} from "./client/middleware.ts";
export type {
  ModelAlias,
  ModelRouting,
  ModelTargets,
  NamedModel,
  ResolvedModel,
} from "./client/model-names.ts";
export * from "./common.ts";
export type { CallOperation, CallTarget, ProviderAdapter } from "./core/adapter.ts";
export type { HttpTimeouts } from "./kit/http/transport.ts";
export {
  type AliasRoutingOptions,
  createAliasRouting,
  type RoutedAlias,
  type SeveralTargets,
} from "./middleware/alias-routing.ts";
export type { BreakerStore, CircuitState } from "./middleware/breaker.ts";
export { type BudgetOptions, createBudget } from "./middleware/budget.ts";
export type { BudgetPeriod, BudgetStore } from "./middleware/budget-window.ts";
export { type CacheOptions, type CacheStore, createCache } from "./middleware/cache.ts";
export { type CallScope, onlyFor } from "./middleware/choose-middleware.ts";
export { type CircuitBreakerOptions, createCircuitBreaker } from "./middleware/circuit-breaker.ts";
export {
  createFallback,
  DEFAULT_FALLBACK_KINDS,
  type FallbackKind,
  type FallbackOptions,
  type FallbackTarget,
} from "./middleware/fallback.ts";
export { createHedge, type HedgeOptions } from "./middleware/hedge.ts";
export type { LoggedMessage } from "./middleware/log-texts.ts";
export {
  type AttemptEntry,
  createLogging,
  type LoggedContent,
  type LoggingOptions,
} from "./middleware/logging.ts";
export type { EjectionReason, HedgeResult, MiddlewareObserver, RefusedBy } from "./middleware/observer.ts";
export type { OutlierEjection } from "./middleware/outlier-ejection.ts";
export { createRateLimit, type RateLimitOptions } from "./middleware/rate-limit.ts";
export { createRetry, type RetryMiddlewareOptions } from "./middleware/retry.ts";
export type { RetryBudgetOptions } from "./middleware/retry-budget.ts";
export type { StickyField } from "./middleware/sticky-key.ts";
export type { AliasTarget, TargetStrategy } from "./middleware/target-choice.ts";
export type { RateStore } from "./middleware/wait-queue.ts";
export { AnthropicAdapter, type AnthropicAdapterOptions } from "./providers/anthropic-messages/adapter.ts";
export { CommandAdapter, type CommandAdapterOptions } from "./providers/command/adapter.ts";
export { GeminiAdapter, type GeminiAdapterOptions } from "./providers/gemini/adapter.ts";
export { OpenAIChatAdapter, type OpenAIChatAdapterOptions } from "./providers/openai-chat/adapter.ts";
export type { ServerProfile } from "./providers/openai-chat/profile.ts";
export { OpenAIAdapter, type OpenAIAdapterOptions } from "./providers/openai-responses/adapter.ts";
export { getDefaultClient, setDefaultClient };

setModelClientSource(getDefaultClient);
