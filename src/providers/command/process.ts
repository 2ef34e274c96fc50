/** A program that answers one request: started without a shell, limited in time, and stopped with all its processes. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { ConfigurationError, RequestTimeoutError, type SDKError, StreamError } from "../../core/errors.ts";
import { toAbortError } from "../../kit/http/abort.ts";
import type { ProgramArgument } from "./files.ts";

/** The program to start, with its arguments, input and limits. */
export interface ProgramCall {
  /** Absolute path of the program. */
  readonly program: string;
  /** Files among the arguments are written to a temporary folder, which is removed afterwards. */
  readonly args: readonly ProgramArgument[];
  /** The program's whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Working directory. Undefined: an empty folder, which is removed afterwards and is the program's HOME unless it has
   * one.
   */
  readonly folder: string | undefined;
  /** Written to the program's standard input. */
  readonly input: string;
  /** Longest run, in milliseconds; 0 for no limit. */
  readonly requestMs: number;
  /** Longest time between two pieces of output, in milliseconds; 0 for no limit. */
  readonly betweenBytesMs: number;
  readonly signal: AbortSignal | undefined;
  /** Name of the provider, for errors. */
  readonly provider: string;
}

/** How a program ended. */
export interface ProgramExit {
  /** Undefined if a signal ended it. */
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** The end of the program's standard error. */
  readonly stderr: string;
}

/** How long a program may take to exit after SIGTERM before it gets SIGKILL, in milliseconds. */
const TERMINATION_MS = 2_000;

/** How long a program may continue after it has closed its output or given its whole answer, in milliseconds. */
const EXIT_MS = 5_000;

/** How long other processes may hold its output open without writing once it has exited, in milliseconds. */
const HELD_MS = 1_000;

/** How long to wait for the end of standard error once the program has exited, in milliseconds. */
const STDERR_MS = 200;

/** Maximum bytes of standard error that are kept. */
const MAX_STDERR_BYTES = 8 * 1024;

/** Writes the files among arguments. Returns the arguments with their paths. */
async function writeFiles(args: readonly ProgramArgument[], folder: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const argument of args) {
    if (typeof argument === "string") {
      texts.push(argument);
      continue;
    }
    const path = join(folder, argument.name);
    await writeFile(path, argument.content, { mode: 0o600 });
    texts.push(path);
  }
  return texts;
}

/** A running program. Its output is read once, by one reader; ending the iteration early stops the program. */
export class ProgramRun implements AsyncIterableIterator<Uint8Array> {
  readonly #call: ProgramCall;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #reader: AsyncIterator<Buffer>;
  readonly #exited = Promise.withResolvers<ProgramExit>();
  readonly #toError: (exit: ProgramExit) => SDKError;
  readonly #timer: NodeJS.Timeout | undefined;
  #stderr = Buffer.alloc(0);
  #exit: ProgramExit | undefined;
  #failure: SDKError | undefined;
  #silence: NodeJS.Timeout | undefined;
  #killer: NodeJS.Timeout | undefined;
  /** Resolves when the temporary folder has been removed. */
  #removed: Promise<void> | undefined;
  #isReading = false;
  #isReleased = false;

  /**
   * Starts a program.
   * @param toError Returns the error of a program that did not end with status 0.
   */
  static async start(call: ProgramCall, toError: (exit: ProgramExit) => SDKError): Promise<ProgramRun> {
    const { signal, args } = call;
    if (signal?.aborted) throw toAbortError(signal);
    const folders: string[] = [];
    const makeFolder = async () => {
      const folder = await mkdtemp(join(tmpdir(), "outrigger-command-"));
      folders.push(folder);
      return folder;
    };
    const remove = async () => {
      for (const folder of folders) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    };
    try {
      const folder = call.folder ?? (await makeFolder());
      const texts = args.every((argument) => typeof argument === "string")
        ? args
        : await writeFiles(args, await makeFolder());
      if (signal?.aborted) throw toAbortError(signal);
      const run = new ProgramRun(call, texts, folder, toError);
      if (folders.length > 0) run.#removed = run.exited.then(remove);
      return run;
    } catch (error) {
      await remove();
      throw error;
    }
  }

