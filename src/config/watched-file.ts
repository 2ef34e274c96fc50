/** Files whose content may change while the sidecar runs: mounted secrets are rotated. */
import { readFileSync, statSync } from "node:fs";
import { getSystemCode } from "./small-file.ts";

/** The content of a file as a value, or the problem with the content. */
export type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

/** Options of a WatchedFile. */
export interface WatchedFileOptions<Value> {
  readonly path: string;
  /** Largest file, in bytes. */
  readonly maxBytes: number;
  /** The value that was read at the start. */
  readonly value: Value;
  readonly parse: (content: string) => Parsed<Value>;
  /** Whether the content of the file still has the same meaning. */
  readonly isSame: (before: Value, now: Value) => boolean;
  /** Called with each new value. */
  readonly onChange: (value: Value) => void;
  /** Called once for each reason to keep the last value in use. */
  readonly onProblem: (problem: string) => void;
}

/** Interval of the checks of a file while calls use it, in milliseconds. */
const CHECK_INTERVAL_MS = 100;

/** The value of a file. If the file is missing, invalid or unreadable for a moment, the last value stays in use. */
export class WatchedFile<Value> {
  readonly #options: WatchedFileOptions<Value>;
  #value: Value;
  #version: string | undefined;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #problem = "";

  constructor(options: WatchedFileOptions<Value>) {
    this.#options = options;
    this.#value = options.value;
  }

  /**
   * The current value. Checks the file's metadata at most ten times a second, and reads the file only if the metadata
   * changed.
   */
  current(): Value {
    const now = performance.now();
    if (now - this.#checkedAt < CHECK_INTERVAL_MS) return this.#value;
    this.#checkedAt = now;
    if (this.#version === undefined || readVersion(this.#options.path) !== this.#version) this.reload();
    return this.#value;
  }

  /** Reads the file again, whether it has changed or not. */
  reload(): void {
    const { path, isSame, onChange } = this.#options;
    // Before the content, so that the next check sees a change in between.
    const version = readVersion(path);
    const read = readFile(this.#options);
    if ("problem" in read) {
      this.#keepValue(read.problem);
      return;
    }
    this.#version = version;
    this.#problem = "";
    if (isSame(this.#value, read.value)) return;
    this.#value = read.value;
    onChange(read.value);
  }

  #keepValue(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    this.#options.onProblem(problem);
  }
}

function readFile<Value>({ path, maxBytes, parse }: WatchedFileOptions<Value>): Parsed<Value> {
  try {
    const stats = statSync(path);
    // Reading a pipe would block the process.
    if (!stats.isFile()) return { problem: `${path} is not a file` };
    if (stats.size > maxBytes) return { problem: `${path} is over ${maxBytes} bytes` };
    return parse(readFileSync(path, "utf8"));
  } catch (error) {
    return { problem: `cannot read ${path} (${getSystemCode(error)})` };
  }
}

/**
 * Returns a value that changes whenever the content may have changed, including when a symbolic link on the path leads
 * to another file.
 */
function readVersion(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined
    ? ""
    : `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
}
