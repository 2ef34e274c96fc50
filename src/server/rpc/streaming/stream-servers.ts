import { type DescMessage, type JsonWriteOptions, toJsonString } from "@bufbuild/protobuf";
import { createMethodUrl } from "@connectrpc/connect/protocol";
import { parseContentType as parseConnectType } from "@connectrpc/connect/protocol-connect";
import { parseContentType as parseGrpcWebType } from "@connectrpc/connect/protocol-grpc-web";
import { type MessageEncoder, toMessageEncoder } from "../../../core/message-encoder.ts";
import type { ByteSink } from "../../../core/scalar-formats.ts";
import type { HttpRequest, HttpResponse } from "../../base/http-types.ts";
import type { Service } from "../../calls/service.ts";
import { binaryCodec, jsonCodec } from "../../requests/codec.ts";
import type { TransportOutcome } from "../../telemetry/call-observer.ts";
import type { CallRecorder } from "../../telemetry/call-recorder.ts";
import { connectProtocol } from "./connect-protocol.ts";
import { linesProtocol } from "./event-lines.ts";
import { serveStream } from "./exchange.ts";
import { grpcWebProtocol } from "./grpc-web-protocol.ts";
import type { StreamMethod, StreamProtocol, StreamSettings, StreamSpec } from "./protocol.ts";

/**
 * Serves a call of one method. If the request matches no protocol for streams, it does nothing and returns undefined.
 */
export type ServeStream = (
  request: HttpRequest,
  response: HttpResponse,
  recorder: CallRecorder,
) => Promise<TransportOutcome> | undefined;

/** Creates the functions that serve the streaming methods, by their paths. */
export function createStreamServers(
  services: readonly Service[],
  settings: StreamSettings,
): ReadonlyMap<string, ServeStream> {
  const servers = new Map<string, ServeStream>();
  for (const spec of services.flatMap(({ methods }) => methods)) {
    if (spec.kind !== "server_streaming" && spec.kind !== "bidi_streaming") continue;
    servers.set(
      createMethodUrl("/", spec.method),
      createStreamServer(createStreamMethod(spec, settings), settings),
    );
  }
  return servers;
}

function createStreamServer(method: StreamMethod, settings: StreamSettings): ServeStream {
  return (request, response, recorder) => {
    const protocol = findStreamProtocol(request, method, settings);
    if (protocol === undefined) return undefined;
    return serveStream({ spec: method.spec, protocol, settings, request, response, recorder });
  };
}

/** Returns the protocol of a call to a streaming method. Undefined for gRPC, and if the request matches no protocol. */
function findStreamProtocol(
  { method: verb, headers, httpVersionMajor }: HttpRequest,
  method: StreamMethod,
  settings: StreamSettings,
): StreamProtocol | undefined {
  const isBidi = method.spec.kind === "bidi_streaming";
  // A bidirectional stream needs HTTP/2; Connect's handlers report that.
  if (verb !== "POST" || (isBidi && httpVersionMajor < 2)) return undefined;
  const type = headers["content-type"] ?? null;
  const connect = parseConnectType(type);
  if (connect !== undefined) {
    if (connect.stream)
      return connectProtocol(headers, connect.binary ? method.binary : method.json, settings);
    return connect.binary || isBidi ? undefined : linesProtocol(headers, method, settings);
  }
  const web = parseGrpcWebType(type);
  return web === undefined
    ? undefined
    : grpcWebProtocol(headers, web.binary ? method.binary : method.json, settings);
}

/** Prepares a method for calls. */
function createStreamMethod(spec: StreamSpec, { jsonOptions }: StreamSettings): StreamMethod {
  const { input, output } = spec.method;
  return {
    spec,
    binary: {
      isJson: false,
      encode: toMessageEncoder(output),
      ...binaryCodec(input),
    },
    json: {
      isJson: true,
      encode: createJsonEncoder(output, jsonOptions),
      ...jsonCodec(input, jsonOptions),
    },
    getName: messageNamer(output),
  };
}

/** Returns a function that names messages whose type has exactly one oneof. */
function messageNamer({ oneofs }: DescMessage): StreamMethod["getName"] {
  const [oneof, another] = oneofs;
  if (oneof === undefined || another !== undefined) return () => undefined;
  const { localName } = oneof;
  const names = new Map(oneof.fields.map((field) => [field.localName, field.jsonName]));
  return (message) => {
    const value: { readonly case?: string } = Reflect.get(message, localName);
    return names.get(value.case ?? "");
  };
}

/** Creates an encoder that writes a message type as JSON (ProtoJSON): the same text as `toJsonString`. */
function createJsonEncoder(desc: DescMessage, options: Partial<JsonWriteOptions>): MessageEncoder {
  return (message, sink) => writeText(toJsonString(desc, message, options), sink);
}

/** Largest number of UTF-8 bytes for a UTF-16 code unit. */
const MAX_UTF8_BYTES = 3;

function writeText(text: string, sink: ByteSink): void {
  // Counting is slower than writing, so it is done only if the buffer may be too small.
  const fits = sink.position + MAX_UTF8_BYTES * text.length <= sink.buffer.length;
  if (!fits) sink.reserve(Buffer.byteLength(text));
  sink.position += sink.buffer.write(text, sink.position);
}
