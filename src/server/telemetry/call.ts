import { anyCaller, type Caller } from "../../core/caller.ts";

/** What is known of a call when it arrives. */
export interface Call {
  /** Service and method, for instance `outrigger.v1.InferenceService/Stream`; `unknown` where there is none such. */
  readonly rpc: string;
  /** The client's `x-request-id`, or a generated one. */
  readonly requestId: string;
  /** `1.1` or `2.0`. */
  readonly httpVersion: string;
  /** `grpc`, `grpc-web`, `connect` or `http`; empty where the request is none of them. */
  readonly protocol: string;
  /** Whom it is for. */
  readonly caller: Caller;
  /** When it arrived, by `performance.now()`. */
  readonly startedAt: number;
}

/** What a call arrives with. */
interface CallInit extends Omit<Call, "startedAt" | "caller"> {
  /** Default: anybody. */
  readonly caller?: Caller | undefined;
}

/** A call that arrives now. */
export function createCall({ rpc, requestId, httpVersion, protocol, caller = anyCaller }: CallInit): Call {
  return { rpc, requestId, httpVersion, protocol, caller, startedAt: performance.now() };
}
