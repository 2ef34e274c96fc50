import type { CallOptions, CallTarget } from "../../core/adapter.ts";
import type { EventStream } from "../../core/event-stream.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { ObjectSupport } from "../../generation/loop/model-calls.ts";

/** What answers the calls of InferenceService. A Client is one. */
export interface Inference extends ObjectSupport {
  /** Where a request goes that names this provider and model; either may be empty. Default: as it says. */
  resolveModel?(name: CallTarget): CallTarget;
  /** The whole answer. Throws SDKError. */
  complete(request: Request, options?: CallOptions): Promise<Response>;
  /**
   * The answer as events, under the laws of a stream: a failure after the first event is an `error` event and is thrown
   * after it. Leaving the iteration cancels the call.
   */
  stream(request: Request, options?: CallOptions): EventStream;
}
