import type { ModelSettings } from "../catalog/model-settings.ts";
import type { ProviderSettings } from "../client/providers.ts";
import type { RoutedAlias } from "../middleware/alias-routing.ts";
import type { CallScope } from "../middleware/choose-middleware.ts";
import type { FallbackOptions } from "../middleware/fallback.ts";
import type { SharedSettings } from "../middleware/shared/shared-stores.ts";
import type { McpSettings } from "../runs/mcp/settings.ts";
import type { AccessKeysConfig } from "./access-keys.ts";
import type { TokenIssuer } from "./jwt.ts";
import type { CallRules } from "./middleware-schema.ts";
import type { RunsConfig } from "./runs.ts";
import type { Settings } from "./schema.ts";
import type { ClientTlsFiles, ClientTlsPaths, ListenerTls } from "./tls-files.ts";
import type { TracingConfig } from "./tracing.ts";

/** The configuration of a sidecar by its parts, from flags, variables, a file and the defaults, in this order. */
export interface Config {
  /** Absolute path of the configuration file. Undefined if there is none. */
  readonly path: string | undefined;
  /** The content of the file with its variables filled in, to name the fields that another file changes. */
  readonly file: unknown;
  /** The settings of all sources together, to decide whether another configuration needs a restart. */
  readonly settings: Settings;
  readonly listeners: ListenersConfig;
  readonly access: AccessConfig;
  /** Whether gRPC reflection is served. Undefined for the server's default. */
  readonly reflection: boolean | undefined;
  readonly log: {
    readonly level: NonNullable<Settings["log_level"]>;
    readonly format: NonNullable<Settings["log_format"]>;
  };
  readonly shutdown: {
    /** Longest wait for calls in progress when the sidecar stops. Undefined for the server's default. */
    readonly timeoutMs: number | undefined;
  };
  /** The TLS files for connections to other servers. They log nothing until they are given a log. */
  readonly tlsFiles: readonly ClientTlsFiles[];
  readonly client: ClientConfig;
  /** The MCP servers that runs may use. */
  readonly mcp: McpSettings;
  readonly runs: RunsConfig;
  /** The servers of counts that sidecars share. Undefined if none are shared. */
  readonly shared: SharedSettings | undefined;
  /** Undefined if tracing is off. */
  readonly tracing: TracingConfig | undefined;
  /** Settings that have no effect, for the log. */
  readonly notices: readonly string[];
}

/** The addresses of the sidecar, and its callers. */
export interface ListenersConfig {
  readonly data: {
    /** At least one. */
    readonly addresses: readonly string[];
    /** Undefined if no browser may call. */
    readonly cors: Settings["cors"];
    /** Undefined if the addresses are served without TLS. */
    readonly tls: ListenerTls | undefined;
  };
  /** Health and metrics. Undefined if there is no admin listener. */
  readonly admin: { readonly address: string; readonly tls: ListenerTls | undefined } | undefined;
  /** Names under which both may be called over HTTP/1.1, in addition to those that are always allowed. */
  readonly allowedHosts: readonly string[];
  /** Permissions of Unix sockets. Undefined for the server's default. */
  readonly unixSocketMode: number | undefined;
  /** Changes to the server's limits. */
  readonly limits: NonNullable<Settings["limits"]>;
}

/** Who may call. */
export interface AccessConfig {
  /** Undefined if there are none. */
  readonly keys: AccessKeysConfig | undefined;
  /** The issuers whose tokens identify callers. Undefined if no tokens are accepted. */
  readonly issuers: readonly TokenIssuer[] | undefined;
  /** Whether calls without a key are accepted even if the network reaches the data listener. */
  readonly allowUnauthenticated: boolean;
}

/** The settings of the Client. */
export interface ClientConfig {
  /** The providers by name, in the order of registration; providers from variables come first. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Absolute paths of the providers' key files, by provider. */
  readonly keyFiles: ReadonlyMap<string, string>;
  /** Paths of the TLS files for connections to providers, by provider. The settings follow changes of these files. */
  readonly tlsPaths?: ReadonlyMap<string, ClientTlsPaths> | undefined;
  /** The source of each provider's key, for the error that the provider refused the key. */
  readonly keyOrigins?: ReadonlyMap<string, string> | undefined;
  /** Undefined for the first provider. */
  readonly defaultProvider: string | undefined;
  readonly middleware: MiddlewareConfig;
  /** Whether there are access keys or tokens, so that calls have callers. */
  readonly hasCallers: boolean;
  /** Models to add to the shipped catalog, and changes to its models. */
  readonly models: readonly ConfiguredModel[];
  /** Advice for an error if there is no provider. */
  readonly remedy: string;
}

/** A model that a configuration names, with rules for its calls. */
export interface ConfiguredModel extends ModelSettings {
  readonly rules: CallRules;
}

/** The middleware of the Client, by kinds. */
export interface MiddlewareConfig {
  /** Models by the aliases that requests use. */
  readonly modelAliases: Readonly<Record<string, RoutedAlias>>;
  /** The first rule that matches a call applies. */
  readonly fallbacks: readonly FallbackRule[];
  readonly rules: CallRules;
  /** Rules for the calls of providers, by their names. */
  readonly providerRules: ReadonlyMap<string, CallRules>;
}

/** The next targets of failed calls within a scope. */
export interface FallbackRule extends CallScope, FallbackOptions {}

/** Default address of the data listener. The containers of a pod share it; nothing else can reach it. */
export const defaultListen = "127.0.0.1:6190";

/** Default address of the admin listener: the kubelet and Prometheus connect to the pod's address. */
export const defaultAdminListen = "0.0.0.0:6191";
