/** HTTP/2 by hand, for tests of the bytes of a stream. */
import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";

/** The answer on a stream. */
export interface RawAnswer {
  readonly headers: IncomingHttpHeaders;
  /** The headers if the answer has trailers only (gRPC's Trailers-Only). */
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Path of a method of InferenceService. */
export function inferencePath(method: string): string {
  return `/outrigger.v1.InferenceService/${method}`;
}

/** Opens a stream with a body that is not ended. */
export function openStream(
  session: ClientHttp2Session,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): ClientHttp2Stream {
  return session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    ...headers,
  });
}

/** Reads a stream to its end. */
export function readAnswer(stream: ClientHttp2Stream): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders = {};
  return new Promise((resolve, reject) => {
    stream.on("response", (received) => {
      headers = received;
      if ("grpc-status" in received) trailers = received;
    });
    stream.on("trailers", (received) => {
      trailers = received;
    });
    stream.on("data", (chunk) => chunks.push(chunk));
    stream.on("end", () => resolve({ headers, trailers, body: Buffer.concat(chunks) }));
    stream.on("error", reject);
  });
}

/** Sends one request with a body, and reads the answer. */
export async function exchange(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array | string,
): Promise<RawAnswer> {
  // Node's client takes no headers while more than 10 MB of a request wait, not even the headers of a refusal.
  const session = http2.connect(url, { maxSessionMemory: 1000 });
  try {
    const stream = openStream(session, path, headers);
    stream.end(body);
    return await readAnswer(stream);
  } finally {
    session.destroy();
  }
}

/** A message in the frame of gRPC and of Connect's streams, whose length may be wrong. */
export function frame(message: Uint8Array, flags = 0, length = message.byteLength): Buffer {
  const header = Buffer.alloc(5);
  header.writeUInt8(flags, 0);
  header.writeUInt32BE(length, 1);
  return Buffer.concat([header, message]);
}

/** The frames of a body: their flags and messages. Throws if the last one is cut. */
export function splitFrames(body: Buffer): { flags: number; message: Buffer }[] {
  const frames: { flags: number; message: Buffer }[] = [];
  for (let at = 0; at < body.byteLength; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.byteLength) throw new Error("the last frame is cut");
    frames.push({ flags: body.readUInt8(at), message: body.subarray(at + 5, end) });
    at = end;
  }
  return frames;
}
