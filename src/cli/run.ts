import { didYouMean } from "../config/suggest.ts";
import { ConfigurationError } from "../core/errors.ts";
import { describeFailure } from "./describe-failure.ts";
import { exitCodes } from "./exit-codes.ts";
import { UsageError } from "./flags.ts";
import { type CommandName, commandNames, getHelp, mainHelp } from "./help.ts";
import type { Terminal } from "./terminal.ts";
import { nodeProblem, version } from "./version.ts";

type Command = (args: readonly string[], terminal: Terminal) => Promise<number>;

/** Each command is loaded when it runs: `serve` does not need the simulator. */
const COMMANDS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  demo: async () => (await import("./demo.ts")).demo,
  simulate: async () => (await import("./simulate.ts")).simulate,
  "copy-runs": async () => (await import("./copy-runs.ts")).copyRuns,
  "check-config": async () => (await import("./check-config.ts")).checkConfig,
  healthcheck: async () => (await import("./healthcheck.ts")).healthcheck,
};

/** Runs `outrigger`. Resolves with the exit code; never rejects. */
export async function run(args: readonly string[], terminal: Terminal = process): Promise<number> {
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    const { message, code } = describeFailure(error, terminal.env);
    terminal.stderr.write(`outrigger: ${message}\n`);
    return code;
  }
}

async function dispatch([name, ...args]: readonly string[], terminal: Terminal): Promise<number> {
  if (name === undefined) {
    terminal.stderr.write(mainHelp);
    return exitCodes.usage;
  }
  const text = getInfoText(name, args);
  if (text === undefined) {
    const problem = nodeProblem(process.versions.node);
    if (problem !== undefined) throw new ConfigurationError(problem);
    const execute = await COMMANDS[findCommand(name)]();
    return execute(args, terminal);
  }
  terminal.stdout.write(text);
  return exitCodes.ok;
}

/** Returns the help or the version if the arguments ask for it. Undefined if a command must run. */
function getInfoText(name: string, args: readonly string[]): string | undefined {
  if (name === "--version" || name === "-v") return `outrigger ${version}\n`;
  if (name === "--help" || name === "-h") return mainHelp;
  if (name === "help") return args[0] === undefined ? mainHelp : getHelp(findCommand(args[0]));
  return args.includes("--help") || args.includes("-h") ? getHelp(findCommand(name)) : undefined;
}

function findCommand(name: string): CommandName {
  const command = commandNames.find((known) => known === name);
  if (command !== undefined) return command;
  if (name.startsWith("-")) throw new UsageError(`expected a command before ${name}`);
  throw new UsageError(`unknown command "${name}"${didYouMean(name, commandNames)}`);
}
