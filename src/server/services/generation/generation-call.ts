import { ConnectError, type HandlerContext } from "@connectrpc/connect";
import { type SDKError, toSdkError } from "../../../core/errors.ts";
import { RepeatLimit } from "../../../core/repeat-limit.ts";
import type { GenerationOptions } from "../../../gen/outrigger/v1/generation_pb.ts";
import { type Generation, type GenerationBounds, readOptions } from "../../../generation/contract/options.ts";
import { RequestFields } from "../../../generation/contract/request-fields.ts";
import type { ModelClient, ObjectSupport } from "../../../generation/loop/model-calls.ts";
import type { LoopOptions } from "../../../generation/loop/tool-loop.ts";
import { toCallError } from "../../calls/call-context.ts";
import type { InferenceRecord } from "../../calls/inference-record.ts";
import { ServiceCall, type ServiceParts } from "../../calls/service-call.ts";
import { toFailure } from "../../status/status.ts";

/** The parts that all calls of GenerationService share. */
export interface GenerationParts extends ServiceParts {
  readonly bounds: GenerationBounds;
}

/** The options of a generation that a caller waits for. */
export interface NamedGeneration extends Generation {
  /** Names the fields of `request` as the caller knows them. */
  readonly fields: RequestFields;
}

/** The failure of a call. */
export interface CallFailure {
  readonly error: SDKError;
  /** The status of the failure, with the error among its details. */
  readonly status: ConnectError;
}

/** One call of GenerationService, from its request to its status. */
export class GenerationCall extends ServiceCall {
  /** The limits of the sidecar, whatever a caller asks for. */
  readonly bounds: GenerationBounds;
  /** Tells which kinds of structured output and tool choice the models support. */
  readonly support: ObjectSupport;
  readonly #context: HandlerContext;
  readonly #repeats = new RepeatLimit();

  constructor(parts: GenerationParts, context: HandlerContext) {
    super(parts, context);
    this.bounds = parts.bounds;
    this.support = parts.client;
    this.#context = context;
  }

  /**
   * Reads the options of the generation.
   * @param path Path of the options in the caller's message.
   * @throws InvalidRequestError with all invalid fields.
   */
  async read(options: GenerationOptions | undefined, path: string): Promise<NamedGeneration> {
    const generation = await readOptions(options, path, this.bounds);
    return { ...generation, fields: new RequestFields(options, path) };
  }

  /** Returns the options of a loop that this call runs, except its tools. */
  loopOptions(generation: NamedGeneration): Omit<LoopOptions, "executor" | "isStreamed"> {
    const { signal, deadline } = this;
    const client = createClient(this.record, generation.fields);
    return { ...generation, client, signal, deadline, repeats: this.#repeats };
  }

  /**
   * Counts data that stays in memory until the call ends.
   * @throws ConnectError RESOURCE_EXHAUSTED if there is no memory for it.
   */
  keep(value: unknown): void {
    this.served.share?.take(retainedBytes(value));
  }

  override fail(thrown: unknown): ConnectError {
    return this.toFailure(thrown).status;
  }

  /** Converts a thrown value to a failure. */
  toFailure(thrown: unknown): CallFailure {
    if (!(thrown instanceof ConnectError) || this.signal.aborted)
      return { error: toCallError(thrown, this.signal), status: super.fail(thrown) };
    // The errors of limits and of malformed requests are statuses already.
    const { method } = this.#context;
    const { status } = toFailure(thrown, `${method.parent.typeName}/${method.name}`);
    const error = toSdkError(status.cause);
    this.record.fail(error);
    return { error, status };
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

/** Creates a client whose errors name the fields of the model's request as the caller knows them. */
function createClient(record: InferenceRecord, fields: RequestFields): ModelClient {
  const fail = (thrown: unknown) => fields.rename(toSdkError(thrown));
  return {
    resolveModel: (name) => record.resolveModel(name),
    complete: (request, options) =>
      record.complete(request, options).catch((thrown: unknown) => {
        throw fail(thrown);
      }),
    stream: (request, options) => record.stream(request, options, { fail }),
  };
}
