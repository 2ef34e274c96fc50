/** Files whose content may change while the sidecar runs: mounted secrets are rotated. */
import { readFileSync, statSync } from "node:fs";
import { getSystemCode } from "./small-file.ts";

/** The content of a file as a value, or what is wrong with it. */
export type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

/** What a file is watched with. */
export interface WatchedFileOptions<Value> {
  readonly path: string;
  /** Largest file, in bytes. */
  readonly maxBytes: number;
  /** What was read at the start. */
  readonly value: Value;
  readonly parse: (content: string) => Parsed<Value>;
  /** Whether the file still says the same. */
  readonly isSame: (before: Value, now: Value) => boolean;
  /** Called with each new value. */
  readonly onChange: (value: Value) => void;
  /** Called once for each reason why the last value stays in use. */
  readonly onProblem: (problem: string) => void;
}

/** How often a file is looked at while calls use it, in milliseconds. */
const CHECK_INTERVAL_MS = 100;

/** The value of a file. A file that is missing, wrong or unreadable for a moment leaves the last value in use. */
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

  /** The value of now. Looks at the file's metadata at most ten times a second, and reads it only where they changed. */
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
    // Before the content: a change in between is then seen by the next check.
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

/** Changes whenever the content may have: also where a symbolic link on the way leads to another file. */
function readVersion(path: string): string {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined
    ? ""
    : `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
}
