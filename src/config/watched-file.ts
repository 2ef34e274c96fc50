/** Files whose content may change while the sidecar runs: mounted secrets are rotated. */
import { readFileSync, statSync } from "node:fs";
import { getSystemCode, tryStat } from "./small-file.ts";

/** The content of a file as a value, or the problem with the content. */
export type Parsed<Value> = { readonly value: Value } | { readonly problem: string };

/** Options of Watched. */
export interface WatchedOptions<Value> {
  readonly paths: readonly (string | undefined)[];
  /** The value that was read at the start. */
  readonly value: Value;
  readonly read: () => Parsed<Value>;
  /** Whether the new content means the same as the old one. */
  readonly isSame: (before: Value, now: Value) => boolean;
  /** Called with each new value. */
  readonly onChange: (value: Value) => void;
  /**
   * Called when the files cannot be read, so that the last value stays in use.
   * @param isNew Whether the reason differs from the last one.
   */
  readonly onProblem: (problem: string, isNew: boolean) => void;
}

/** A value that is read from files. While it cannot be read, the last value stays in use. */
export class Watched<Value> {
  readonly #options: WatchedOptions<Value>;
  #value: Value;
  /** None at first: the files may have changed since they were read. */
  #version: string | undefined;
  #problem = "";

  constructor(options: WatchedOptions<Value>) {
    this.#options = options;
    this.#value = options.value;
  }

  /** The value that was read last: the same object until the files change. */
  get value(): Value {
    return this.#value;
  }

  /** Reads the files again if they were replaced, or could not be used before. */
  check(): void {
    if (this.#problem !== "" || readVersion(this.#options.paths) !== this.#version) this.reload();
  }

  /** Reads the files again, whether they have changed or not. */
  reload(): void {
    const { paths, read, isSame, onChange, onProblem } = this.#options;
    // Before the content, so that the next check sees a change in between.
    this.#version = readVersion(paths);
    const found = read();
    if ("problem" in found) {
      const isNew = found.problem !== this.#problem;
      this.#problem = found.problem;
      onProblem(found.problem, isNew);
      return;
    }
    this.#problem = "";
    if (isSame(this.#value, found.value)) return;
    this.#value = found.value;
    onChange(found.value);
  }
}

/** Options of a WatchedFile. */
export interface WatchedFileOptions<Value>
  extends Omit<WatchedOptions<Value>, "paths" | "read" | "onProblem"> {
  readonly path: string;
  /** Largest file, in bytes. */
  readonly maxBytes: number;
  readonly parse: (content: string) => Parsed<Value>;
  /** Called once for each reason to keep the last value in use. */
  readonly onProblem: (problem: string) => void;
}

/** Interval of the checks of a file while calls use it, in milliseconds. */
const CHECK_INTERVAL_MS = 100;

/** A `Watched` value that comes from one file. */
export class WatchedFile<Value> extends Watched<Value> {
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(options: WatchedFileOptions<Value>) {
    super({
      ...options,
      paths: [options.path],
      read: () => readFile(options),
      onProblem: (problem, isNew) => isNew && options.onProblem(problem),
    });
  }

  /**
   * The current value. Checks the file's metadata at most ten times a second, and reads the file only if the metadata
   * changed.
   */
  current(): Value {
    const now = performance.now();
    if (now - this.#checkedAt < CHECK_INTERVAL_MS) return this.value;
    this.#checkedAt = now;
    this.check();
    return this.value;
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
 * Returns a text that changes whenever the content of a file may have changed, including when a symbolic link on its
 * path leads to another file.
 */
function readVersion(paths: readonly (string | undefined)[]): string {
  return paths
    .map((path) => {
      const stats = path === undefined ? path : tryStat(path);
      if (stats === undefined) return "";
      return `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
    })
    .join();
}
