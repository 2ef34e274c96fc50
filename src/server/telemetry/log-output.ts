/** Where the lines of the log go. A log that takes nothing more costs lines, never a call or the memory of the process. */
import { fstatSync, writeSync, write as writeToFile } from "node:fs";
import { Socket } from "node:net";
import type { DestinationStream } from "pino";

/** Writes lines to a file descriptor. */
export interface LogOutput extends DestinationStream {
  /** Lines that could not be written, or were not accepted because too many were waiting. */
  readonly droppedLines: number;
  /** Writes the lines that wait. Calls back when they are written or dropped, at the latest after a second. */
  flush(done?: () => void): void;
}

/** Lines that wait for a slow reader, in characters: a few thousand lines. Later ones are dropped. */
export const MAX_WAITING = 1024 * 1024;

/**
 * An output with a buffer, since a write for each call would cost more than the rest of its line. Never blocks: a pipe
 * without an active reader leaves the lines in the buffer. A write that fails, for instance on a full disk, loses its lines;
 * the next one is tried all the same. What is left is written when the process exits, as far as it can be at once.
 */
export function createLogOutput(fd: number): LogOutput {
  const output = new BufferedOutput(fd, isPipe(fd) ? pipeWriter(fd) : fileWriter(fd));
  process.once("exit", () => output.writeRest());
  return output;
}

/** Writes bytes. Calls back once, with whether all of them are written. */
type Writer = (bytes: Buffer, done: (isWritten: boolean) => void) => void;

const BUFFER_SIZE = 16 * 1024;
const FLUSH_INTERVAL_MS = 100;
const FLUSH_TIMEOUT_MS = 1000;

class BufferedOutput implements LogOutput {
  readonly #fd: number;
  readonly #write: Writer;
  #waiting = "";
  #waitingLines = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  #onEmpty: (() => void)[] = [];
  droppedLines = 0;

  constructor(fd: number, write: Writer) {
    this.#fd = fd;
    this.#write = write;
  }

  write(line: string): void {
    if (this.#waiting.length + line.length > MAX_WAITING) {
      this.droppedLines += 1;
      return;
    }
    this.#waiting += line;
    this.#waitingLines += 1;
    if (this.#waiting.length >= BUFFER_SIZE) this.#writeWaiting();
    else this.#timer ??= setTimeout(() => this.#writeWaiting(), FLUSH_INTERVAL_MS).unref();
  }

  flush(done: () => void = () => {}): void {
    const timer = setTimeout(done, FLUSH_TIMEOUT_MS);
    this.#onEmpty.push(() => {
      clearTimeout(timer);
      done();
    });
    this.#writeWaiting();
  }

  /** For the exit of the process: one attempt, which does not wait. */
  writeRest(): void {
    try {
      if (this.#waiting !== "") writeSync(this.#fd, this.#waiting);
    } catch {
      // A full disk, or a pipe without a reader: these lines are lost.
    }
  }

  #writeWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isWriting) return;
    if (this.#waiting === "") {
      for (const done of this.#onEmpty.splice(0)) done();
      return;
    }
    const bytes = Buffer.from(this.#waiting);
    const lines = this.#waitingLines;
    this.#waiting = "";
    this.#waitingLines = 0;
    this.#isWriting = true;
    this.#write(bytes, (isWritten) => {
      this.#isWriting = false;
      if (!isWritten) this.droppedLines += lines;
      if (this.#waiting.length >= BUFFER_SIZE || this.#onEmpty.length > 0) this.#writeWaiting();
      else if (this.#waiting !== "") {
        this.#timer ??= setTimeout(() => this.#writeWaiting(), FLUSH_INTERVAL_MS).unref();
      }
    });
  }
}

function isPipe(fd: number): boolean {
  const stats = fstatSync(fd);
  return stats.isFIFO() || stats.isSocket();
}

/** A socket of Node never blocks on a pipe, where a write by the file system would hold a thread until it is read. */
function pipeWriter(fd: number): Writer {
  const socket = new Socket({ fd, readable: false, writable: true });
  // A reader that has left: all writes fail from then on, each with its callback.
  socket.on("error", () => {});
  return (bytes, done) => void socket.write(bytes, (error) => done(error === null || error === undefined));
}

function fileWriter(fd: number): Writer {
  let isMidLine = false;
  const writeFrom = (bytes: Buffer, start: number, done: (isWritten: boolean) => void): void => {
    writeToFile(fd, bytes, start, (error, written) => {
      if (error === null && start + written < bytes.length) return writeFrom(bytes, start + written, done);
      isMidLine = error !== null && start > 0;
      done(error === null);
    });
  };
  return (bytes, done) => {
    // The rest of a line that was cut off must not swallow the next one.
    writeFrom(isMidLine ? Buffer.concat([Buffer.from("\n"), bytes]) : bytes, 0, done);
  };
}
