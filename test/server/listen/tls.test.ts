/** Listeners with TLS, with certificates that openssl has signed. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { text } from "node:stream/consumers";
import { type ConnectionOptions, connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import * as grpc from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import { readTlsFiles, TlsFiles } from "../../../src/config/tls-files.ts";
import { InferenceService } from "../../../src/gen/outrigger/v1/inference_service_pb.ts";
import { AccessControl } from "../../../src/server/access/access-control.ts";
import { Authority, hasTlsTools, type IssuedFiles, replaceFiles } from "../../support/certificates.ts";
import { callGrpc } from "../support/clients.ts";
import { oneByOne, type Script, textEvents, textResponse } from "../support/scripted-inference.ts";
import {
  recordingLogger,
  type TestServer,
  type TestServerOptions,
  useTestServers,
} from "../support/test-server.ts";

const servers = useTestServers();
const { complete, stream } = InferenceService.method;
const execute = promisify(execFile);

const ANSWERS: Script = {
  complete: async (call) => textResponse(call, "hello"),
  stream: (call) => oneByOne(textEvents(call, ["hel", "lo"])),
};

interface Identity {
  readonly files: IssuedFiles;
  readonly clientCa?: string;
  readonly clientCertificates?: "required" | "optional";
}

/** Starts a server that opens its files as a sidecar does. */
async function start(
  { files, clientCa, clientCertificates = "required" }: Identity,
  { script = ANSWERS, ...options }: TestServerOptions & { readonly script?: Script } = {},
) {
  const { logger, lines } = recordingLogger();
  const paths = { certificate: files.cert, key: files.key, clientCa };
  const reading = readTlsFiles(paths, "tls");
  if ("problem" in reading) throw new Error(reading.problem);
  const wanted = clientCa === undefined ? ("none" as const) : clientCertificates;
  const { value: material } = reading;
  const tls = new TlsFiles({ field: "tls", files: paths, clientCertificates: wanted, material }, logger);
  servers.onEnd(() => tls.close());
  return { server: await servers.start(script, { tls, ...options }), tls, lines };
}

/** Opens a client of grpc-js that trusts an authority. */
function openGrpc({ authority }: TestServer, ca: Authority, identity?: IssuedFiles): grpc.Client {
  const [key, cert] = [identity?.key, identity?.cert].map((path) => (path ? readFileSync(path) : null));
  const credentials = grpc.credentials.createSsl(readFileSync(ca.file), key, cert);
  const client = new grpc.Client(authority, credentials, {
    "grpc.enable_retries": 0,
    "grpc.use_local_subchannel_pool": 1,
  });
  servers.onEnd(() => client.close());
  return client;
}

/** Calls Complete by curl. Returns the body, the HTTP version and the status. */
async function callByCurl({ authority }: TestServer, ...args: string[]): Promise<string> {
  const url = `https://${authority}/outrigger.v1.InferenceService/Complete`;
  const request = ["-H", "content-type: application/json", "-d", JSON.stringify({ model: "m" })];
  const format = ["-w", "\n%{http_version} %{http_code}"];
  const { stdout } = await execute("curl", ["-sS", "--noproxy", "*", ...request, ...format, ...args, url]);
  return stdout;
}

