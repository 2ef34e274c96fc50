import { Code, ConnectError, createContextKey } from "@connectrpc/connect";
import type { ServedCall } from "../../calls/call-context.ts";
import type { Codec } from "../../requests/codec.ts";
import type { CallMemory, RequestMemory } from "../../requests/request-memory.ts";
import { type Failure, replaceStatus, toFailure } from "../../status/status.ts";
import { disconnectedOutcome, failedOutcome, type TransportOutcome } from "../../telemetry/call-observer.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";

/** A message that its service has not received yet. */
interface UnreadMessage {
  readonly codec: Codec;
  readonly bytes: Uint8Array;
}

/** The state of one call on its way through Connect's handlers. */
export class ConnectExchange implements ServedCall {
  readonly recorder: CallRecorder;
  /** Aborted when the call, its deadline or its connection ends. Undefined until Connect has created it. */
  signal: AbortSignal | undefined;
  /** Whether the client closed the stream before the response was complete. */
  disconnected = false;
  /** The message of the request, until its service is called. */
  unread: UnreadMessage | undefined;
  /** Whether the service has returned an answer. */
  isAnswered = false;
  /** Accounts for the memory of the request. Undefined until the call has begun. */
  share: CallMemory | undefined;
  readonly #memory: RequestMemory;
  readonly #headerFields: number;
  #failure: Failure | undefined;

  /** @param headerFields Number of header fields of the request. */
  constructor(recorder: CallRecorder, memory: RequestMemory, headerFields: number) {
    this.recorder = recorder;
    this.#memory = memory;
    this.#headerFields = headerFields;
  }

  /** Begins the call. Throws ConnectError if too many calls are in progress, or memory is short. */
  begin(): void {
    this.share = this.#memory.begin(this.recorder.call.caller.name, this.#headerFields);
  }

  /**
   * Adds the details of our contract to the error of a failed call, before Connect writes it. Connect's errors about a
   * request have no code, and their texts quote it: what Connect could not read is read again here.
   */
  fail(thrown: unknown): void {
    const { rpc } = this.recorder.call;
    const fault = this.unread === undefined ? undefined : findFault(this.unread);
    this.unread = undefined;
    if (fault !== undefined && thrown instanceof ConnectError) replaceStatus(thrown, fault, rpc);
    if (this.disconnected) return;
    const failure = toFailure(thrown, rpc);
    // Connect could not encode the answer of the service.
    const isBug = this.isAnswered && failure.status.code === Code.Internal;
    this.#failure = isBug ? { ...failure, fault: thrown } : failure;
  }

  /** The outcome of the call. */
  get outcome(): TransportOutcome {
    if (this.disconnected) return disconnectedOutcome();
    return this.#failure === undefined
      ? { code: undefined, disconnected: false }
      : failedOutcome(this.#failure.status, this.#failure.fault);
  }
}

/** Key under which the exchange is in the context values of a call that Connect's handlers serve. */
export const exchangeKey = createContextKey<ConnectExchange | undefined>(undefined, {
  description: "the exchange of the call being served",
});

/** Returns the error of a message that cannot be decoded. Undefined if it can. */
function findFault({ codec, bytes }: UnreadMessage): ConnectError | undefined {
  try {
    codec.decode(bytes);
    return undefined;
  } catch (thrown) {
    return thrown instanceof ConnectError ? thrown : undefined;
  }
}
