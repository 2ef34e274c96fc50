import type { ModelSettings } from "../catalog/model-settings.ts";
import type { ProviderSettings } from "../client/providers.ts";
import type { AliasWithFallbacks } from "../middleware/alias-fallbacks.ts";
import type { CallScope } from "../middleware/choose-middleware.ts";
import type { FallbackOptions } from "../middleware/fallback.ts";
import type { McpSettings } from "../runs/mcp/settings.ts";
import type { AccessKeysConfig } from "./access-keys.ts";
import type { CallRules } from "./middleware-schema.ts";
import type { RunsConfig } from "./runs.ts";
import type { Settings } from "./schema.ts";

/** The configuration of a sidecar by its parts, from flags, variables, a file and the defaults, in this order. */
export interface Config {
  readonly listeners: ListenersConfig;
  readonly access: AccessConfig;
  /** Whether gRPC reflection is served. Undefined: the server's default. */
  readonly reflection: boolean | undefined;
  readonly log: { readonly level: NonNullable<Settings["log_level"]> };
  readonly shutdown: {
    /** Longest wait for calls in flight when the sidecar stops. Undefined: the server's default. */
    readonly timeoutMs: number | undefined;
  };
  readonly client: ClientConfig;
  /** The MCP servers that runs may use. */
  readonly mcp: McpSettings;
  readonly runs: RunsConfig;
  /** Settings that have no effect, for the log. */
  readonly notices: readonly string[];
}

/** Where the sidecar listens, and for whom. */
export interface ListenersConfig {
  readonly data: {
    /** At least one. */
    readonly addresses: readonly string[];
    /** Undefined: no browser may call. */
    readonly cors: Settings["cors"];
  };
  /** Health and metrics. Undefined: there is no admin listener. */
  readonly admin: { readonly address: string } | undefined;
  /** Names by which both may be called over HTTP/1.1, besides those that are always allowed. */
  readonly allowedHosts: readonly string[];
  /** Permissions of Unix sockets. Undefined: the server's default. */
  readonly unixSocketMode: number | undefined;
  /** Changes to the server's limits. */
  readonly limits: NonNullable<Settings["limits"]>;
}

/** Who may call. */
export interface AccessConfig {
  /** Undefined: everybody who reaches the data listener. */
  readonly keys: AccessKeysConfig | undefined;
  /** Whether that is meant also where the network reaches the data listener. */
  readonly allowUnauthenticated: boolean;
}

/** What the Client is made of. */
export interface ClientConfig {
  /** The providers by name, in the order of registration; those of the variables first. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Absolute paths of the files with the keys of providers that have one. */
  readonly keyFiles: ReadonlyMap<string, string>;
  /** Where the key of each provider comes from, for the error that the provider refused it. */
  readonly keyOrigins?: ReadonlyMap<string, string> | undefined;
  /** Undefined: the first provider. */
  readonly defaultProvider: string | undefined;
  readonly middleware: MiddlewareConfig;
  /** Whether there are access keys, so that calls have callers. */
  readonly hasCallers: boolean;
  /** Models beside those of the shipped catalog, and what differs in these. */
  readonly models: readonly ConfiguredModel[];
  /** What to do where there is no provider. */
  readonly remedy: string;
}

/** A model that a configuration names, with rules for its calls. */
export interface ConfiguredModel extends ModelSettings {
  readonly rules: CallRules;
}

/** The middleware of the Client, by kinds. */
export interface MiddlewareConfig {
  /** Models by the names that requests use for them. */
  readonly modelAliases: Readonly<Record<string, AliasWithFallbacks>>;
  /** The first that fits a call applies. */
  readonly fallbacks: readonly FallbackRule[];
  /** Rules for all calls. */
  readonly rules: CallRules;
  /** Rules for the calls of providers, by their names. */
  readonly providerRules: ReadonlyMap<string, CallRules>;
}

/** Where the calls within a scope go when they fail. */
export interface FallbackRule extends CallScope, FallbackOptions {}

/** Default address of the data listener. Containers of a pod share it, and nothing else can reach it. */
export const defaultListen = "127.0.0.1:6190";

/** Default address of the admin listener: the kubelet and Prometheus come to the pod's address. */
export const defaultAdminListen = "0.0.0.0:6191";