/** Makes a handshake, and returns what both sides agreed on. */
function shakeHands({ authority }: TestServer, options: ConnectionOptions) {
  const [host = "", port] = authority.split(":");
  return new Promise<{ protocol: string | null; alpn: unknown; serial: string }>((resolve, reject) => {
    const socket = connectTls({ host, port: Number(port), ...options }, () => {
      const serial = socket.getPeerX509Certificate()?.serialNumber ?? "";
      resolve({ protocol: socket.getProtocol(), alpn: socket.alpnProtocol, serial });
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

describe.skipIf(!hasTlsTools)("a listener with TLS", () => {
  it("serves gRPC, and HTTP of both versions to curl, by ALPN", async () => {
    const ca = new Authority();
    const { server } = await start({ files: ca.issue() });
    const client = openGrpc(server, ca);
    expect(await callGrpc(client, complete, { model: "m" })).toMatchObject({ code: 0 });
    expect(await callGrpc(client, stream, { model: "m" })).toMatchObject({
      code: 0,
      messages: { length: 6 },
    });
    expect(await callByCurl(server, "--cacert", ca.file, "--http2")).toMatch(/hello[\s\S]*\n2 200$/);
    expect(await callByCurl(server, "--cacert", ca.file, "--http1.1")).toMatch(/hello[\s\S]*\n1.1 200$/);
    const root = readFileSync(ca.file);
    const agreed = (ALPNProtocols: string[]) => shakeHands(server, { ca: root, ALPNProtocols });
    expect(await agreed(["http/1.1", "h2"])).toMatchObject({ alpn: "h2", protocol: "TLSv1.3" });
    expect(await agreed([])).toMatchObject({ alpn: false });
    await expect(agreed(["spdy/1"])).rejects.toThrow();
  });

  it("takes no TLS before 1.2, no clear text, and no handshake without an end", async () => {
    const ca = new Authority();
    const { server } = await start({ files: ca.issue() }, { limits: { protocolTimeoutMs: 100 } });
    const root = readFileSync(ca.file);
    const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "ALL:@SECLEVEL=0" } as const;
    await expect(shakeHands(server, { ca: root, ...old })).rejects.toThrow();
    const middle = { ca: root, maxVersion: "TLSv1.2" } as const;
    expect(await shakeHands(server, middle)).toMatchObject({ protocol: "TLSv1.2" });
    const [host = "", port] = server.authority.split(":");
    for (const bytes of ["GET / HTTP/1.1\r\n\r\n", ""]) {
      const socket = connectTcp({ host, port: Number(port) });
      socket.write(bytes);
      await new Promise((resolve) =>
        socket
          .resume()
          .on("error", () => {})
          .once("close", resolve),
      );
    }
  });

  it("closes a connection whose peer leaves in the handshake, and answers one that only closes its side", async () => {
    const ca = new Authority();
    const { server } = await start({ files: ca.issue() });
    const [host = "", port] = server.authority.split(":");
    const startedAt = performance.now();
    const left = connectTcp(Number(port), host).on("error", () => {});
    // The beginning of a ClientHello.
    left.end(Buffer.from("1603010200010001fc0303", "hex"));
    await new Promise((resolve) => left.resume().once("close", resolve));
    expect(performance.now() - startedAt).toBeLessThan(5000);
    const half = connectTls({ host, port: Number(port), ca: readFileSync(ca.file) });
    half.end("GET /nothing HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    expect(await text(half)).toContain("HTTP/1.1 404");
  });

  it("is drained like any other: calls in flight finish", async () => {
    const ca = new Authority();
    const go = Promise.withResolvers<void>();
    const slow: Script = {
      stream: async function* (call) {
        const events = textEvents(call, ["a"]);
        yield events.slice(0, 1);
        await go.promise;
        yield events.slice(1);
      },
    };
    const { server } = await start({ files: ca.issue() }, { script: slow });
    const begun = Promise.withResolvers<void>();
    const call = callGrpc(openGrpc(server, ca), stream, { model: "m" }, { onMessage: () => begun.resolve() });
    await begun.promise;
    const idle = connectHttp2(`https://${server.authority}`, { ca: readFileSync(ca.file) });
    await new Promise((resolve) => idle.once("connect", resolve));
    const closed = new Promise((resolve) => idle.once("close", resolve));
    const drained = server.drain();
    await closed;
    go.resolve();
    expect((await call).code).toBe(grpc.status.OK);
    await drained;
  });
});

describe.skipIf(!hasTlsTools)("the certificate of a caller", () => {
  const SPIFFE = "spiffe://example.org/ns/shop/sa/checkout";
  const createOpenAccess = () => new AccessControl({ current: () => [] }, { admitsCertificates: true });

  it("names it in the log and the access control, over every protocol", async () => {
    const ca = new Authority();
    const access = createOpenAccess();
    const { server } = await start({ files: ca.issue(), clientCa: ca.file }, { access });
    const callers: readonly [IssuedFiles, string | undefined][] = [
      [ca.issue({ name: "worker", names: `DNS:x,URI:${SPIFFE}` }), SPIFFE],
      [ca.issue({ name: "worker", names: "" }), "worker"],
      [ca.issue({ name: "", names: "DNS:evil" }), undefined],
    ];
    for (const [files, caller] of callers) {
      const { code } = await callGrpc(openGrpc(server, ca, files), complete, { model: "m" });
      expect(code).toBe(caller === undefined ? grpc.status.UNAUTHENTICATED : grpc.status.OK);
      for (const version of ["--http2", "--http1.1"]) {
        const given = ["--cert", files.cert, "--key", files.key];
        const answer = await callByCurl(server, "--cacert", ca.file, version, ...given);
        expect(answer).toContain(caller === undefined ? " 401" : " 200");
      }
      const getCalls = () => server.log.filter((line) => "rpc" in line);
      await expect.poll(getCalls).toHaveLength(3);
      for (const line of getCalls()) expect(line.caller).toBe(caller);
      server.log.length = 0;
    }
  });

  it("is needed if it is required, and must be of the authority", async () => {
    const [ca, other] = [new Authority(), new Authority()];
    const access = createOpenAccess();
    const { server } = await start({ files: ca.issue(), clientCa: ca.file }, { access });
    for (const files of [undefined, other.issue(), ca.issue({ to: -0.5 })]) {
      const { code } = await callGrpc(openGrpc(server, ca, files), complete, { model: "m" });
      expect(code).toBe(grpc.status.UNAVAILABLE);
    }
    expect(server.inference.calls).toEqual([]);
  });

  it("stands for an access key if an entry names it", async () => {
    const ca = new Authority();
    const entry = (name: string, certificate?: string) => ({
      name,
      certificate,
      digests: [],
      rateLimit: undefined,
      allowsModel: () => true,
      isRestricted: false,
    });
    const access = new AccessControl({ current: () => keys });
    const keys = [entry("checkout", SPIFFE), entry("other")];
    const identity = { files: ca.issue(), clientCa: ca.file, clientCertificates: "optional" } as const;
    const { server } = await start(identity, { access });
    const codeWith = async (files?: IssuedFiles) =>
      (await callGrpc(openGrpc(server, ca, files), complete, { model: "m" })).code;
    expect(await codeWith(ca.issue({ names: `URI:${SPIFFE}` }))).toBe(grpc.status.OK);
    await expect.poll(() => server.log.at(-1)).toMatchObject({ caller: "checkout" });
    const strangers = [
      ca.issue({ names: "URI:spiffe://example.org/stranger" }),
      new Authority().issue({ names: `URI:${SPIFFE}` }),
      undefined,
    ];
    for (const files of strangers) expect(await codeWith(files)).toBe(grpc.status.UNAUTHENTICATED);
  });
});

describe.skipIf(!hasTlsTools)("files that are replaced", () => {
  it("are used by new connections, while calls continue without a failure", async () => {
    const ca = new Authority();
    const files = ca.issue();
    const { server, tls, lines } = await start({ files });
    const root = readFileSync(ca.file);
    const serials = new Set<string>();
    const lasting = openGrpc(server, ca);
    let calls = 0;
    const callAll = async () => {
      for (const client of [lasting, openGrpc(server, ca)]) {
        for (const method of [complete, stream]) {
          expect(await callGrpc(client, method, { model: "m" })).toMatchObject({ code: grpc.status.OK });
          calls += 1;
        }
      }
    };
    for (let round = 0; round < 4; round += 1) {
      const load = Promise.all([callAll(), callAll(), callAll()]);
      replaceFiles(files, ca.issue());
      tls.checkFiles();
      serials.add((await shakeHands(server, { ca: root })).serial);
      await load;
    }
    expect({ calls, serials: serials.size }).toEqual({ calls: 48, serials: 4 });
    expect(lines.filter(({ msg }) => msg === "using the changed certificate")).toHaveLength(4);
  });

  it("that cannot be used are reported once, with what was kept", async () => {
    const ca = new Authority();
    const [files, good] = [ca.issue(), ca.issue()];
    replaceFiles(files, good);
    const { server, tls, lines } = await start({ files });
    const root = readFileSync(ca.file);
    const { serial } = await shakeHands(server, { ca: root });
    const valid = "tls.certificate_file: expected a certificate that is valid now, found one that";
    const mistakes: readonly [IssuedFiles, string][] = [
      [ca.issue({ from: -3, to: -1 }), `${valid} expired at `],
      [ca.issue({ from: 1 }), `${valid} is not valid before `],
      [{ cert: ca.issue().cert, key: good.key }, "tls.key_file: expected the private key of the certificate"],
      [{ cert: good.key, key: good.key }, "tls.certificate_file: expected a certificate in PEM, found none"],
      [
        { cert: good.cert, key: good.cert },
        "tls.key_file: expected a private key in PEM without a passphrase",
      ],
    ];
    for (const [wrong, problem] of mistakes) {
      lines.length = 0;
      replaceFiles(files, wrong);
      for (let look = 0; look < 4; look += 1) tls.checkFiles();
      const msg = "cannot use the changed certificate, keeping the previous one";
      const told = { level: 40, msg, field: "tls", serial, problem: expect.stringContaining(problem) };
      expect(lines).toMatchObject([told]);
      expect((await shakeHands(server, { ca: root })).serial).toBe(serial);
      replaceFiles(files, good);
      tls.checkFiles();
      expect(lines).toHaveLength(1);
    }
  });
});
