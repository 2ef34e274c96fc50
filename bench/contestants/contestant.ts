import { type Running, startListening } from "../processes.ts";
import { bundleAsShipped, bundleWhole } from "./bundle.ts";
import { type ImageSettings, readImageSettings } from "./image.ts";

/** Who is measured. */
export const CONTESTANT_NAMES = ["outrigger", "stock", "limit"] as const;

/** Name of a contestant. */
export type ContestantName = (typeof CONTESTANT_NAMES)[number];

/** A program that carries calls to the upstream, built and ready to be started. */
export interface Contestant {
  readonly name: ContestantName;
  /** Path of the file that starts the program. */
  readonly bundle: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** A contestant that runs. */
export interface RunningContestant extends Running {
  readonly name: ContestantName;
  /** Host and port where it takes calls of gRPC. */
  readonly address: string;
}

/** Builds a contestant as it would ship. */
export async function buildContestant(name: ContestantName): Promise<Contestant> {
  const entryPoint = ENTRY_POINTS[name];
  // The sidecar's bundler insists on finding what it leaves out of the sidecar.
  const bundle = name === "limit" ? bundleWhole(name, entryPoint, true) : bundleAsShipped(name, entryPoint);
  return contestantOf(name, await bundle, await readImageSettings());
}

/**
 * Builds a contestant for V8's profiler.
 * @param folder Where the profile is left when it ends.
 */
export async function buildForProfile(name: ContestantName, folder: string): Promise<Contestant> {
  const { nodeOptions, environment } = await readImageSettings();
  const profiling = [...nodeOptions, "--cpu-prof", `--cpu-prof-dir=${folder}`];
  const bundle = await bundleWhole(name, ENTRY_POINTS[name], false);
  return contestantOf(name, bundle, { nodeOptions: profiling, environment });
}

/** Starts a contestant in front of an upstream, with an environment of its own: no proxy, no other provider. */
export async function startContestant(
  { name, args, environment }: Contestant,
  upstream: string,
): Promise<RunningContestant> {
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

const ENTRY_POINTS: Readonly<Record<ContestantName, string>> = {
  outrigger: "src/cli/main.ts",
  stock: "bench/contestants/stock.ts",
  limit: "bench/contestants/limit.ts",
};

function contestantOf(
  name: ContestantName,
  bundle: string,
  { nodeOptions, environment }: ImageSettings,
): Contestant {
  const command = name === "outrigger" ? ["serve"] : [];
  return { name, bundle, args: [...nodeOptions, bundle, ...command], environment };
}
