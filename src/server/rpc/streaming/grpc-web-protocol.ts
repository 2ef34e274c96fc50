/** Streams of gRPC-Web (PROTOCOL-WEB.md): gRPC's streams, with the trailers as the last message of the body. */
import type { IncomingHttpHeaders } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { trailerFlag } from "@connectrpc/connect/protocol-grpc-web";
import {
  Base64Decoder,
  encodeBase64,
  isTextRequest,
  takesTextResponse,
  toTextType,
} from "../../http/grpc-web-text.ts";
import type { Metadata } from "../../status/metadata.ts";
import { toTrailers } from "../../status/trailers.ts";
import type { FrameSource } from "../grpc/request.ts";
import { parseTimeout } from "../grpc/request-headers.ts";
import { envelopedProtocol, getHeader } from "./enveloped.ts";
import type { MessageCodec, RequestFormat, StreamProtocol, StreamSettings } from "./protocol.ts";

/** Creates the protocol of a call. */
export function grpcWebProtocol(
  headers: IncomingHttpHeaders,
  codec: MessageCodec,
  settings: StreamSettings,
): StreamProtocol {
  const contentType = `application/grpc-web+${codec.isJson ? "json" : "proto"}`;
  const variant = {
    name: "grpc-web",
    contentType: takesTextResponse(headers) ? toTextType(contentType) : contentType,
    encodingHeader: "grpc-encoding",
    acceptHeader: "grpc-accept-encoding",
    timeoutMs: () => parseTimeout(getHeader(headers, "grpc-timeout") ?? undefined),
    endFlag: trailerFlag,
    encodeEnd: encodeTrailers,
  };
  return withText(headers, envelopedProtocol(variant, headers, codec, settings));
}

function encodeTrailers(metadata: Metadata, error: ConnectError | undefined): Uint8Array {
  const lines = Object.entries(toTrailers(metadata, error)).flatMap(([name, value]) =>
    [value].flat().map((each) => `${name}: ${each}\r\n`),
  );
  return Buffer.from(lines.join(""));
}

/** Wraps a protocol to send or read its bytes as text, in the directions that the client asks for. */
function withText(headers: IncomingHttpHeaders, protocol: StreamProtocol): StreamProtocol {
  const { readRequest, encode, encodeEnd } = protocol;
  const reading: Partial<StreamProtocol> = isTextRequest(headers)
    ? { readRequest: (share) => toTextRequest(readRequest(share)) }
    : {};
  const writing: Partial<StreamProtocol> = takesTextResponse(headers)
    ? {
        encode: (messages) => encodeBase64(encode(messages)),
        encodeEnd: (trailer, error) => encodeBase64(encodeEnd(trailer, error)),
      }
    : {};
  return { ...protocol, ...reading, ...writing };
}

function toTextRequest(options: RequestFormat): RequestFormat {
  return { ...options, frames: new TextFrames(options.frames) };
}

/** Reads frames from base64. */
class TextFrames implements FrameSource {
  readonly #decoder = new Base64Decoder();
  readonly #frames: FrameSource;

  constructor(frames: FrameSource) {
    this.#frames = frames;
  }

  get isEmpty(): boolean {
    return this.#frames.isEmpty;
  }

  push(chunk: Buffer): void {
    this.#frames.push(this.#decoder.decode(chunk));
  }

  next(): ReturnType<FrameSource["next"]> {
    return this.#frames.next();
  }

  end(): ReturnType<FrameSource["end"]> {
    this.#decoder.end();
    return this.#frames.end();
  }

  discard(): void {
    this.#frames.discard();
  }
}
