import type { IncomingHttpHeaders } from "node:http2";
import { toMessageEncoder } from "../../../core/message-encoder.ts";
import { type AccessControl, openAdmission } from "../../access/access-control.ts";
import { getPeerName } from "../../access/peer-names.ts";
import type { StreamHandler } from "../../base/http-types.ts";
import type { Service } from "../../calls/service.ts";
import type { UnsentResponses } from "../../http/flushed-response.ts";
import { binaryCodec } from "../../requests/codec.ts";
import type { Intake } from "../../requests/intake.ts";
import type { CallObserver } from "../../telemetry/call-observer.ts";
import { type GrpcMethod, serveExchange } from "./exchange.ts";

/** The parts of a gRPC transport. */
export interface GrpcTransportOptions {
  readonly services: readonly Service[];
  readonly intake: Intake;
  readonly unsent: UnsentResponses;
  /** Undefined if calls need no access key. */
  readonly access?: AccessControl | undefined;
  readonly observers: readonly CallObserver[];
}

/**
 * Serves gRPC directly on the streams of HTTP/2. Takes calls of methods that exist, and leaves every other request to
 * the HTTP APIs, which answer unknown methods and wrong content types.
 */
export function createGrpcTransport({
  services,
  intake,
  unsent,
  access,
  observers,
}: GrpcTransportOptions): StreamHandler {
  const methods = collectMethods(services);
  return (stream, headers, fields) => {
    if (!isGrpc(headers)) return false;
    const method = methods.get(headers[":path"] ?? "");
    if (method === undefined) return false;
    const isChecked = access !== undefined && !method.isOpen;
    const admission = isChecked
      ? access.admit(headers, { certificate: getPeerName(stream.session) })
      : openAdmission;
    const call = { method, stream, headers, fields, intake, unsent, observers };
    if (admission instanceof Promise) {
      // Without a listener the event would end the process.
      stream.on("error", () => {});
      void admission.then((settled) => serveExchange(call, settled));
    } else void serveExchange(call, admission);
    return true;
  };
}

/**
 * Reports whether a request is gRPC with protobuf. Requests with an origin come from browsers, so they are left to the
 * check of origins.
 */
function isGrpc({ ":method": method, "content-type": type, origin }: IncomingHttpHeaders): boolean {
  return (
    (type === "application/grpc" || type === "application/grpc+proto") &&
    method === "POST" &&
    origin === undefined
  );
}

/** Collects the methods of all services by their paths. */
function collectMethods(services: readonly Service[]): ReadonlyMap<string, GrpcMethod> {
  const prepared = services.flatMap(({ methods, isOpen }) =>
    methods.map((spec): GrpcMethod => {
      const { name, parent, input, output } = spec.method;
      const rpc = `${parent.typeName}/${name}`;
      return { rpc, spec, isOpen, codec: binaryCodec(input), encode: toMessageEncoder(output) };
    }),
  );
  return new Map(prepared.map((method) => [`/${method.rpc}`, method]));
}
