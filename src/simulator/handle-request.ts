import type { IncomingMessage, ServerResponse } from "node:http";
import { SocketCut } from "./delivery/body-writer.ts";
import { answerRequest, type Exchange, type House } from "./exchange.ts";
import { answerIntrospection, isIntrospection } from "./introspection.ts";
import { type ArrivedBody, parseJson, readBody } from "./read-body.ts";
import { now, type OpenRequest, type RequestLog } from "./request-log.ts";
import type { ReceivedRequest, WireFormat } from "./wire-format.ts";

/** Most bytes of a request body: 64 MiB, more than any provider takes. */
const largestBody = 64 * 1024 * 1024;

/** One line of the log: what was asked and how it ended. Holds no prompt, no answer and no key. */
export interface SimulatorLogLine {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Name of the wire format; empty where none has the path. */
  readonly format: string;
  /** The model string; empty where the request named none. */
  readonly model: string;
  /** Status of the answer; 0 where there was none. */
  readonly status: number;
  /**
   * `answered` to the end, or why not: the `caller` closed, a `fault` of the model string or the end of the simulator
   * cut it off, or the simulator has a `bug`.
   */
  readonly outcome: "answered" | "caller" | "fault" | "bug";
  /** Events of a stream that were written. */
  readonly events: number;
  readonly durationMs: number;
}

/** What all requests of one simulator share. */
export interface Floor {
  readonly house: House;
  readonly log: RequestLog;
  readonly formats: readonly WireFormat[];
  readonly report: (line: SimulatorLogLine) => void;
  /** Forgets the requests, and counts faults anew. */
  readonly forget: () => void;
  /** Requests so far. */
  count: number;
  /** Whether the simulator is closing its connections itself. */
  closing: boolean;
}

/** Takes a request from its first byte to the end of its answer. Never rejects. */
export async function handleRequest(
  floor: Floor,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const ended = new Promise<void>((resolve) => response.once("close", resolve));
  // A write that lost the race against the peer's close fails; that the response closes is all that matters.
  response.on("error", () => {});
  const [path = "/", ...rest] = (incoming.url ?? "/").split("?");
  if (isIntrospection(path)) return answerIntrospection(floor, incoming.method ?? "GET", path, response);
  const exchange = await openExchange(floor, incoming, response, {
    path,
    query: new URLSearchParams(rest.join("?")),
  });
  const outcome = await answer(floor, exchange);
  await ended;
  closeExchange(floor, exchange, outcome);
}

interface Arrival extends Exchange {
  /** Undefined where the peer closed before the body had arrived. */
  readonly arrived: ArrivedBody | undefined;
}

async function openExchange(
  floor: Floor,
  incoming: IncomingMessage,
  response: ServerResponse,
  target: Pick<ReceivedRequest, "path" | "query">,
): Promise<Arrival> {
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  floor.count += 1;
  const number = floor.count;
  const receivedAt = now();
  const arrived = await readBody(incoming, largestBody).catch(() => undefined);
  const text = arrived?.text ?? "";
  const body = parseJson(text);
  const requestId = `req_${number.toString(16).padStart(32, "0")}`;
  const { method = "GET", headers } = incoming;
  const head = { number, requestId, method, path: target.path, headers, receivedAt };
  const record: OpenRequest = {
    ...head,
    body: body ?? text,
    bodyBytes: arrived?.bytes ?? 0,
    closedAt: undefined,
    aborted: false,
    status: undefined,
    events: 0,
  };
  floor.log.add(record);
  const request: ReceivedRequest = { ...head, query: target.query, text, body };
  return { request, response, record, signal: closed.signal, arrived };
}

async function answer(floor: Floor, exchange: Arrival): Promise<SimulatorLogLine["outcome"]> {
  const { request, response, signal, arrived } = exchange;
  const format = formatOf(floor, request);
  try {
    if (arrived === undefined) return "caller";
    if (format === undefined) answerPlainly(exchange, 404, unknownPath(floor, request));
    else await answerRequest(exchange, format, floor.house, arrived.tooLarge ? largestBody : undefined);
    return "answered";
  } catch (error) {
    if (error instanceof SocketCut) return "fault";
    if (signal.aborted) return "caller";
    if (response.headersSent) response.destroy();
    else
      answerPlainly(
        exchange,
        500,
        `The simulator has a bug: ${error instanceof Error ? error.message : String(error)}`,
      );
    return "bug";
  }
}

function closeExchange(floor: Floor, exchange: Exchange, outcome: SimulatorLogLine["outcome"]): void {
  const { record, request, response } = exchange;
  const wasCut = outcome === "answered" && !response.writableFinished;
  const seen = outcome === "caller" || wasCut ? (floor.closing ? "fault" : "caller") : outcome;
  floor.log.close(record, seen === "caller");
  const { requestId, method, path, status = 0, events } = record;
  const durationMs = (record.closedAt ?? now()) - record.receivedAt;
  const format = formatOf(floor, request);
  const facts = { format: format?.name ?? "", model: format?.modelOf(request) ?? "" };
  floor.report({ requestId, method, path, ...facts, status, outcome: seen, events, durationMs });
}

function formatOf(floor: Floor, request: ReceivedRequest): WireFormat | undefined {
  return floor.formats.find((format) => format.matches(request));
}

function answerPlainly(exchange: Exchange, status: number, message: string): void {
  exchange.record.status = status;
  exchange.response.writeHead(status, { "content-type": "application/json" });
  exchange.response.end(JSON.stringify({ error: { message } }));
}

function unknownPath(floor: Floor, request: ReceivedRequest): string {
  const known = floor.formats.flatMap((format) => format.endpoints);
  return `The simulator does not answer ${request.method} ${request.path}. It answers ${known.join(", ")}; see GET /simulator/models.`;
}
