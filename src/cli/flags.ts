import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { didYouMean } from "../config/suggest.ts";

/** The command line is invalid. The message is shown to the user. */
export class UsageError extends Error {}

/** The values of flags, by name. */
type Flags<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; args: string[] }>
>["values"];

/**
 * Reads the flags of a command, which takes no other arguments.
 * @throws UsageError that names the wrong argument.
 */
export function parseFlags<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  options: Options,
): Flags<Options> {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(describe(error, Object.keys(options)));
  }
}

/** Returns Node's message without its advice on positional arguments, which no command takes. */
function describe(error: unknown, flags: readonly string[]): string {
  const message = error instanceof Error ? error.message : String(error);
  const unknown = /^Unknown option '(-+)([^']*)'/.exec(message);
  if (unknown === null)
    return message.split("\n")[0]?.replace(/\. (To specify|This command).*$/, "") ?? message;
  const [, dashes = "", name = ""] = unknown;
  const known = flags.map((flag) => `--${flag}`);
  return `unknown option ${dashes}${name}${didYouMean(`--${name}`, known)}`;
}
