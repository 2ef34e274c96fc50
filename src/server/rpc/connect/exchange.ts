import type { DescMethod } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import type { RequestMemory, RequestShare } from "../../requests/request-memory.ts";
import { describeJsonFault, type Failure, toFailure } from "../../status/status.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import { disconnectedOutcome, type TransportOutcome } from "../../telemetry/outcome.ts";

/** The state of one call on its way through Connect's handlers. */
export class ConnectExchange {
  readonly recorder: CallRecorder;
  /** Aborted when the call, its deadline or its connection ends. Undefined until Connect has created it. */
  signal: AbortSignal | undefined;
  /** Whether the client closed the stream before the response was complete. */
  disconnected = false;
  /** Pays for the request. Undefined until the call has begun. */
  share: RequestShare | undefined;
  readonly #memory: RequestMemory;
  #failure: Failure | undefined;
  #json: Uint8Array[] = [];

  constructor(recorder: CallRecorder, memory: RequestMemory) {
    this.recorder = recorder;
    this.#memory = memory;
  }

  /** Begins the call. Throws ConnectError if too many calls are in progress. */
  begin(): void {
    this.share = this.#memory.begin(this.recorder.call.caller.name);
  }

  /**
   * Passes the JSON of a request on and keeps a copy, so that the error of an invalid request can name the wrong field.
   */
  async *keepJson(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.#json.push(chunk);
      yield chunk;
    }
  }

  /** Drops the JSON of a request that has been read. */
  dropJson(): void {
    this.#json = [];
  }

  /** Adds the details of our contract to the error of a failed call, before Connect writes it. */
  fail(thrown: unknown, { input }: DescMethod): void {
    if (this.#json.length > 0) describeJsonFault(thrown, input, Buffer.concat(this.#json));
    this.dropJson();
    if (!this.disconnected) this.#failure = toFailure(thrown, this.recorder.call.rpc);
  }

  /** The outcome of the call. */
  get outcome(): TransportOutcome {
    if (this.disconnected) return disconnectedOutcome();
    return { code: this.#failure?.status.code, disconnected: false, fault: this.#failure?.fault };
  }
}

/** Key under which the exchange is in the context values of a call that Connect's handlers serve. */
export const exchangeKey = createContextKey<ConnectExchange | undefined>(undefined, {
  description: "the exchange of the call being served",
});
