/** Serves one call of a streaming method, over HTTP/1.1 or HTTP/2, from its headers to the end of its response. */
import { create, type Message } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { toBatches } from "../../../core/batches.ts";
import { runInTurn } from "../../../core/loop-turns.ts";
import type { HttpRequest, HttpResponse } from "../../base/http-types.ts";
import { PeerClosedError } from "../../http/peer-closed-error.ts";
import { discardBody } from "../../http/request-body.ts";
import type { RequestShare } from "../../requests/request-memory.ts";
import { toFailure } from "../../status/status.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import { disconnectedOutcome, type TransportOutcome } from "../../telemetry/outcome.ts";
import { CallContext, DISCONNECTED } from "../grpc/context.ts";
import { RequestMessages } from "../grpc/request.ts";
import type { StreamProtocol, StreamSettings, StreamSpec } from "./protocol.ts";
import { StreamResponse } from "./response.ts";

/** The request of a call. */
export interface ExchangeOptions {
  readonly spec: StreamSpec;
  readonly protocol: StreamProtocol;
  readonly settings: StreamSettings;
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly recorder: CallRecorder;
}

/** Serves a call. Resolves with its outcome when its response is flushed, or its peer is gone; never rejects. */
export async function serveStream(options: ExchangeOptions): Promise<TransportOutcome> {
  const { spec, protocol, request, response, recorder } = options;
  const { headers, url = "/" } = request;
  const context = new CallContext(spec.method, recorder, { protocolName: protocol.name, headers, path: url });
  const { intake, unsent } = options.settings;
  const writer = new StreamResponse(response, { protocol, recorder, context, unsent });
  const onClose = () => {
    if (writer.ended) return;
    writer.disconnect();
    context.abort(DISCONNECTED);
  };
  response.once("close", () => runInTurn(onClose));
  let outcome = OK;
  let share: RequestShare | undefined;
  try {
    share = intake.memory.begin(recorder.call.caller.name);
    await run(options, share, context, writer);
  } catch (thrown) {
    outcome = await sendFailure(thrown, options, writer);
  }
  share?.release();
  context.finish();
  discardBody(request);
  return writer.disconnected ? disconnectedOutcome() : outcome;
}

const OK: TransportOutcome = { code: undefined, disconnected: false };

async function run(
  { spec, protocol, settings: { intake }, request }: ExchangeOptions,
  share: RequestShare,
  context: CallContext,
  writer: StreamResponse,
): Promise<void> {
  context.expireIn(protocol.timeoutMs());
  const isSingle = spec.kind !== "bidi_streaming";
  const requests = new RequestMessages(request, { ...protocol.readRequest(share), intake, share, isSingle });
  context.share = share;
  context.onAbort = (reason) => requests.fail(reason);
  try {
    const messages =
      spec.kind === "bidi_streaming"
        ? spec.impl(requests, context)
        : spec.impl(await requests.single(), context);
    for await (const batch of toBatches(messages)) {
      const waiting = writer.send(batch.map((init): Message => create(spec.method.output, init)));
      if (waiting !== undefined) await waiting;
    }
    await writer.end();
  } finally {
    context.onAbort = undefined;
    requests.drop();
  }
}

/** Sends the status of a call that failed, unless the peer is gone. */
async function sendFailure(
  thrown: unknown,
  { recorder, response }: ExchangeOptions,
  writer: StreamResponse,
): Promise<TransportOutcome> {
  if (writer.disconnected || thrown instanceof PeerClosedError) return disconnectedOutcome();
  const { status, fault } = toFailure(thrown, recorder.call.rpc);
  try {
    await writer.end(status);
  } catch (headerFault) {
    // The service has set headers that HTTP does not allow.
    response.destroy();
    return { code: Code.Internal, disconnected: false, fault: headerFault };
  }
  return { code: status.code, disconnected: false, fault };
}
