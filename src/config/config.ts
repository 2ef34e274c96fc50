import type { ProviderSettings } from "../client/providers.ts";
import type { Settings } from "./schema.ts";

/** Everything that a sidecar is told, from flags, variables, a file and the defaults, in this order. */
export interface Config {
  /** Addresses of the door. At least one. */
  readonly listen: readonly string[];
  /** Address of health and metrics. Undefined: there is no admin listener. */
  readonly adminListen: string | undefined;
  readonly logLevel: NonNullable<Settings["log_level"]>;
  /** Longest wait for calls in flight when the sidecar stops. Undefined: the server's default. */
  readonly drainTimeoutMs: number | undefined;
  /** Changes to the server's limits. */
  readonly limits: NonNullable<Settings["limits"]>;
  /** Undefined: the server's default. */
  readonly reflection: boolean | undefined;
  /** Undefined: no browser may call. */
  readonly cors: Settings["cors"];
  /** The providers by name, in the order of registration; those of the variables first. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;
  /** Undefined: the first provider. */
  readonly defaultProvider: string | undefined;
  /** What to do where there is no provider. */
  readonly remedy: string;
  /** What is set and has no effect, for the log. */
  readonly notices: readonly string[];
}

/** Where the door is unless something else is said. Containers of a pod share this address, and nobody else reaches it. */
export const defaultListen = "127.0.0.1:6190";

/** Where health and metrics are unless something else is said: the kubelet and Prometheus come to the pod's address. */
export const defaultAdminListen = "0.0.0.0:6191";
