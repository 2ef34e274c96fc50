import { create } from "@bufbuild/protobuf";
import { accumulate, type CallOptions, EventStream, type ProviderAdapter } from "outrigger";
import type { Request } from "../../../src/gen/outrigger/v1/request_pb.ts";
import {
  FinishReason_Reason,
  FinishReasonSchema,
  type Response,
} from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { UsageSchema } from "../../../src/gen/outrigger/v1/usage_pb.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";

/** The failures of a ScriptedAdapter. */
export interface Script {
  /** The number of calls that throw before their first event. */
  readonly failures?: Error[];
  /** Thrown after the first delta, once. */
  readonly breaksWith?: Error;
}

/** An adapter that a caller supplies: answers the model's name, word by word, and records its requests. */
export class ScriptedAdapter implements ProviderAdapter {
  readonly name: string;
  readonly #script: Script;
  /** The requests that arrived, in order. */
  readonly requests: Request[] = [];
  readonly options: CallOptions[] = [];
  /** Streams that began, and those whose iteration has ended, in whatever way. */
  started = 0;
  ended = 0;
  closed = 0;

  constructor(name: string, script: Script = {}) {
    this.name = name;
    this.#script = script;
  }

  complete(request: Request, options: CallOptions = {}): Promise<Response> {
    return accumulate(this.stream(request, options));
  }

  stream(request: Request, options: CallOptions = {}): EventStream {
    return new EventStream(this.#batches(request, options));
  }

  async close(): Promise<void> {
    this.closed += 1;
  }

  async *#batches(request: Request, options: CallOptions): AsyncGenerator<readonly StreamEvent[]> {
    this.requests.push(request);
    this.options.push(options);
    const failure = this.#script.failures?.shift();
    if (failure !== undefined) throw failure;
    this.started += 1;
    try {
      yield* this.#write(request, options);
    } finally {
      this.ended += 1;
    }
  }

  *#write(request: Request, { inferenceId = "" }: CallOptions): Generator<readonly StreamEvent[]> {
    const facts = {
      request,
      provider: this.name,
      inferenceId,
      warnings: [],
      acceptedAt: 0,
      rateLimit: undefined,
      providerRequestId: "",
    };
    const writer = new StreamWriter(facts, () => 0);
    writer.start(request.model);
    const text = writer.startText();
    yield writer.take();
    for (const word of [this.name, " ", request.model]) {
      text.append(word);
      yield writer.take();
      if (this.#script.breaksWith !== undefined) throw this.#script.breaksWith;
    }
    text.end();
    const finishReason = create(FinishReasonSchema, { reason: FinishReason_Reason.STOP, raw: "stop" });
    const usage = create(UsageSchema, { inputTokens: 3, outputTokens: 2, totalTokens: 5 });
    writer.finish({ id: "r1", model: request.model, finishReason, usage, rawJson: "" });
    yield writer.take();
  }
}
