import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { type SDKError, toSdkError } from "../../../core/errors.ts";
import { RepeatLimit } from "../../../core/repeat-limit.ts";
import type { GenerationOptions } from "../../../gen/outrigger/v1/generation_pb.ts";
import { type Generation, type GenerationBounds, readOptions } from "../../../generation/contract/options.ts";
import type { ModelClient, ObjectSupport } from "../../../generation/loop/model-calls.ts";
import type { LoopOptions } from "../../../generation/loop/tool-loop.ts";
import { type CallSignal, type CallSignals, errorOfCall, getDeadline } from "../../calls/call-signal.ts";
import type { Inference } from "../../calls/inference.ts";
import { InferenceRecord } from "../../calls/inference-record.ts";
import { createRecordedClient } from "../../calls/recorded-calls.ts";
import { answerMemory, getRequestShare } from "../../requests/request-memory.ts";
import { toFailure } from "../../status/status.ts";
import { createRecorder } from "../../telemetry/call-recorder.ts";

/** The parts that all calls of GenerationService share. */
export interface GenerationParts {
  /** Calls the models. */
  readonly inference: Inference;
  readonly bounds: GenerationBounds;
  /** The signals of the calls in progress. */
  readonly signals: CallSignals;
}

/** The failure of a call. */
export interface CallFailure {
  readonly error: SDKError;
  /** The status of the failure, with the error among its details. */
  readonly status: ConnectError;
}

/** One call of GenerationService, from its request to its status. */
export class GenerationCall {
  readonly #parts: GenerationParts;
  readonly #context: HandlerContext;
  readonly #record: InferenceRecord;
  readonly #call: CallSignal;
  readonly #repeats = new RepeatLimit();
  #isOver = false;

  constructor(parts: GenerationParts, context: HandlerContext) {
    this.#parts = parts;
    this.#context = context;
    this.#record = new InferenceRecord(parts.inference, createRecorder(context), answerMemory(context));
    this.#call = parts.signals.open(context.signal);
  }

  /** Aborted when the caller disconnects, its deadline expires, the server stops, or the call is aborted. */
  get signal(): AbortSignal {
    return this.#call.signal;
  }

  /** Aborts the call: nothing further is sent to providers. */
  abort(reason: SDKError): void {
    this.#call.abort(reason);
  }

  /**
   * Reads the options of the generation.
   * @param path Path of the options in the caller's message.
   * @throws InvalidRequestError with all invalid fields.
   */
  read(options: GenerationOptions | undefined, path: string): Promise<Generation> {
    return readOptions(options, path, this.#parts.bounds);
  }

  /** The limits of the sidecar, whatever a caller asks for. */
  get bounds(): GenerationBounds {
    return this.#parts.bounds;
  }

  /** Tells which kinds of structured output and tool choice the models support. */
  get support(): ObjectSupport {
    return this.#parts.inference;
  }

  /** Returns the options of a loop that this call runs, except its tools. */
  loopOptions(generation: Generation): Omit<LoopOptions, "executor" | "isStreamed"> {
    const client = this.#getClient(generation);
    const deadline = getDeadline(this.#context);
    return { ...generation, client, signal: this.signal, deadline, repeats: this.#repeats };
  }

  /**
   * Counts data that stays in memory until the call ends.
   * @throws ConnectError RESOURCE_EXHAUSTED if there is no memory for it.
   */
  keep(value: unknown): void {
    getRequestShare(this.#context)?.take(retainedBytes(value));
  }

  /** Converts a thrown value to a failure. */
  fail(thrown: unknown): CallFailure {
    // The errors of limits and of malformed requests are statuses already.
    if (thrown instanceof ConnectError && !this.signal.aborted) return this.#failWith(thrown);
    const error = errorOfCall(thrown, this.signal);
    return { error, status: this.#record.fail(error) };
  }

  /** Ends the call. Can be called again. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.release();
    this.#record.end(this.signal);
  }

  #failWith(thrown: ConnectError): CallFailure {
    const { method } = this.#context;
    const { status } = toFailure(thrown, `${method.parent.typeName}/${method.name}`);
    const error = toSdkError(status.cause);
    this.#record.fail(error);
    return { error, status };
  }

  /** Reports each call of the model, and names the fields of its request as the caller knows them. */
  #getClient({ fields }: Generation): ModelClient {
    const onFailure = (thrown: unknown) => fields.rename(toSdkError(thrown));
    return createRecordedClient(this.#record, this.#parts.inference, onFailure);
  }
}

/** Memory of an object or a list with its place in another one. */
const OBJECT_BYTES = 256;

/** Estimates the memory of a stored message: its texts, its bytes, and the objects around them. */
function retainedBytes(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  if (value instanceof Uint8Array) return OBJECT_BYTES + value.byteLength;
  let bytes = OBJECT_BYTES;
  for (const member of Object.values(value)) bytes += retainedBytes(member);
  return bytes;
}
