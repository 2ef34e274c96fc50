import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { type Command, type Running, run, start } from "../processes.ts";
import { PROJECT_FOLDER, RUN_FOLDER } from "../work-folder.ts";
import { bundleProgram, nodeOptionsOfImage } from "./bundle.ts";

/** Who is measured. */
export const CONTESTANT_NAMES = ["outrigger", "stock", "limit"] as const;

/** Name of a contestant. */
export type ContestantName = (typeof CONTESTANT_NAMES)[number];

/** A program that carries calls to the upstream, built and ready to be started. */
export interface Contestant {
  readonly name: ContestantName;
  readonly file: string;
  readonly args: readonly string[];
}

/** A contestant that runs. */
export interface RunningContestant extends Running {
  readonly name: ContestantName;
  /** Host and port where it takes calls of gRPC. */
  readonly address: string;
}

/** How a contestant is built. */
export interface ContestantOptions {
  /** Options of Node beside those of the image. */
  readonly nodeOptions?: readonly string[];
  /** Whether functions keep their names. What ships is minified. */
  readonly readable?: boolean;
}

/** Builds a contestant. Outrigger is built as it ships, by scripts/build.ts. */
export async function buildContestant(
  name: ContestantName,
  { nodeOptions = [], readable = false }: ContestantOptions = {},
): Promise<Contestant> {
  const options = [...(await nodeOptionsOfImage()), ...nodeOptions];
  const file = await bundleOf(name, readable);
  return {
    name,
    file: process.execPath,
    args: [...options, file, ...(name === "outrigger" ? ["serve"] : [])],
  };
}

async function bundleOf(name: ContestantName, readable: boolean): Promise<string> {
  if (name !== "outrigger") return bundleProgram(name, `bench/contestants/${name}.ts`, !readable);
  if (readable) return bundleProgram(name, "src/cli/main.ts", false);
  await run({ file: process.execPath, args: ["scripts/build.ts"] });
  const copy = join(RUN_FOLDER, "outrigger.cjs");
  await copyFile(join(PROJECT_FOLDER, "dist/outrigger.cjs"), copy);
  return copy;
}

/** Starts a contestant in front of an upstream, with an environment of its own: no proxy, no other provider. */
export async function startContestant(contestant: Contestant, upstream: string): Promise<RunningContestant> {
  const command: Command = { ...contestant, env: environmentFor(upstream) };
  const running = await start(command, /"addresses":\["127\.0\.0\.1:(\d+)"\].*"msg":"listening"/);
  return { ...running, name: contestant.name, address: `127.0.0.1:${running.greeting[1]}` };
}

function environmentFor(upstream: string): Record<string, string> {
  return {
    OPENAI_API_KEY: "none",
    OPENAI_BASE_URL: `http://${upstream}/v1`,
    OUTRIGGER_LISTEN: "127.0.0.1:0",
    OUTRIGGER_ADMIN_LISTEN: "127.0.0.1:0",
  };
}
