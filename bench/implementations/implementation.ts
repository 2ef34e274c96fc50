import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../../src/cli/process-settings.ts";
import type { Protocol } from "../load/load.ts";
import { type Command, type Running, startListening } from "../processes.ts";
import { bundleAsShipped, bundleWhole } from "./bundle.ts";

/** The measured implementations that are part of this project. */
export const IMPLEMENTATION_NAMES = ["outrigger", "stock", "minimal"] as const;

/** Name of an implementation of this project. */
export type OwnName = (typeof IMPLEMENTATION_NAMES)[number];

/** Name of an implementation: of this project, or a third-party gateway, which serves the provider's API. */
export type ImplementationName = OwnName | "litellm" | "portkey";

/** A program that forwards calls to the upstream, built and ready to start. */
export interface Implementation {
  readonly name: ImplementationName;
  /** Path of the file that starts the program. */
  readonly bundle: string;
  /** Name and configuration of a third-party gateway, for the results. */
  readonly configuration?: string;
  /** How to start it on an address, with an upstream. */
  command(address: string, upstream: string): Command;
  /** Headers that its callers send, each as `name: value`. */
  headers(upstream: string): readonly string[];
}

/**
 * The implementations that speak a protocol, told by their environment which version of HTTP carries it: a listener of
 * Node speaks one of the two.
 */
export function thatSpeak(protocol: Protocol, implementations: readonly Implementation[]): Implementation[] {
  const httpVersion = protocol === "grpc" ? "2.0" : "1.1";
  return implementations
    .filter(({ name }) => PROTOCOLS[name].includes(protocol))
    .map((each) => withVariable(each, "BENCH_HTTP_VERSION", httpVersion));
}

function withVariable(implementation: Implementation, name: string, value: string): Implementation {
  return {
    ...implementation,
    command(address, upstream) {
      const command = implementation.command(address, upstream);
      return { ...command, env: { ...command.env, [name]: value } };
    },
  };
}

const PROTOCOLS: Readonly<Record<ImplementationName, readonly Protocol[]>> = {
  outrigger: ["grpc", "connect+json", "connect+proto", "sse"],
  stock: ["grpc", "connect+json", "connect+proto"],
  minimal: ["grpc"],
  litellm: ["direct"],
  portkey: ["direct"],
};

/** A running implementation. */
export interface RunningImplementation extends Running {
  readonly name: ImplementationName;
  /** Host and port of its server. */
  readonly address: string;
  /** Headers that its callers send. */
  readonly headers: readonly string[];
}

/** Builds an implementation as it would be released. */
export async function buildImplementation(name: OwnName): Promise<Implementation> {
  const entryPoint = ENTRY_POINTS[name];
  // The sidecar's bundler fails if it does not find the modules that it excludes.
  const bundle = name === "minimal" ? bundleWhole(name, entryPoint, true) : bundleAsShipped(name, entryPoint);
  return createImplementation(name, await bundle, NODE_OPTIONS);
}

/**
 * Builds an implementation for V8's profiler.
 * @param folder Folder for the profile, which is written when it ends.
 */
export async function buildForProfile(name: OwnName, folder: string): Promise<Implementation> {
  const profiling = [...NODE_OPTIONS, "--cpu-prof", `--cpu-prof-dir=${folder}`];
  const bundle = await bundleWhole(name, ENTRY_POINTS[name], false);
  return createImplementation(name, bundle, profiling);
}

/** Starts an implementation with an upstream, in a minimal environment: no proxy, no other provider. */
export async function startImplementation(
  { name, command, headers }: Implementation,
  upstream: string,
): Promise<RunningImplementation> {
  const running = await startListening((address) => command(address, upstream));
  return { ...running, name, headers: headers(upstream) };
}

/** The first module of each implementation, from the project's folder. */
export const ENTRY_POINTS: Readonly<Record<OwnName, string>> = {
  outrigger: "src/cli/main.ts",
  stock: "bench/implementations/stock.ts",
  minimal: "bench/implementations/minimal.ts",
};

/** Describes how an implementation starts. @param bundle Path of its bundle, or of its first module. */
export function createImplementation(
  name: OwnName,
  bundle: string,
  nodeOptions: readonly string[],
): Implementation {
  const subcommand = name === "outrigger" ? ["serve"] : [];
  return {
    name,
    bundle,
    command: (address, upstream) => ({
      file: process.execPath,
      args: [...nodeOptions, bundle, ...subcommand],
      env: {
        ...ALLOCATOR_VARIABLES,
        OPENAI_API_KEY: "none",
        OPENAI_BASE_URL: `http://${upstream}/v1`,
        OUTRIGGER_LISTEN: address,
        OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
      },
    }),
    headers: () => [],
  };
}
