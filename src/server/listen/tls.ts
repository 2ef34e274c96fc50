import type { Socket } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import type { TlsMaterial, TlsOptions } from "../../config/tls-files.ts";

/** Protocols that a listener offers (ALPN, RFC 7301), the preferred one first. */
const PROTOCOLS = ["h2", "http/1.1"];

/**
 * Creates the TLS side of a listener: a function that performs the handshake of a connection. TLS 1.2 and newer.
 * A new certificate is used by handshakes that begin after it was set; connections stay.
 * @param timeoutMs A connection whose handshake takes longer is destroyed.
 * @param serve Called with each connection whose handshake succeeded.
 */
export function createHandshakes(
  tls: TlsOptions,
  timeoutMs: number,
  serve: (socket: TLSSocket) => void,
): (socket: Socket) => void {
  const settings = {
    minVersion: "TLSv1.2",
    ALPNProtocols: PROTOCOLS,
    handshakeTimeout: timeoutMs,
    requestCert: tls.clientCertificates !== "none",
    rejectUnauthorized: tls.clientCertificates === "required",
  } as const;
  // Never listens itself.
  const server = createServer({ ...settings, ...toContext(tls.current()) }, serve);
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  tls.onChange((material) => server.setSecureContext({ ...settings, ...toContext(material) }));
  return (socket) => void server.emit("connection", socket);
}

/** Without authorities for callers nobody's certificate is accepted. By default, all public authorities would be. */
function toContext({ cert, key, ca }: TlsMaterial) {
  return { cert, key, ca: ca ?? [] };
}

/**
 * Returns the name that a caller's certificate gives it: its SPIFFE id (a URI among the alternative names), or else the
 * common name of its subject. Empty if it has no such name of up to 256 visible characters. Undefined without a valid
 * certificate.
 */
export function readPeerName(socket: TLSSocket): string | undefined {
  if (!socket.authorized) return undefined;
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  const name = findSpiffeId(certificate.subjectAltName ?? "") ?? findCommonName(certificate.subject);
  return name !== undefined && NAME.test(name) ? name : "";
}

const NAME = /^[\x20-\x7e]{1,256}$/;

/** Node quotes names that hold a comma or a quotation mark, so that no name can look like two. */
const ALTERNATIVE_NAME = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/gy;

function findSpiffeId(names: string): string | undefined {
  for (const [, kind, name] of names.matchAll(ALTERNATIVE_NAME))
    if (kind === "URI" && name?.startsWith("spiffe://")) return name;
  return undefined;
}

/** The subject has a line for each of its parts; Node escapes line breaks in them. */
function findCommonName(subject = ""): string | undefined {
  return /^CN=(.+)$/m.exec(subject)?.[1];
}
