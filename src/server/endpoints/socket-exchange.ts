/** Serves one WebSocket of an HTTP API, from its handshake to its end. */
import { Code } from "@connectrpc/connect";
import type { SDKError } from "../../core/errors.ts";
import type { MemoryShare } from "../../core/memory-pool.ts";
import type { ModelClient } from "../../generation/loop/model-calls.ts";
import type { EndpointRoute } from "../../http/endpoint.ts";
import { createDisconnect } from "../calls/call-context.ts";
import { InferenceRecord } from "../calls/inference-record.ts";
import { PeerClosedError } from "../http/flushed-response.ts";
import type { UpgradedConnection } from "../http/route.ts";
import type { CallMemory } from "../requests/request-memory.ts";
import { getCode } from "../status/status-code.ts";
import type { TransportOutcome } from "../telemetry/call-observer.ts";
import { closeCodes, discardRest, SocketChannel } from "../websocket/socket-channel.ts";
import type { ApiParts } from "./exchange.ts";
import { toEndpointRequest } from "./request.ts";

/** A socket and the parts that serve it. */
export interface SocketExchangeOptions extends ApiParts {
  readonly route: EndpointRoute & Required<Pick<EndpointRoute, "connect">>;
  readonly upgraded: UpgradedConnection;
}

/** Serves a socket. Resolves with its outcome when it is closed; never rejects. */
export async function serveApiSocket(options: SocketExchangeOptions): Promise<TransportOutcome> {
  const { upgraded, intake, calls, sockets } = options;
  const owner = upgraded.recorder.call.caller.name;
  let share: CallMemory;
  if (!sockets.admits(owner)) return refuse(upgraded, "too many sockets of this caller are open");
  try {
    share = intake.memory.begin(owner, upgraded.request.rawHeaders.length / 2);
  } catch {
    return refuse(upgraded, "too many calls are in progress");
  }
  const work = new AbortController();
  calls.add(work);
  const outcome = await serve(options, share, work);
  share.release();
  calls.delete(work);
  return outcome;
}

function refuse(upgraded: UpgradedConnection, reason: string): TransportOutcome {
  upgraded.socket.close(closeCodes.tryAgainLater, reason);
  discardRest(upgraded);
  return { code: Code.ResourceExhausted, disconnected: false };
}

async function serve(
  { route, upgraded, intake, unsent, client: models, sockets }: SocketExchangeOptions,
  share: CallMemory,
  work: AbortController,
): Promise<TransportOutcome> {
  const { socket, connection, request, recorder, admit } = upgraded;
  const { limits } = intake;
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>();
  const onClosing = () => work.abort(createDisconnect());
  const onClose = () => {
    onClosing();
    onClosed();
  };
  const record = new InferenceRecord(models, recorder);
  let outcome: TransportOutcome = { code: undefined, disconnected: false };
  const noteFailure = (error: SDKError) => {
    record.fail(error);
    outcome = { code: getCode(error.kind), disconnected: false, error };
  };
  const { caller } = recorder.call;
  const { signal } = work;
  const channel = new SocketChannel({
    socket,
    connection,
    limits,
    unsent,
    share,
    signal,
    openMemory: () => intake.memory.openMemory(caller.name),
    createClient: (memory) => withMemory(record, memory),
    admit,
    onClosing,
    onClose,
  });
  sockets.add(channel, caller.name);
  try {
    await route.connect(
      channel,
      toEndpointRequest(request, { recorder, client: record, signal, intake, share, noteFailure }),
    );
  } catch (thrown) {
    if (!(thrown instanceof PeerClosedError))
      outcome = { code: Code.Internal, disconnected: false, fault: thrown };
    channel.close(closeCodes.internalError, "internal error");
  }
  if (socket.readyState !== socket.CLOSED) await closed;
  sockets.remove(channel);
  record.end(signal);
  return outcome;
}

function withMemory(record: InferenceRecord, memory: MemoryShare): ModelClient {
  return {
    resolveModel: (name) => record.resolveModel(name),
    complete: (request, options) => record.complete(request, { ...options, memory }),
    stream: (request, options) => record.stream(request, { ...options, memory }),
  };
}
