import type { CallOptions, CallTarget } from "../../core/adapter.ts";
import type { EventStream } from "../../core/event-stream.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../gen/outrigger/v1/response_pb.ts";
import type { ObjectSupport } from "../../generation/loop/model-calls.ts";

/** Calls the models for InferenceService. A Client is one. */
export interface Inference extends ObjectSupport {
  /**
   * Returns the target of a request with this provider and model, either of which may be empty. Default: the names
   * themselves.
   */
  resolveModel?(name: CallTarget): CallTarget;
  /** Returns the whole response. Throws SDKError. */
  complete(request: Request, options?: CallOptions): Promise<Response>;
  /**
   * Returns the response as events that obey the laws of a stream: a failure after the first event is an `error` event
   * and is thrown after it. Leaving the iteration cancels the call.
   */
  stream(request: Request, options?: CallOptions): EventStream;
}
