import type { DescMethod } from "@bufbuild/protobuf";
import { createContextKey } from "@connectrpc/connect";
import type { RequestMemory, RequestShare } from "../../requests/request-memory.ts";
import { describeJsonFault, type Failure, toFailure } from "../../status/status.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import { disconnectedOutcome, type TransportOutcome } from "../../telemetry/outcome.ts";

/** The state of one call on its way through Connect's handlers. */
export class ConnectExchange {
  readonly recorder: CallRecorder;
  /** Ends with the call, its deadline or its connection. Undefined until Connect has made it. */
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

  /** Begins the call. Throws ConnectError where as many are under way as may be. */
  begin(): void {
    this.share = this.#memory.begin(this.recorder.call.caller.name);
  }

  /** Passes the JSON of a request on, and keeps it for the case that it is refused: the error names what is wrong in it. */
  async *keepJson(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.#json.push(chunk);
      yield chunk;
    }
  }

  /** The request was read: its JSON is not needed any more. */
  dropJson(): void {
    this.#json = [];
  }

  /** The call failed. The details of our contract are added to what was thrown, before Connect writes it. */
  fail(thrown: unknown, { input }: DescMethod): void {
    if (this.#json.length > 0) describeJsonFault(thrown, input, Buffer.concat(this.#json));
    this.dropJson();
    if (!this.disconnected) this.#failure = toFailure(thrown, this.recorder.call.rpc);
  }

  /** How the call ended. */
  get outcome(): TransportOutcome {
    if (this.disconnected) return disconnectedOutcome();
    return { code: this.#failure?.status.code, disconnected: false, fault: this.#failure?.fault };
  }
}

/** Key under which the exchange is in the context values of a call that Connect's handlers serve. */
export const exchangeKey = createContextKey<ConnectExchange | undefined>(undefined, {
  description: "the exchange of the call being served",
});
