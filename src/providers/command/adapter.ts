/** The adapter for a local program: wires the process and the translations of this folder. */
import { isAbsolute } from "node:path";
import { type Catalog, defaultCatalog, ProviderModels } from "../../catalog/catalog.ts";
import type { ProviderAdapter } from "../../core/adapter.ts";
import type { Batches } from "../../core/batches.ts";
import { AbortError, ConfigurationError, type SDKError, toSdkError, withTexts } from "../../core/errors.ts";
import type { EventStream } from "../../core/event-stream.ts";
import { getInferenceId } from "../../core/ids.ts";
import { streamCall } from "../../core/streamed-call.ts";
import { type Request, ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import type { AdapterCallOptions } from "../../kit/adapter/http-adapter.ts";
import { KeyMask } from "../../kit/adapter/key-mask.ts";
import { type AnswerLimits, AnswerMemory, DEFAULT_ANSWER_LIMITS } from "../../kit/call/answer-limits.ts";
import type { CallFacts } from "../../kit/call/call-facts.ts";
import {
  DEFAULT_HTTP_TIMEOUTS,
  type HttpTimeouts,
  mergeTimeouts,
  toTimeouts,
} from "../../kit/http/timeouts.ts";
import { decodeStream } from "../../kit/stream/decode-stream.ts";
import { StreamWriter } from "../../kit/stream/stream-writer.ts";
import { exitError, tooManyProcesses } from "./error.ts";
import { ProgramRun } from "./process.ts";
import { type ProgramInput, toProgramInput } from "./request.ts";
import { toResponse } from "./response.ts";
import {
  type CommandAdapterOptions,
  DEFAULT_ENVIRONMENT,
  DEFAULT_MAX_PROCESSES,
  EFFORT_ARGUMENT,
  FILE_ARGUMENT,
  IMAGES_ARGUMENT,
  MODEL_ARGUMENT,
  SCHEMA_ARGUMENT,
} from "./settings.ts";
import { createDecoder, getParser } from "./stream.ts";

export type { CommandAdapterOptions } from "./settings.ts";

/** A model served by a local program that is started for each call. */
export class CommandAdapter implements ProviderAdapter {
  readonly name: string;
  readonly #options: CommandAdapterOptions;
  readonly #program: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #timeouts: HttpTimeouts;
  readonly #limits: AnswerLimits;
  readonly #mask: KeyMask;
  readonly #models = new WeakMap<Catalog, ProviderModels>();
  readonly #running = new Set<ProgramRun>();
  /** Cleanup after programs that have ended, including the removal of their folders. */
  readonly #ending = new Set<Promise<void>>();
  /** Programs that are about to start. */
  #starting = 0;

  /** @throws ConfigurationError if the command or a limit cannot work. */
  constructor(options: CommandAdapterOptions) {
    this.name = options.name ?? "command";
    this.#options = options;
    this.#program = checkedProgram(options);
    this.#environment = { ...DEFAULT_ENVIRONMENT, ...options.environment };
    this.#timeouts = mergeTimeouts(options.timeouts, DEFAULT_HTTP_TIMEOUTS);
    this.#limits = { ...DEFAULT_ANSWER_LIMITS, ...options.answerLimits };
    this.#mask = new KeyMask(this.#environment);
  }

  async complete(request: Request, options: AdapterCallOptions = {}): Promise<Response> {
    try {
      return await toResponse(await this.#open(request, options));
    } catch (thrown) {
      throw this.#toFailure(thrown);
    }
  }

  stream(request: Request, options: AdapterCallOptions = {}): EventStream {
    return streamCall((signal) => this.#open(request, { ...options, signal }), {
      signal: options.signal,
      toFailure: this.#toFailure,
    });
  }

  supportsToolChoice(mode: ToolChoice_Mode): boolean {
    return mode !== ToolChoice_Mode.REQUIRED && mode !== ToolChoice_Mode.NAMED;
  }

  supportsJsonSchema(): boolean {
    return this.#options.schema !== undefined;
  }

  /** Ends all programs. */
  async close(): Promise<void> {
    for (const run of this.#running) run.stop(new AbortError("the sidecar stops"));
    await Promise.all(this.#ending);
  }

  async #open(request: Request, options: AdapterCallOptions): Promise<Batches<StreamEvent>> {
    const { format } = this.#options;
    const written = toProgramInput(request, { ...this.#options, provider: this.name });
    const run = await this.#start(request, written, options);
    const facts = this.#getFacts(request, written, options);
    const writer = new StreamWriter(facts);
    return decodeStream(run, createDecoder(format, facts, writer), writer, {
      createParser: getParser(format),
      release: () => run.release(),
      limits: this.#limits,
      memory: new AnswerMemory(options),
    });
  }

  /**
   * Starts the program unless too many of its processes are running. A process that is being stopped counts until it
   * has exited.
   */
  async #start(
    request: Request,
    { args, input }: ProgramInput,
    { signal, timing }: AdapterCallOptions,
  ): Promise<ProgramRun> {
    const { folder, maxProcesses = DEFAULT_MAX_PROCESSES } = this.#options;
    const provider = this.name;
    if (this.#running.size + this.#starting >= maxProcesses) throw tooManyProcesses(provider, maxProcesses);
    const { requestMs, betweenBytesMs } = mergeTimeouts(toTimeouts(request.timeouts), this.#timeouts);
    const environment = this.#environment;
    this.#starting += 1;
    try {
      const call = {
        program: this.#program,
        args,
        environment,
        folder,
        input,
        requestMs,
        betweenBytesMs,
        signal,
        provider,
      };
      const run = await ProgramRun.start(call, (exit) => exitError(exit, { provider, request }));
      this.#running.add(run);
      timing?.beginWait("provider");
      void run.exited.then(() => {
        this.#running.delete(run);
        timing?.endWait("provider");
      });
      const gone = run.gone();
      this.#ending.add(gone);
      void gone.then(() => this.#ending.delete(gone));
      return run;
    } finally {
      this.#starting -= 1;
    }
  }

  /** Returns the failure of a call, without the secrets of the program's environment. */
  readonly #toFailure = (thrown: unknown): SDKError => withTexts(toSdkError(thrown), this.#mask.apply);

  /** Returns the catalog as seen by the program: prices that a configuration gives. */
  #modelsIn(catalog: Catalog): ProviderModels {
    const models = this.#models.get(catalog) ?? new ProviderModels(catalog, this.name, undefined);
    this.#models.set(catalog, models);
    return models;
  }

  #getFacts(request: Request, { warnings }: ProgramInput, options: AdapterCallOptions): CallFacts {
    return {
      request,
      provider: this.name,
      models: this.#modelsIn(options.catalog ?? defaultCatalog),
      inferenceId: getInferenceId(options),
      acceptedAt: Date.now(),
      warnings,
      rateLimit: undefined,
      providerRequestId: "",
      withoutKeys: this.#mask.apply,
      limits: this.#limits,
    };
  }
}

/** Returns the program of a command after checking it. */
function checkedProgram(options: CommandAdapterOptions): string {
  const {
    command,
    efforts,
    maxProcesses = DEFAULT_MAX_PROCESSES,
    local = false,
    localOnly = false,
  } = options;
  const [program = "", ...args] = command;
  if (!isAbsolute(program))
    throw new ConfigurationError("the command must begin with the absolute path of a program");
  const unknown = args.find((argument) => /^\{\w+\}$/.test(argument) && !ARGUMENTS.includes(argument));
  if (unknown !== undefined)
    throw new ConfigurationError(`the command has ${unknown}; expected ${ARGUMENTS.join(" or ")}`);
  if (args.includes(EFFORT_ARGUMENT) !== (efforts !== undefined))
    throw new ConfigurationError(
      `the command needs ${EFFORT_ARGUMENT} if efforts are configured, and only then`,
    );
  for (const [argument, replacement] of [
    [IMAGES_ARGUMENT, options.images],
    [SCHEMA_ARGUMENT, options.schema],
  ] as const) {
    const name = argument.slice(1, -1);
    if (args.includes(argument) !== (replacement !== undefined))
      throw new ConfigurationError(
        `the command needs ${argument} if ${name} arguments are configured, and only then`,
      );
    if (replacement !== undefined && !replacement.includes(FILE_ARGUMENT))
      throw new ConfigurationError(`the ${name} arguments need ${FILE_ARGUMENT}, which stands for the file`);
  }
  if (!Number.isInteger(maxProcesses) || maxProcesses < 1)
    throw new ConfigurationError(`maxProcesses is ${maxProcesses}; expected a whole number from 1`);
  if (localOnly && !local)
    throw new ConfigurationError(
      "local_only is set, and a program can connect to anything; set `local: true` if it connects only to private networks",
    );
  return program;
}

const ARGUMENTS: readonly string[] = [MODEL_ARGUMENT, EFFORT_ARGUMENT, IMAGES_ARGUMENT, SCHEMA_ARGUMENT];