  private constructor(
    call: ProgramCall,
    args: readonly string[],
    folder: string,
    toError: (exit: ProgramExit) => SDKError,
  ) {
    this.#call = call;
    this.#toError = toError;
    const { program, environment, input, requestMs, signal } = call;
    this.#child = spawn(program, args, {
      cwd: folder,
      env: { HOME: folder, ...environment },
      stdio: ["pipe", "pipe", "pipe"],
      // A separate process group, so that everything that the program starts is stopped with it.
      detached: true,
      shell: false,
    });
    const { stdin, stdout, stderr } = this.#child;
    this.#child.on("error", (error) => this.#onStartFailure(error));
    this.#child.on("exit", (code, reason) => this.#onExit(code ?? undefined, reason ?? undefined));
    stderr.on("data", (chunk: Buffer) => this.#keepStderr(chunk)).on("error", ignore);
    // A program need not read its input.
    stdin.on("error", ignore).end(input);
    this.#reader = stdout[Symbol.asyncIterator]();
    if (requestMs > 0) this.#timer = setTimeout(() => this.#fail(this.#tookTooLong()), requestMs);
    signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Resolves when the program has ended. Never rejects. */
  get exited(): Promise<ProgramExit> {
    return this.#exited.promise;
  }

  /** Resolves when the program has exited, its processes have ended and its folder is removed. Never rejects. */
  async gone(): Promise<void> {
    await this.#exited.promise;
    await this.#removed;
  }

  /**
   * Returns the next bytes of output. The output ends when the program has ended with status 0.
   * @throws SDKError if the program ended otherwise, after all of its output; if a limit or the signal ended it, at
   *   once.
   */
  async next(): Promise<IteratorResult<Uint8Array>> {
    const read = await this.#read();
    if (this.#failure !== undefined) throw this.#failure;
    if (read.done !== true) return read;
    const exit = await this.#awaitExit();
    if (this.#failure !== undefined) throw this.#failure;
    if (exit.code !== 0) throw this.#toError(exit);
    return { done: true, value: undefined };
  }

  /** Stops the program when the reader needs no more. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#stopWatching();
    if (!this.#isReleased) this.#terminate();
    this.#child.stdout.destroy();
    return { done: true, value: undefined };
  }

  /** Gives the program EXIT_MS to exit: its answer is complete. */
  release(): void {
    this.#isReleased = true;
    if (this.#exit === undefined) this.#killer ??= setTimeout(() => this.#terminate(), EXIT_MS);
  }

  /** Stops the program; its reader gets the error. */
  stop(error: SDKError): void {
    this.#fail(error);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #read(): Promise<IteratorResult<Buffer>> {
    this.#isReading = true;
    this.#watchSilence();
    try {
      return await this.#reader.next();
    } catch {
      // The output was closed here, for a failure or because other processes hold it open.
      return { done: true, value: undefined };
    } finally {
      this.#isReading = false;
      clearTimeout(this.#silence);
    }
  }

  /** Time counts only while the reader waits, so that a slow reader does not fail the program. */
  #watchSilence(): void {
    clearTimeout(this.#silence);
    const { betweenBytesMs } = this.#call;
    if (this.#exit !== undefined) this.#silence = setTimeout(() => this.#child.stdout.destroy(), HELD_MS);
    else if (betweenBytesMs > 0)
      this.#silence = setTimeout(() => this.#fail(this.#wasSilent()), betweenBytesMs);
  }

  async #awaitExit(): Promise<ProgramExit> {
    const timer = setTimeout(() => this.#fail(this.#runsOn()), EXIT_MS);
    try {
      return await this.#exited.promise;
    } finally {
      clearTimeout(timer);
      this.#stopWatching();
    }
  }

  #onExit(code: number | undefined, signal: string | undefined): void {
    clearTimeout(this.#killer);
    const { stderr } = this.#child;
    let isOver = false;
    const finish = () => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      this.#exit = { code, signal, stderr: this.#stderr.toString("utf8") };
      this.#exited.resolve(this.#exit);
      if (this.#isReading) this.#watchSilence();
      this.#killRest();
    };
    // The program's last output may still be in the pipe, which other processes may hold open.
    const timer = setTimeout(finish, STDERR_MS);
    if (stderr.closed) finish();
    else stderr.once("close", finish);
  }

  /** Kills processes that the program left running, after HELD_MS if they may still write to its output. */
  #killRest(): void {
    if (this.#child.stdout.readableEnded || this.#child.stdout.destroyed) this.#kill("SIGKILL");
    else this.#killer = setTimeout(() => this.#kill("SIGKILL"), HELD_MS).unref();
  }

  #onStartFailure(error: Error): void {
    const code = "code" in error ? ` (${String(error.code)})` : "";
    this.#fail(
      new ConfigurationError(`the program of provider ${this.#call.provider} cannot be started${code}`),
    );
    this.#onExit(undefined, undefined);
  }

  readonly #onAbort = (): void => {
    const { signal } = this.#call;
    if (signal !== undefined) this.#fail(toAbortError(signal));
  };

  #fail(error: SDKError): void {
    this.#failure ??= error;
    this.#stopWatching();
    this.#terminate();
    this.#child.stdout.destroy();
  }

  #terminate(): void {
    if (this.#exit !== undefined || this.#child.pid === undefined) return;
    this.#kill("SIGTERM");
    clearTimeout(this.#killer);
    this.#killer = setTimeout(() => this.#kill("SIGKILL"), TERMINATION_MS);
  }

  /** Sends a signal to the program and all processes that it started. */
  #kill(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // The group has ended.
    }
  }

  #stopWatching(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#call.signal?.removeEventListener("abort", this.#onAbort);
  }

  #keepStderr(chunk: Buffer): void {
    this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-MAX_STDERR_BYTES);
  }

  #tookTooLong(): RequestTimeoutError {
    const { provider, requestMs } = this.#call;
    return new RequestTimeoutError(`the program of ${provider} did not end within ${requestMs} ms`);
  }

  #wasSilent(): RequestTimeoutError {
    const { provider, betweenBytesMs } = this.#call;
    return new RequestTimeoutError(`the program of ${provider} wrote nothing for ${betweenBytesMs} ms`);
  }

  #runsOn(): StreamError {
    return new StreamError(`the program of ${this.#call.provider} closed its output but did not exit`);
  }
}

function ignore(): void {}
