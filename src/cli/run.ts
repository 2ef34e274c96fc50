import { didYouMean } from "../config/suggest.ts";
import { exitCodes } from "./exit-codes.ts";
import { UsageError } from "./flags.ts";
import { type CommandName, commandNames, helpOf, mainHelp } from "./help.ts";
import { reportFailure } from "./report-failure.ts";
import { version } from "./version.ts";

type Command = (args: readonly string[]) => Promise<number>;

/** Each command is loaded when it is called: the simulator is no part of a sidecar at work. */
const COMMANDS: Readonly<Record<CommandName, () => Promise<Command>>> = {
  serve: async () => (await import("./serve.ts")).serve,
  demo: async () => (await import("./demo.ts")).demo,
  simulate: async () => (await import("./simulate.ts")).simulate,
  healthcheck: async () => (await import("./healthcheck.ts")).healthcheck,
};

/** Runs `outrigger`. Gives the exit code; never rejects. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args);
  } catch (error) {
    return reportFailure(error);
  }
}

async function dispatch([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined) {
    process.stderr.write(mainHelp);
    return exitCodes.usage;
  }
  if (name === "--version" || name === "-v") return print(`outrigger ${version}\n`);
  if (name === "--help" || name === "-h") return print(mainHelp);
  if (name === "help") return print(args[0] === undefined ? mainHelp : helpOf(commandNamed(args[0])));
  const command = commandNamed(name);
  if (args.includes("--help") || args.includes("-h")) return print(helpOf(command));
  const execute = await COMMANDS[command]();
  return execute(args);
}

function commandNamed(name: string): CommandName {
  const command = commandNames.find((known) => known === name);
  if (command !== undefined) return command;
  if (name.startsWith("-")) throw new UsageError(`expected a command before ${name}`);
  throw new UsageError(`unknown command "${name}"${didYouMean(name, commandNames)}`);
}

function print(text: string): number {
  process.stdout.write(text);
  return exitCodes.ok;
}
