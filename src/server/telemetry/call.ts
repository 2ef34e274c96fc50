import { type Code, createContextKey, type HandlerContext } from "@connectrpc/connect";
import type { SDKError } from "../../core/errors.ts";
import type { Usage } from "../../gen/outrigger/v1/usage_pb.ts";

/**
 * One RPC on its way through the server. The transport that reads it and the service that
 * answers it write down here what its log line and the metrics will say.
 */
export interface Call {
  /** Service and method, for instance `outrigger.v1.InferenceService/Stream`; `unknown` where there is none such. */
  readonly rpc: string;
  /** The caller's `x-request-id`, or one of ours. */
  readonly requestId: string;
  /** `1.1` or `2.0`. */
  readonly httpVersion: string;
  /** When it arrived, by `performance.now()`. */
  readonly startedAt: number;
  /** `grpc`, `grpc-web` or `connect`; empty until it is known. */
  protocol: string;
  /** Status it ended with; undefined is OK. */
  code: Code | undefined;
  /** Whether the caller left before the end. */
  abandoned: boolean;
  /** Whether what the service gives next is ready too, so that both should leave in one write. */
  moreReady: boolean;
  /** Ends with the call, its deadline or its caller. Undefined until the transport made it. */
  signal: AbortSignal | undefined;
  /** Id that the service gave the call; empty where it gives none. */
  inferenceId: string;
  /** Provider that answers, bounded; empty where there is none. */
  provider: string;
  /** Model that answers, or was asked for, bounded; empty where there is none. */
  model: string;
  /** What it cost; undefined where nothing is known. */
  usage: Usage | undefined;
  /** Why the service failed. */
  error: SDKError | undefined;
  /** What a bug of ours threw; for the log. */
  fault: unknown;
}

/** What is known of a call when it arrives. */
export type CallInit = Pick<Call, "rpc" | "requestId" | "httpVersion">;

/** A call that has just arrived. */
export function createCall(init: CallInit): Call {
  return {
    ...init,
    startedAt: performance.now(),
    protocol: "",
    code: undefined,
    abandoned: false,
    moreReady: false,
    signal: undefined,
    inferenceId: "",
    provider: "",
    model: "",
    usage: undefined,
    error: undefined,
    fault: undefined,
  };
}

/** Under which key a transport puts the Call into the context values of Connect. */
export const callKey = createContextKey<Call | undefined>(undefined, {
  description: "the call being served",
});

/** The Call that a service answers. A new one where the transport gave none. */
export function callOf({ method, values }: Pick<HandlerContext, "method" | "values">): Call {
  const rpc = `${method.parent.typeName}/${method.name}`;
  return values.get(callKey) ?? createCall({ rpc, requestId: "", httpVersion: "" });
}
