import { anyCaller, type Caller } from "../../core/caller.ts";
import type { TraceContext } from "./trace-context.ts";

/** The facts about a call that are known when it arrives. */
export interface Call {
  /** Service and method, for instance `outrigger.v1.InferenceService/Stream`; `unknown` if there is no such method. */
  readonly rpc: string;
  /** The client's `x-request-id`, or a generated one. */
  readonly requestId: string;
  /** `1.1` or `2.0`. */
  readonly httpVersion: string;
  /** `grpc`, `grpc-web`, `connect` or `http`; empty if the request belongs to no protocol. */
  readonly protocol: string;
  /** The caller. */
  readonly caller: Caller;
  /** The trace that the call is a part of. Undefined if its client sent none. */
  readonly trace: TraceContext | undefined;
  /** Time of arrival, by `performance.now()`. */
  readonly startedAt: number;
}

/** The facts from which a call is created. */
interface CallInit extends Omit<Call, "startedAt" | "caller" | "trace"> {
  /** Default: anybody. */
  readonly caller?: Caller | undefined;
  readonly trace?: TraceContext | undefined;
}

/** Creates a call that arrives now. */
export function createCall({ caller = anyCaller, trace, ...init }: CallInit): Call {
  return { ...init, caller, trace, startedAt: performance.now() };
}
