/** The trace to which a call belongs, by W3C Trace Context (https://www.w3.org/TR/trace-context/). */
export interface TraceContext {
  /** `00-<trace id>-<parent id>-<flags>`, in lowercase hexadecimal digits. */
  readonly traceparent: string;
  /** Vendors' data, at most 512 characters. Empty if there is none. */
  readonly tracestate: string;
  /** The 32 hexadecimal digits of the trace. */
  readonly traceId: string;
}

/** Version ff is invalid; versions after 00 may have more fields, which are left out. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?=$|-)/;

/** The length up to which intermediaries have to pass the header on (section 3.3.1.5). */
const MAX_TRACESTATE_CHARS = 512;

/** Returns the headers of a request that belongs to a trace. */
export function toTraceHeaders({ traceparent, tracestate }: TraceContext): Readonly<Record<string, string>> {
  return tracestate === "" ? { traceparent } : { traceparent, tracestate };
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Reads the trace context of a request. Undefined if it has none, or an invalid one, which starts a new trace.
 * @param headers Their names are in lower case.
 */
export function readTraceContext({ traceparent, tracestate = "" }: Headers): TraceContext | undefined {
  if (typeof traceparent !== "string") return undefined;
  const [head, traceId] = TRACEPARENT.exec(traceparent) ?? [];
  if (head === undefined || traceId === undefined || (traceparent.startsWith("00") && traceparent !== head))
    return undefined;
  const state = typeof tracestate === "string" ? tracestate : tracestate.join(",");
  return { traceparent: head, tracestate: state.length > MAX_TRACESTATE_CHARS ? "" : state, traceId };
}
