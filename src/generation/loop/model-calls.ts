import { toTokenCount } from "../../client/token-count.ts";
import type { CallOptions, CallTarget } from "../../core/adapter.ts";
import type { Batched } from "../../core/batches.ts";
import { StreamError } from "../../core/errors.ts";
import type { RepeatLimit } from "../../core/repeat-limit.ts";
import { type CompleteResponse, completeResponse } from "../../core/response.ts";
import { ResponseCollector } from "../../core/response-collector.ts";
import type { EmbedRequest, EmbedResponse } from "../../gen/outrigger/v1/embedding_service_pb.ts";
import type { CountTokensResponse } from "../../gen/outrigger/v1/inference_service_pb.ts";
import type { Request, ToolChoice_Mode } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../gen/outrigger/v1/stream_event_pb.ts";
import { noEmbeddings } from "../../kit/adapter/http-adapter.ts";
import { toAbortError } from "../../kit/http/abort.ts";
import { type RetryPolicy, retry } from "../../middleware/retry-policy.ts";
import type { AttemptLog } from "./attempt-log.ts";
import { ModelCall } from "./model-call.ts";

/** Reports how the models of a client can be made to write objects. A method that is absent stands for `true`. */
export interface ObjectSupport {
  supportsJsonSchema?(model: string, provider?: string): boolean;
  supportsToolChoice?(mode: ToolChoice_Mode, model: string, provider?: string): boolean;
}

/** The client that calls the model of a generation, for instance a Client. */
export interface ModelClient extends ObjectSupport {
  /** Returns the whole answer. Must end at once if the signal of the options is aborted. */
  complete(request: Request, options?: CallOptions): Promise<Response>;
  /** Returns the answer as events, under the laws of a stream. Leaving the iteration must cancel the call. */
  stream(request: Request, options?: CallOptions): Batched<StreamEvent>;
  /** Counts the tokens of a request's input. If absent, they are estimated. */
  countTokens?(request: Request, options?: CallOptions): Promise<CountTokensResponse>;
  /** Embeds texts. Absent if the client cannot. */
  embed?(request: EmbedRequest, options?: CallOptions): Promise<EmbedResponse>;
  /**
   * Returns the destination of a request that names this provider and model; either may be empty. If absent, requests
   * go to the names that they have.
   */
  resolveModel?(name: CallTarget): CallTarget;
  /** Whether models learn nothing about errors that tools throw, unless a tool says otherwise. Default false. */
  readonly hideToolErrors?: boolean | undefined;
}

/** Counts the tokens of a request's input; an estimate if the client cannot count. */
export function countTokens(
  client: ModelClient,
  request: Request,
  options?: CallOptions,
): Promise<CountTokensResponse> {
  return client.countTokens?.(request, options) ?? Promise.resolve(toTokenCount(request, request, undefined));
}

/** Embeds texts. @throws InvalidRequestError if the client cannot. */
export async function embed(
  client: ModelClient,
  request: EmbedRequest,
  options?: CallOptions,
): Promise<EmbedResponse> {
  if (client.embed === undefined) throw noEmbeddings(request.provider);
  return client.embed(request, options);
}

/** Options for the calls of a generation. */
export interface ModelCallOptions {
  readonly client: ModelClient;
  /** Whether there may be several steps, since there are tools. */
  readonly isLoop: boolean;
  readonly retry: Partial<RetryPolicy>;
  /** Maximum duration of one call in milliseconds. 0: no limit. */
  readonly maxMs: number;
  /** Ends the generation. */
  readonly signal: AbortSignal;
  /** Deadline of the generation, in milliseconds of `performance.now()`. */
  readonly deadline: number;
  /** Limits the retries and fallbacks of all steps together. */
  readonly repeats: RepeatLimit;
  readonly log: AttemptLog;
}

type Batch = readonly StreamEvent[];

/** Makes the calls of a generation. Each step's call is retried separately. */
export class ModelCalls {
  readonly #options: ModelCallOptions;
  readonly #policy: Partial<RetryPolicy>;

  constructor(options: ModelCallOptions) {
    this.#options = options;
    const { log } = options;
    this.#policy = {
      ...options.retry,
      onRetry: (error, attempt, delay) => {
        log.noteDelay(delay);
        options.retry.onRetry?.(error, attempt, delay);
      },
    };
  }

  /** Returns the whole answer of a step. */
  complete(request: Request, step: number): Promise<CompleteResponse> {
    return this.#retried(request, step, async (call) => {
      const response = completeResponse(await this.#options.client.complete(request, call.options));
      call.succeed(response);
      return response;
    });
  }

  /** Returns the answer of a step as a stream whose first batch has arrived. It is not retried after that. */
  open(request: Request, step: number): Promise<StepStream> {
    return this.#retried(request, step, async (call) => {
      const batches = this.#options.client.stream(request, call.options).batches();
      return StepStream.open(batches[Symbol.asyncIterator](), call);
    });
  }

  #retried<Result>(
    request: Request,
    step: number,
    run: (call: ModelCall) => Promise<Result>,
  ): Promise<Result> {
    const { client, isLoop, signal, deadline, maxMs, repeats, log } = this.#options;
    const target = client.resolveModel?.(request) ?? request;
    const attempt = async () => {
      const call = new ModelCall(target, { step, isLoop, signal, deadline, maxMs, repeats }, log);
      try {
        return await run(call);
      } catch (thrown) {
        throw call.fail(thrown);
      }
    };
    return retry(attempt, this.#policy, { signal, deadline, repeats });
  }
}

/** The stream of one step. */
export class StepStream {
  readonly #source: AsyncIterator<Batch>;
  readonly #call: ModelCall;
  readonly #collector = new ResponseCollector();
  #first: Batch | undefined;
  #isOver = false;

  private constructor(source: AsyncIterator<Batch>, call: ModelCall) {
    this.#source = source;
    this.#call = call;
  }

  /** Waits for the first batch. Throws a failure in that batch, since no one else has observed it. */
  static async open(source: AsyncIterator<Batch>, call: ModelCall): Promise<StepStream> {
    const stream = new StepStream(source, call);
    try {
      stream.#first = await stream.#read();
      const last = stream.#first?.at(-1)?.event;
      if (last?.case === "error" && !last.value.outputStarted) await stream.#read();
      return stream;
    } catch (thrown) {
      await stream.close();
      throw thrown;
    }
  }

  /** Returns the next events. Undefined after the last ones. */
  async next(): Promise<Batch | undefined> {
    const first = this.#first;
    this.#first = undefined;
    try {
      const { signal } = this.#call.options;
      if (signal?.aborted) throw toAbortError(signal);
      const batch = first ?? (await this.#read());
      if (batch === undefined) this.#call.succeed(this.response);
      return batch;
    } catch (thrown) {
      throw this.#call.fail(thrown);
    }
  }

  /** The whole response, available after the last events. */
  get response(): CompleteResponse {
    const { response } = this.#collector;
    if (response === undefined) throw new StreamError("the stream ended without a finish event");
    return response;
  }

  /** Cancels the call if it has not ended. */
  async close(): Promise<void> {
    this.#call.release();
    if (!this.#isOver) await this.#source.return?.();
  }

  async #read(): Promise<Batch | undefined> {
    const result = await this.#source.next();
    this.#isOver = result.done === true;
    if (result.done === true) return undefined;
    this.#collector.add(result.value);
    return result.value;
  }
}
