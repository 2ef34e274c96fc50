import type { ExchangeContext } from "./exchange.ts";
import type { RequestLog } from "./request-log.ts";
import type { WireFormat } from "./wire-format.ts";

/** The state that all requests of one simulator share. */
export interface SimulatorState {
  readonly context: ExchangeContext;
  readonly log: RequestLog;
  readonly formats: readonly WireFormat[];
  readonly report: (line: SimulatorLogLine) => void;
  /** Clears the request log and the counts of faults. */
  readonly forget: () => void;
  /** Number of requests so far. */
  count: number;
  /** Whether the simulator is shutting down and closes connections itself. */
  closing: boolean;
}

/** One line of the log: the request and its outcome. Contains no prompt, no answer and no key. */
export interface SimulatorLogLine {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Name of the wire format; empty if no format has the path. */
  readonly format: string;
  /** The model string; empty if the request named none. */
  readonly model: string;
  /** Status of the response; 0 if there was none. */
  readonly status: number;
  /**
   * `answered` in full, or the reason for the failure: the `caller` closed the connection, a `fault` of the model
   * string or the shutdown of the simulator cut the response off, or the simulator has a `bug`.
   */
  readonly outcome: "answered" | "caller" | "fault" | "bug";
  /** Number of written events of a stream. */
  readonly events: number;
  readonly durationMs: number;
}
