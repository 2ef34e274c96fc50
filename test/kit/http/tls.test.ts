/** TLS towards servers: an authority in place of the public ones, and our certificate. */
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { ClientTlsFiles, readClientTls } from "../../../src/config/tls-files.ts";
import { NetworkError } from "../../../src/core/errors.ts";
import { Authority, hasTlsTools, type IssuedFiles, replaceFiles } from "../../support/certificates.ts";
import { getError, openTransport, serveHttp, serveHttps } from "./servers.ts";

const call = { headers: {}, body: "x" };

/** A server that needs a certificate of an authority, and the names in those that it got. */
async function startServer(ca: Authority) {
  const names: string[] = [];
  const { cert, key } = ca.issue();
  const identity = { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(ca.file) };
  const server = await serveHttps(
    { ...identity, requestCert: true, rejectUnauthorized: true },
    ({ socket }, response) => {
      names.push((socket as TLSSocket).getPeerX509Certificate()?.subject ?? "");
      response.setHeader("connection", "close").end("hello");
    },
  );
  return { names, baseUrl: `https://127.0.0.1:${server.port}` };
}

function openFiles(ca: Authority, { cert, key }: IssuedFiles) {
  const paths = { ca: ca.file, certificate: cert, key };
  const reading = readClientTls(paths, "providers.main.tls");
  if ("problem" in reading) throw new Error(reading.problem);
  const files = new ClientTlsFiles(paths, "providers.main.tls", reading.value);
  const lines: [string, object, string][] = [];
  files.follow({
    info: (...line) => void lines.push(["info", ...line]),
    warn: (...line) => void lines.push(["warn", ...line]),
  });
  return { files, lines };
}

describe.skipIf(!hasTlsTools)("a transport with TLS files", () => {
  it("trusts the authority of the files alone, and shows the certificate of the moment", async () => {
    const ca = new Authority();
    const { names, baseUrl } = await startServer(ca);
    const identity = ca.issue({ name: "sidecar-1" });
    const { files, lines } = openFiles(ca, identity);
    const transport = openTransport({ baseUrl, tls: files.current });
    const send = async () => (await transport.post("/", call)).text(100);
    expect(await send()).toBe("hello");
    replaceFiles(identity, ca.issue({ name: "sidecar-2" }));
    expect(await send()).toBe("hello");
    replaceFiles(identity, ca.issue({ name: "sidecar-3", from: -3, to: -1 }));
    expect(await send()).toBe("hello");
    expect(await send()).toBe("hello");
    expect(names).toEqual(["CN=sidecar-1", "CN=sidecar-2", "CN=sidecar-2", "CN=sidecar-2"]);
    const problem = expect.stringContaining(
      "providers.main.tls.certificate_file: expected a certificate that is valid",
    );
    expect(lines).toEqual([
      ["info", { field: "providers.main.tls" }, "using the changed TLS files"],
      [
        "warn",
        { field: "providers.main.tls", problem },
        "cannot use the changed TLS files, keeping the previous ones",
      ],
    ]);
    const proxy = await serveHttp(
      () => {},
      ({ url = "" }, socket) => {
        const target = connect(Number(url.split(":")[1]), "127.0.0.1", () => {
          socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
          socket.pipe(target).pipe(socket);
        });
        socket.on("close", () => target.destroy());
      },
    );
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
    const tunnelled = openTransport({ baseUrl, environment, tls: files.current });
    expect(await (await tunnelled.post("/", call)).text(100)).toBe("hello");
    const exempt = { ...environment, NO_PROXY: "127.0.0.1" };
    const direct = openTransport({ baseUrl, environment: exempt, tls: files.current });
    expect(await (await direct.post("/", call)).text(100)).toBe("hello");
    expect(proxy.sockets).toHaveLength(1);
    const stranger = openTransport({
      baseUrl,
      tls: () => ({ ca: readFileSync(new Authority().file, "utf8") }),
    });
    expect(await getError(stranger.post("/", call))).toBeInstanceOf(NetworkError);
    const nameless = openTransport({ baseUrl, tls: () => ({ ca: readFileSync(ca.file, "utf8") }) });
    expect(await getError(nameless.post("/", call))).toBeInstanceOf(NetworkError);
  });
});
