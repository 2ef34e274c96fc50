import { ALLOCATOR_VARIABLES, NODE_OPTIONS } from "../../src/cli/process-settings.ts";
import type { Protocol } from "../load/load.ts";
import { type Running, startListening } from "../processes.ts";
import { bundleAsShipped, bundleWhole } from "./bundle.ts";

/** The measured implementations. */
export const IMPLEMENTATION_NAMES = ["outrigger", "stock", "minimal"] as const;

/** Name of an implementation. */
export type ImplementationName = (typeof IMPLEMENTATION_NAMES)[number];

/** A program that forwards calls to the upstream, built and ready to start. */
export interface Implementation {
  readonly name: ImplementationName;
  /** Path of the file that starts the program. */
  readonly bundle: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * The implementations that speak a protocol, told by their environment which version of HTTP carries it: a listener of
 * Node speaks one of the two.
 */
export function thatSpeak(protocol: Protocol, implementations: readonly Implementation[]): Implementation[] {
  const httpVersion = protocol === "grpc" ? "2.0" : "1.1";
  return implementations
    .filter(({ name }) => PROTOCOLS[name].includes(protocol))
    .map((each) => ({ ...each, environment: { ...each.environment, BENCH_HTTP_VERSION: httpVersion } }));
}

const PROTOCOLS: Readonly<Record<ImplementationName, readonly Protocol[]>> = {
  outrigger: ["grpc", "connect+json", "connect+proto", "sse"],
  stock: ["grpc", "connect+json", "connect+proto"],
  minimal: ["grpc"],
};

/** A running implementation. */
export interface RunningImplementation extends Running {
  readonly name: ImplementationName;
  /** Host and port of its gRPC server. */
  readonly address: string;
}

/** Builds an implementation as it would be released. */
export async function buildImplementation(name: ImplementationName): Promise<Implementation> {
  const entryPoint = ENTRY_POINTS[name];
  // The sidecar's bundler fails where it does not find the modules that it excludes.
  const bundle = name === "minimal" ? bundleWhole(name, entryPoint, true) : bundleAsShipped(name, entryPoint);
  return implementationOf(name, await bundle, NODE_OPTIONS);
}

/**
 * Builds an implementation for V8's profiler.
 * @param folder Folder for the profile, which is written when it ends.
 */
export async function buildForProfile(name: ImplementationName, folder: string): Promise<Implementation> {
  const profiling = [...NODE_OPTIONS, "--cpu-prof", `--cpu-prof-dir=${folder}`];
  const bundle = await bundleWhole(name, ENTRY_POINTS[name], false);
  return implementationOf(name, bundle, profiling);
}

/** Starts an implementation with an upstream, in a minimal environment: no proxy, no other provider. */
export async function startImplementation(
  { name, args, environment }: Implementation,
  upstream: string,
): Promise<RunningImplementation> {
  const running = await startListening((address) => ({
    file: process.execPath,
    args,
    env: {
      ...environment,
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `http://${upstream}/v1`,
      OUTRIGGER_LISTEN: address,
      OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
    },
  }));
  return { ...running, name };
}

const ENTRY_POINTS: Readonly<Record<ImplementationName, string>> = {
  outrigger: "src/cli/main.ts",
  stock: "bench/implementations/stock.ts",
  minimal: "bench/implementations/minimal.ts",
};

function implementationOf(
  name: ImplementationName,
  bundle: string,
  nodeOptions: readonly string[],
): Implementation {
  const command = name === "outrigger" ? ["serve"] : [];
  return { name, bundle, args: [...nodeOptions, bundle, ...command], environment: ALLOCATOR_VARIABLES };
}
