import type { IncomingMessage, ServerResponse } from "node:http";
import { InjectedCut } from "./delivery/body-writer.ts";
import { answerRequest, type Exchange } from "./exchange.ts";
import { answerIntrospection, isIntrospection } from "./introspection.ts";
import { type ArrivedBody, parseJson, readBody } from "./read-body.ts";
import { now, type OpenRequest } from "./request-log.ts";
import type { SimulatorLogLine, SimulatorState } from "./simulator-state.ts";
import type { ReceivedRequest, WireFormat } from "./wire-format.ts";

/** Maximum size of a request body: 64 MiB, more than any provider accepts. */
const largestBody = 64 * 1024 * 1024;

/** Handles a request from its first byte to the end of the response. Never rejects. */
export async function handleRequest(
  state: SimulatorState,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const ended = new Promise<void>((resolve) => response.once("close", resolve));
  // Writing fails if the caller has closed the connection. The "close" event that follows ends the exchange.
  response.on("error", () => {});
  const [path = "/", ...rest] = (incoming.url ?? "/").split("?");
  if (isIntrospection(path)) return answerIntrospection(state, incoming.method ?? "GET", path, response);
  const exchange = await openExchange(state, incoming, response, {
    path,
    query: new URLSearchParams(rest.join("?")),
  });
  const outcome = await answer(state, exchange);
  await ended;
  closeExchange(state, exchange, outcome);
}

interface OpenedExchange extends Exchange {
  /** Undefined if the caller closed before the body had arrived. */
  readonly arrived: ArrivedBody | undefined;
}

async function openExchange(
  state: SimulatorState,
  incoming: IncomingMessage,
  response: ServerResponse,
  target: Pick<ReceivedRequest, "path" | "query">,
): Promise<OpenedExchange> {
  const closed = new AbortController();
  response.once("close", () => closed.abort());
  state.count += 1;
  const number = state.count;
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
  state.log.add(record);
  const request: ReceivedRequest = { ...head, query: target.query, text, body };
  return { request, response, record, signal: closed.signal, arrived };
}

async function answer(state: SimulatorState, exchange: OpenedExchange): Promise<SimulatorLogLine["outcome"]> {
  const { request, response, signal, arrived } = exchange;
  const format = getFormat(state, request);
  try {
    if (arrived === undefined) return "caller";
    if (format === undefined) answerPlainly(exchange, 404, unknownPath(state, request));
    else await answerRequest(exchange, format, state.context, arrived.tooLarge ? largestBody : undefined);
    return "answered";
  } catch (error) {
    if (error instanceof InjectedCut) return "fault";
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

function closeExchange(
  state: SimulatorState,
  exchange: Exchange,
  outcome: SimulatorLogLine["outcome"],
): void {
  const { record, request, response } = exchange;
  const wasCut = outcome === "answered" && !response.writableFinished;
  const finalOutcome = outcome === "caller" || wasCut ? (state.closing ? "fault" : "caller") : outcome;
  state.log.close(record, finalOutcome === "caller");
  const { requestId, method, path, status = 0, events } = record;
  const durationMs = (record.closedAt ?? now()) - record.receivedAt;
  const format = getFormat(state, request);
  const facts = { format: format?.name ?? "", model: format?.getModel(request) ?? "" };
  state.report({ requestId, method, path, ...facts, status, outcome: finalOutcome, events, durationMs });
}

function getFormat(state: SimulatorState, request: ReceivedRequest): WireFormat | undefined {
  return state.formats.find((format) => format.matches(request));
}

function answerPlainly(exchange: Exchange, status: number, message: string): void {
  exchange.record.status = status;
  exchange.response.writeHead(status, { "content-type": "application/json" });
  exchange.response.end(JSON.stringify({ error: { message } }));
}

function unknownPath(state: SimulatorState, request: ReceivedRequest): string {
  const known = state.formats.flatMap((format) => format.endpoints);
  return `The simulator does not answer ${request.method} ${request.path}. It answers ${known.join(", ")}; see GET /simulator/models.`;
}
