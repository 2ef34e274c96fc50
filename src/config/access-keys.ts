/** The access keys of a configuration, which may change while the sidecar runs. */
import { createHash } from "node:crypto";
import type { Environment } from "../client/from-env.ts";
import type { Log } from "../core/log.ts";
import type { AccessKey } from "./caller-grants.ts";
import type { ModelNames } from "./model-grants.ts";
import { toConfigurationError } from "./problems.ts";
import { getSystemCode, readSmallFile } from "./small-file.ts";
import { type Parsed, WatchedFile } from "./watched-file.ts";

/** The file with the access keys, as it was read at the start. */
export interface AccessKeysConfig {
  /** Absolute. */
  readonly path: string;
  /** Digest of the content that was read, to detect changes of the file. */
  readonly digest: string;
  readonly keys: readonly AccessKey[];
  readonly parse: (content: string) => Parsed<readonly AccessKey[]>;
  /** Largest file, in bytes. */
  readonly maxBytes: number;
}

/**
 * Reads the file.
 * @param where The setting that names it.
 * @throws ConfigurationError with all mistakes.
 */
export async function loadAccessKeys(
  path: string,
  where: string,
  environment: Environment,
  names: ModelNames,
): Promise<AccessKeysConfig> {
  const fail = (problems: readonly string[]) =>
    toConfigurationError(problems.map((problem) => `${where}: ${problem}`));
  const { MAX_ACCESS_KEYS_BYTES: maxBytes, readAccessKeys } = await import("./access-keys-file.ts");
  const read = (content: string) => readAccessKeys(content, { path, environment, ...names });
  let content: string | undefined;
  try {
    content = await readSmallFile(path, maxBytes);
  } catch (error) {
    throw fail([`cannot read the access keys in ${path} (${getSystemCode(error)})`]);
  }
  if (content === undefined) throw fail([`the file ${path} is over ${maxBytes} bytes`]);
  const reading = read(content);
  if ("problems" in reading) throw fail(reading.problems);
  const parse = (text: string) => {
    const again = read(text);
    return "keys" in again ? { value: again.keys } : { problem: toSummary(again.problems) };
  };
  return { path, digest: hashText(content), keys: reading.keys, parse, maxBytes };
}

function toSummary([first = "", ...others]: readonly string[]): string {
  if (others.length === 0) return first;
  return `${first}, and ${others.length === 1 ? "one more mistake" : `${others.length} more mistakes`}`;
}

/** The content itself is not kept, since it may hold keys. */
function hashText(content: string): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The current access keys. While the file is missing or invalid, the previous keys stay in use. */
export class AccessKeysFile {
  readonly #log: Log;
  #file: WatchedFile<Version>;

  constructor(config: AccessKeysConfig, log: Log) {
    this.#log = log;
    this.#file = this.#open(config);
  }

  /** Switches to the file as a new configuration read it: its entries may name that configuration's models. */
  use(config: AccessKeysConfig): void {
    this.#file = this.#open(config);
  }

  #open({ path, digest, keys, parse, maxBytes }: AccessKeysConfig): WatchedFile<Version> {
    const log = this.#log;
    return new WatchedFile<Version>({
      path,
      maxBytes,
      value: { digest, keys },
      parse(content) {
        const parsed = parse(content);
        return "problem" in parsed ? parsed : { value: { digest: hashText(content), keys: parsed.value } };
      },
      isSame: (before, now) => before.digest === now.digest,
      onChange: ({ keys: changed }) =>
        log.info({ path, names: changed.map(({ name }) => name) }, "using the changed access keys"),
      onProblem: (problem) =>
        log.warn({ path, problem }, "cannot use the changed access keys, keeping the previous ones"),
    });
  }

  /** The current keys. Returns the same list until the file changes. */
  current(): readonly AccessKey[] {
    return this.#file.current().keys;
  }

  /** Reads the file again, whether it has changed or not. */
  reload(): void {
    this.#file.reload();
  }
}

/** The value of the file, and a digest to compare its content with a later version. */
interface Version {
  readonly digest: string;
  readonly keys: readonly AccessKey[];
}
