import type { HttpRequest, HttpResponse } from "../listen/http-types.ts";
import type { Call } from "../telemetry/call.ts";

/** One way of serving RPCs: it finds the method of a path, and carries calls to it. */
export interface Transport {
  /** The method of a path; undefined where there is none. */
  find(path: string): Endpoint | undefined;
}

/** A method as a transport serves it. */
export interface Endpoint {
  /** Service and method, for instance `outrigger.v1.InferenceService/Stream`. */
  readonly rpc: string;
  /** Serves one request to its end and writes the outcome into the call. Never rejects. */
  serve(call: Call, request: HttpRequest, response: HttpResponse): Promise<void>;
}
