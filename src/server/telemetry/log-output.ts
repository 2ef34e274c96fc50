/** The destination of the log. While it accepts nothing, lines are lost, but no call fails and no memory grows. */
import { fstatSync, writeSync, write as writeToFile } from "node:fs";
import { Socket } from "node:net";
import type { DestinationStream } from "pino";

/**
 * Maximum size of the lines that wait for a slow reader, in characters: a few thousand lines. Later ones are dropped.
 */
export const MAX_WAITING = 1024 * 1024;

/**
 * Creates an output with a buffer, since a write for each line would cost more than the line itself. Never blocks: if a
 * pipe is not read, the lines stay in the buffer. A write that fails, for instance on a full disk, loses its lines; the
 * next write is tried all the same. When the process exits, the remaining lines are written as far as possible without
 * waiting.
 */
export function createLogOutput(fd: number): LogOutput {
  const output = new LogOutput(fd, isPipe(fd) ? pipeWriter(fd) : fileWriter(fd));
  process.once("exit", () => output.writeRest());
  return output;
}

/** Writes bytes. Calls back once, with `true` if all bytes were written. */
export type Writer = (bytes: Buffer, done: (isWritten: boolean) => void) => void;

const BUFFER_SIZE = 16 * 1024;
const FLUSH_INTERVAL_MS = 100;
const FLUSH_TIMEOUT_MS = 1000;

/** Writes lines to a file descriptor. */
export class LogOutput implements DestinationStream {
  readonly #fd: number;
  readonly #write: Writer;
  #waiting = "";
  #waitingLines = 0;
  #isWriting = false;
  #timer: NodeJS.Timeout | undefined;
  #onEmpty: (() => void)[] = [];
  /** Lines that could not be written, or were not accepted because too many were waiting. */
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

  /** Writes the waiting lines. Calls back when they are written or dropped, at the latest after a second. */
  flush(done: () => void = () => {}): void {
    const timer = setTimeout(done, FLUSH_TIMEOUT_MS);
    this.#onEmpty.push(() => {
      clearTimeout(timer);
      done();
    });
    this.#writeWaiting();
  }

  /** Tries once to write the waiting lines, without waiting for a reader. Called when the process exits. */
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

/**
 * Creates a writer for a pipe. Node's sockets never block on a pipe; a write through the file system would hold a
 * thread until the pipe is read.
 */
function pipeWriter(fd: number): Writer {
  const socket = new Socket({ fd, readable: false, writable: true });
  // If the reader has closed the pipe, all later writes fail, each with its callback.
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
    // A truncated line must not swallow the next one.
    writeFrom(isMidLine ? Buffer.concat([Buffer.from("\n"), bytes]) : bytes, 0, done);
  };
}
