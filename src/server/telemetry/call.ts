import { anyCaller, type Caller } from "../../core/caller.ts";

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
  /** Time of arrival, by `performance.now()`. */
  readonly startedAt: number;
}

/** The facts from which a call is created. */
interface CallInit extends Omit<Call, "startedAt" | "caller"> {
  /** Default: anybody. */
  readonly caller?: Caller | undefined;
}

/** Creates a call that arrives now. */
export function createCall({ rpc, requestId, httpVersion, protocol, caller = anyCaller }: CallInit): Call {
  return { rpc, requestId, httpVersion, protocol, caller, startedAt: performance.now() };
}
