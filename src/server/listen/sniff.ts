import type { Socket } from "node:net";

/** The HTTP version of a connection. */
export type HttpVersion = "http1" | "http2";

/**
 * Reads the first bytes of a connection until they show its HTTP version, and puts them back.
 * @param timeoutMs A socket that is still undecided by then is destroyed.
 * @param decide Called once, unless the socket closes first.
 */
export function sniff(socket: Socket, timeoutMs: number, decide: (version: HttpVersion) => void): void {
  let seen: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const stop = () => {
    clearTimeout(timer);
    socket.off("readable", onReadable).off("end", onEnd).off("close", stop).off("error", ignore);
  };
  const onEnd = () => socket.destroy();
  const onReadable = () => {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const version = readVersion(seen);
    if (version === undefined) return;
    stop();
    socket.unshift(seen);
    decide(version);
  };
  // Without a listener an error would be thrown; `close` follows it.
  socket.on("readable", onReadable).on("end", onEnd).on("close", stop).on("error", ignore);
}

/** Returns the version that the first bytes of a connection show; undefined while both are possible. */
export function readVersion(bytes: Uint8Array): HttpVersion | undefined {
  const length = Math.min(bytes.length, HTTP2_PREFACE.length);
  if (HTTP2_PREFACE.compare(bytes, 0, length, 0, length) !== 0) return "http1";
  return length === HTTP2_PREFACE.length ? "http2" : undefined;
}

// RFC 9113 §3.4
const HTTP2_PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

function ignore(): void {
  // Empty: see the comment at the use.
}
