import {
  type Simulator,
  type SimulatorLogLine,
  type SimulatorOptions,
  startSimulator,
} from "../../simulator/index.ts";
import { getSimulatorUrl, wireDefinitions } from "../client/providers.ts";
import { ConfigurationError } from "../core/errors.ts";
import { isAddressFailure } from "./describe-failure.ts";
import { exitCodes } from "./exit-codes.ts";
import { parseFlags, UsageError } from "./flags.ts";
import { stopSignal } from "./signals.ts";
import type { Terminal } from "./terminal.ts";

const FLAGS = {
  host: { type: "string", default: "127.0.0.1" },
  port: { type: "string", default: "6192" },
  defaults: { type: "string", default: "" },
  alias: { type: "string", multiple: true },
  quiet: { type: "boolean", default: false },
} as const;

/** `outrigger simulate`: runs the simulator until a signal stops it. */
export async function simulate(args: readonly string[], { stdout }: Terminal): Promise<number> {
  const { host, port, defaults, alias = [], quiet } = parseFlags(args, FLAGS);
  const simulator = await start({
    host,
    port: readPort(port),
    defaults,
    aliases: Object.fromEntries(alias.map(readAlias)),
    ...(quiet ? {} : { log: (line) => stdout.write(formatLine(line)) }),
  });
  // SIGHUP means that the terminal of the program was closed.
  const stopped = stopSignal(["SIGHUP"]);
  stdout.write(announce(simulator));
  await stopped;
  await simulator.close();
  return exitCodes.ok;
}

/** Returns the address of the simulator, and the variables that point Outrigger and the providers' SDKs to it. */
function announce({ url }: Simulator): string {
  const lines = wireDefinitions.flatMap((definition) => {
    const { baseUrl, key } = definition.environment;
    return baseUrl.map((variable) => `${variable}=${getSimulatorUrl(definition, url)} ${key[0]}=any\n`);
  });
  return `Simulated provider at ${url}\n${lines.join("")}`;
}

async function start(options: SimulatorOptions): Promise<Simulator> {
  try {
    return await startSimulator(options);
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--defaults: ${error.message}`);
    if (!isAddressFailure(error)) throw error;
    const { code = "" } = error as NodeJS.ErrnoException;
    const advice = code === "EADDRINUSE" ? "another process is listening there; " : "";
    throw new ConfigurationError(
      `cannot listen on ${options.host}:${options.port} (${code}): ${advice}choose another --port, or 0 for a free port`,
      { cause: error },
    );
  }
}

function readPort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--port: expected a number from 0 to 65535, found ${JSON.stringify(text)}`);
}

function readAlias(text: string): [name: string, model: string] {
  const [, name, model] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (name !== undefined && model !== undefined) return [name, model];
  throw new UsageError(`--alias: expected NAME=MODEL, found ${JSON.stringify(text)}`);
}

function formatLine({ method, path, model, status, outcome, events, durationMs }: SimulatorLogLine): string {
  return `${method} ${path} ${model || "-"} ${status} ${outcome} ${events} events ${Math.round(durationMs)} ms\n`;
}
