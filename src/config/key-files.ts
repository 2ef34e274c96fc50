/** Keys that are in files of their own. They may change while the sidecar runs: mounted secrets are rotated. */
import { readFileSync, statSync } from "node:fs";
import { systemCodeOf } from "./small-file.ts";

/** Largest file with a key, in bytes. Tokens of cloud providers have a few thousand. */
export const MAX_KEY_BYTES = 64 * 1024;

/** Where changes of key files are noted. A logger is one. */
export interface KeyFileLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** The files of all providers that have one. */
export class KeyFiles {
  readonly #files: ReadonlyMap<string, KeyFile>;

  /**
   * @param paths Absolute paths by the names of providers.
   * @param keys The keys that were read at the start, by the same names.
   */
  constructor(paths: ReadonlyMap<string, string>, keys: ReadonlyMap<string, string>, log: KeyFileLog) {
    this.#files = new Map(
      [...paths].map(([name, path]) => [name, new KeyFile(name, path, keys.get(name) ?? "", log)]),
    );
  }

  /** The file of a provider; undefined where it has none. */
  of(provider: string): KeyFile | undefined {
    return this.#files.get(provider);
  }

  /** Reads all files again. Gives the names of their providers. */
  reload(): string[] {
    for (const file of this.#files.values()) file.reload();
    return [...this.#files.keys()];
  }
}

/** How often a file is looked at while calls use it, in milliseconds. */
const CHECK_INTERVAL_MS = 100;

/** The key in a file. A file that is missing, empty or unreadable for a moment leaves the last key in use. */
export class KeyFile {
  readonly #provider: string;
  readonly #path: string;
  readonly #log: KeyFileLog;
  #key: string;
  #version: string | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #problem = "";

  /** @param key The key that was read at the start. */
  constructor(provider: string, path: string, key: string, log: KeyFileLog) {
    this.#provider = provider;
    this.#path = path;
    this.#key = key;
    this.#log = log;
  }

  /** The key of now. Looks at the file's metadata at most ten times a second, and reads it only where they changed. */
  current(): string {
    const now = performance.now();
    if (now - this.#checkedAt < CHECK_INTERVAL_MS) return this.#key;
    this.#checkedAt = now;
    if (this.#version === undefined || versionOf(this.#path) !== this.#version) this.reload();
    return this.#key;
  }

  /** Reads the file again, whether it has changed or not. */
  reload(): void {
    // Before the content: a change in between is then seen by the next check.
    const version = versionOf(this.#path);
    const read = readKey(this.#path);
    if ("problem" in read) {
      this.#keepKey(read.problem);
      return;
    }
    this.#version = version;
    this.#problem = "";
    if (read.key === this.#key) return;
    this.#key = read.key;
    this.#log.info({ provider: this.#provider, path: this.#path }, "using the new key of the key file");
  }

  #keepKey(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#log.warn({ provider: this.#provider, problem }, "cannot use the key file, keeping the last key");
  }
}

/** The key of a file's content, without the line break that editors put at its end. */
export function parseKey(content: string, path: string): { key: string } | { problem: string } {
  const key = content.replace(/[\r\n]+$/, "");
  if (/^[!-~]+$/.test(key)) return { key };
  const found = key === "" ? "nothing" : "spaces, line breaks or other characters that a key does not have";
  return { problem: `expected one key in ${path}, found ${found}` };
}

function readKey(path: string): { key: string } | { problem: string } {
  try {
    const stats = statSync(path);
    // Reading a pipe would block the process.
    if (!stats.isFile()) return { problem: `${path} is not a file` };
    if (stats.size > MAX_KEY_BYTES) return { problem: `${path} is over ${MAX_KEY_BYTES} bytes` };
    return parseKey(readFileSync(path, "utf8"), path);
  } catch (error) {
    return { problem: `cannot read ${path} (${systemCodeOf(error)})` };
  }
}

/** Changes whenever the content may have: also where a symbolic link on the way leads to another file. */
function versionOf(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined
    ? ""
    : `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
}
