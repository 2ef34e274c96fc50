/**
 * Streams as lines of text, for programs without a library of gRPC or Connect: the request is the JSON of one message,
 * and each message of the response is a server-sent event (text/event-stream) or a line (application/x-ndjson). A call
 * that fails before its first message gets an HTTP status and Connect's JSON for errors. A call that fails later ends
 * with that JSON as a message named `status`.
 */

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http2";
import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { compressionNegotiate, mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { codeToHttpStatus, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { ByteSink, writeRaw } from "../../../core/scalar-formats.ts";
import { EVENT_STREAM, NDJSON } from "../../base/http-types.ts";
import { toCompression } from "../../requests/decompress.ts";
import { GrowingBuffer } from "../../requests/growing-buffer.ts";
import { tooLarge } from "../../requests/refusals.ts";
import { Metadata } from "../../status/metadata.ts";
import { COMPRESSED, type Frame } from "../grpc/frames.ts";
import type { FrameSource } from "../grpc/request.ts";
import { parseConnectTimeout } from "./connect-protocol.ts";
import { getHeader } from "./enveloped.ts";
import type { FailedResponse, StreamMethod, StreamProtocol, StreamSettings } from "./protocol.ts";

/** The text around the JSON of a message. */
interface LineFormat {
  readonly contentType: string;
  /** Returns the text before a message with a name; the name is undefined for messages without one. */
  readonly before: (name: string | undefined) => Buffer;
  readonly after: Buffer;
}

const NOTHING = Buffer.alloc(0);

const SERVER_SENT_EVENTS: LineFormat = {
  contentType: EVENT_STREAM,
  before: toEventStart,
  after: Buffer.from("\n\n"),
};

const JSON_LINES: LineFormat = {
  contentType: NDJSON,
  before: () => NOTHING,
  after: Buffer.from("\n"),
};

const FORMATS = [SERVER_SENT_EVENTS, JSON_LINES] as const;

// Holds as many entries as the schemas of the services have names.
const beginnings = new Map<string | undefined, Buffer>();

function toEventStart(name: string | undefined): Buffer {
  const known = beginnings.get(name);
  if (known !== undefined) return known;
  const beginning = Buffer.from(name === undefined ? "data: " : `event: ${name}\ndata: `);
  beginnings.set(name, beginning);
  return beginning;
}

/** Returns the protocol of a call; undefined if the header `accept` names none of the types. */
export function linesProtocol(
  headers: IncomingHttpHeaders,
  method: StreamMethod,
  settings: StreamSettings,
): StreamProtocol | undefined {
  const format = acceptedFormat(headers.accept);
  if (format === undefined) return undefined;
  const { compressions, intake, jsonOptions } = settings;
  const { contentType, after } = format;
  return {
    name: "connect",
    headers: { "content-type": contentType, "cache-control": "no-cache" },
    timeoutMs: () => parseConnectTimeout(headers),
    readRequest(share) {
      const encoding = getHeader(headers, "content-encoding");
      const { request, error } = compressionNegotiate([...compressions], encoding, null, "accept-encoding");
      if (error !== undefined) throw error;
      const announced = Number(headers["content-length"] ?? 0);
      if (announced > 0) share.expect(announced);
      return {
        frames: new WholeBody(intake.limits.maxMessageBytes, request !== null),
        compression: toCompression(request?.name),
        codec: method.json,
      };
    },
    encode: (messages) => encodeLines(messages, method, format),
    endHasTrailers: false,
    encodeEnd(_trailer, error) {
      if (error === undefined) return NOTHING;
      const json = Buffer.concat([STATUS_START, errorToJsonBytes(error, jsonOptions), STATUS_END]);
      return Buffer.concat([format.before(STATUS_NAME), json, after]);
    },
    fail: (error) => toFailure(error, settings),
  };
}

const STATUS_NAME = "status";
const STATUS_START = Buffer.from(`{"${STATUS_NAME}":`);
const STATUS_END = Buffer.from("}");

/**
 * Returns the first of our types in a header, whatever its weight: a client that cannot read a type does not name it.
 */
function acceptedFormat(accept = ""): LineFormat | undefined {
  for (const range of accept.split(",")) {
    const [type = ""] = range.split(";");
    const format = FORMATS.find(({ contentType }) => contentType === type.trim().toLowerCase());
    if (format !== undefined) return format;
  }
  return undefined;
}

// Shared by all calls: no other code runs between `start` and `take`.
const sink = new ByteSink();

function encodeLines(
  messages: readonly Message[],
  { json, getName }: StreamMethod,
  { before, after }: LineFormat,
): Buffer {
  sink.start();
  for (const message of messages) {
    writeRaw(before(getName(message)), sink);
    json.encode(message, sink);
    writeRaw(after, sink);
  }
  return sink.take();
}

function toFailure(error: ConnectError, { jsonOptions }: StreamSettings): FailedResponse {
  const metadata = new Metadata();
  // An error may carry the headers of a response that a service got from another server.
  mergeNonProtocolHeaders(metadata, error.metadata);
  const headers: OutgoingHttpHeaders = {};
  metadata.writeTo(headers);
  headers["content-type"] = "application/json";
  return { status: codeToHttpStatus(error.code), headers, body: errorToJsonBytes(error, jsonOptions) };
}

/** A body with a single message. */
class WholeBody implements FrameSource {
  readonly #maxBytes: number;
  readonly #compressed: boolean;
  readonly #body = new GrowingBuffer();

  constructor(maxBytes: number, compressed: boolean) {
    this.#maxBytes = maxBytes;
    this.#compressed = compressed;
  }

  get isEmpty(): boolean {
    return this.#body.length === 0;
  }

  /** @throws ConnectError RESOURCE_EXHAUSTED as soon as the body is over the limit. */
  push(chunk: Buffer): void {
    if (this.#body.length + chunk.byteLength > this.#maxBytes) throw tooLarge("more", this.#maxBytes);
    this.#body.append(chunk);
  }

  next(): undefined {}

  end(): Frame {
    return { flags: this.#compressed ? COMPRESSED : 0, bytes: this.#body.take() };
  }

  discard(): void {
    this.#body.take();
  }
}
