import { request as forward, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates, TLSSocket } from "node:tls";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { AbortError, ConfigurationError, NetworkError } from "../../../src/core/errors.ts";
import { getProxySettings } from "../../../src/kit/http/proxy.ts";
import { certificate } from "./certificate.ts";
import { getError, openTransport, pause, serveHttp, serveHttps, serveTcp, waitUntil } from "./servers.ts";

const call = { headers: { authorization: "Bearer key" }, body: "x" };

/** The part of a request that a proxy saw. */
interface Passage {
  readonly line: string;
  readonly headers: IncomingMessage["headers"];
}

/** Trusts a certificate until the test ends. */
function trust(pem: string): void {
  const known = getCACertificates("default");
  setDefaultCACertificates([...known, pem]);
  onTestFinished(() => setDefaultCACertificates(known));
}

/** A proxy for both forms: absolute targets and CONNECT. */
async function startProxy(): Promise<{ port: number; passages: Passage[]; sockets: Socket[] }> {
  const passages: Passage[] = [];
  const note = ({ method, url, headers }: IncomingMessage) =>
    passages.push({ line: `${method} ${url}`, headers });
  const { port, sockets } = await serveHttp(
    (incoming, outgoing) => {
      note(incoming);
      const { "proxy-authorization": _credentials, ...headers } = incoming.headers;
      const onward = forward(incoming.url ?? "", { method: incoming.method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(outgoing);
      });
      outgoing.on("close", () => onward.destroy());
      onward.on("error", () => outgoing.destroy());
      incoming.pipe(onward);
    },
    (incoming, socket) => {
      note(incoming);
      const [host, targetPort] = (incoming.url ?? "").split(":");
      const onward = connect(Number(targetPort), host, () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        socket.pipe(onward).pipe(socket);
      });
      onward.on("error", () => socket.destroy()).on("close", () => socket.destroy());
      socket.on("error", () => onward.destroy()).on("close", () => onward.destroy());
    },
  );
  return { port, passages, sockets };
}

describe("with proxies in the environment", () => {
  beforeEach(() => trust(certificate.cert));

  it("an http: target is asked for in absolute form, with the proxy's credentials for the proxy alone", async () => {
    const seen: IncomingMessage["headers"][] = [];
    const { port } = await serveHttp((incoming, response) => {
      seen.push(incoming.headers);
      incoming.resume();
      response.end(incoming.url);
    });
    const proxy = await startProxy();
    const environment = { HTTP_PROXY: `http://user:pass%21@127.0.0.1:${proxy.port}` };
    const answer = await openTransport({ port, environment }).post("v1/a?b=c", call);
    expect(await answer.text(100)).toBe("/v1/a?b=c");
    expect(proxy.passages.map(({ line }) => line)).toEqual([`POST http://127.0.0.1:${port}/v1/a?b=c`]);
    expect(proxy.passages[0]?.headers).toMatchObject({
      host: `127.0.0.1:${port}`,
      "proxy-authorization": `Basic ${Buffer.from("user:pass!").toString("base64")}`,
    });
    expect(seen).toMatchObject([{ authorization: "Bearer key", host: `127.0.0.1:${port}` }]);
    expect(seen[0]).not.toHaveProperty("proxy-authorization");
  });

  it("an https: target goes through a tunnel that sees none of its headers", async () => {
    const { port } = await serveHttps(certificate, (incoming, response) => {
      incoming.resume();
      response.end(`${incoming.httpVersion} ${incoming.headers.authorization}`);
    });
    const proxy = await startProxy();
    const environment = { https_proxy: `http://127.0.0.1:${proxy.port}` };
    const transport = openTransport({ baseUrl: `https://localhost:${port}/v1`, environment });
    for (let exchange = 0; exchange < 3; exchange += 1) {
      const answer = await transport.post("a", call);
      expect(await answer.text(100)).toBe("1.1 Bearer key");
      await new Promise(setImmediate);
    }
    expect(proxy.passages.map(({ line }) => line)).toEqual([`CONNECT localhost:${port}`]);
    expect(proxy.passages[0]?.headers).not.toHaveProperty("authorization");
  });

  it.each([
    ["HTTP_PROXY alone serves https: targets too", { HTTP_PROXY: "" }, 1],
    [
      "NO_PROXY names a host that is reached directly",
      { HTTPS_PROXY: "", NO_PROXY: "example.com,localhost" },
      0,
    ],
    ["lower case goes before upper case", { HTTPS_PROXY: "", no_proxy: "*", NO_PROXY: "" }, 0],
  ])("%s", async (_name, variables, passages) => {
    const { port } = await serveHttps(certificate, (_incoming, response) => response.end("ok"));
    const proxy = await startProxy();
    const address = `http://127.0.0.1:${proxy.port}`;
    const environment = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [
        name,
        name.endsWith("S_PROXY") || name === "HTTP_PROXY" ? address : value,
      ]),
    );
    const transport = openTransport({ baseUrl: `https://localhost:${port}`, environment });
    const answer = await transport.post("a", call);
    expect(await answer.text(10)).toBe("ok");
    expect(proxy.passages).toHaveLength(passages);
  });

  it.each(["http", "https"])(
    "a proxy that asks for credentials is a ConfigurationError (%s:)",
    async (scheme) => {
      const refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
      const { port, sockets } = await serveTcp((socket) => socket.once("data", () => socket.write(refusal)));
      const variables = { HTTP_PROXY: `http://u:secret@127.0.0.1:${port}` };
      const transport = openTransport({ baseUrl: `${scheme}://a.invalid`, environment: variables });
      const error = await getError(transport.post("a", call));
      expect(error).toBeInstanceOf(ConfigurationError);
      expect(error.message).toMatch(/^the proxy for a\.invalid:\d+ requires credentials \(407\)$/);
      expect(`${error.stack}${error.cause}`).not.toContain("secret");
      await waitUntil(() => sockets.every((socket) => socket.destroyed));
    },
  );

  it("a tunnel that the proxy does not open is a NetworkError, as is an unreachable proxy", async () => {
    const { port } = await serveTcp((socket) => {
      socket.once("data", () => socket.write("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"));
    });
    const baseUrl = "https://a.invalid";
    const refused = openTransport({ baseUrl, environment: { HTTPS_PROXY: `http://127.0.0.1:${port}` } });
    const error = await getError(refused.post("a", call));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toContain("cannot connect to a.invalid:443 (Proxy response (502)");
    const away = openTransport({ baseUrl, environment: { HTTPS_PROXY: "http://127.0.0.1:1" } });
    expect(await getError(away.post("a", call))).toMatchObject({
      name: "NetworkError",
      message: "cannot connect to a.invalid:443 (ECONNREFUSED)",
    });
  });

  it("a proxy that closes the tunnel early fails the call once", async () => {
    const { port, sockets } = await serveTcp((socket) => socket.once("data", () => socket.destroy()));
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const error = await getError(
      openTransport({ baseUrl: "https://a.invalid", environment }).post("a", call),
    );
    expect(error).toBeInstanceOf(NetworkError);
    await pause(50);
    expect(sockets).toHaveLength(1);
  });

  it("an abort closes the socket to a proxy that has not opened the tunnel", async () => {
    const { port, sockets } = await serveTcp((socket) => void socket.resume());
    const controller = new AbortController();
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const transport = openTransport({ baseUrl: "https://a.invalid", environment });
    const failed = getError(transport.post("a", { ...call, signal: controller.signal }));
    await waitUntil(() => (sockets[0]?.bytesRead ?? 0) > 0);
    controller.abort();
    expect(await failed).toBeInstanceOf(AbortError);
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it("an abort closes the tunnel during its TLS handshake", async () => {
    const target = await serveTcp((socket) => void socket.resume());
    const proxy = await startProxy();
    const controller = new AbortController();
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` };
    const transport = openTransport({ baseUrl: `https://localhost:${target.port}`, environment });
    const failed = getError(transport.post("a", { ...call, signal: controller.signal }));
    await waitUntil(() => (target.sockets[0]?.bytesRead ?? 0) > 0);
    controller.abort();
    expect(await failed).toBeInstanceOf(AbortError);
    await waitUntil(() => [...proxy.sockets, ...target.sockets].every((socket) => socket.destroyed));
  });

  it("the connect limit covers the tunnel", async () => {
    const { port, sockets } = await serveTcp((socket) => void socket.resume());
    const environment = { HTTPS_PROXY: `http://127.0.0.1:${port}` };
    const transport = openTransport({ baseUrl: "https://a.invalid", environment });
    const error = await getError(transport.post("a", { ...call, timeouts: { connectMs: 50 } }));
    expect(error).toMatchObject({ message: "no connection to a.invalid:443 within 0.05 seconds" });
    await waitUntil(() => sockets.every((socket) => socket.destroyed));
  });

  it.each(["http", "https"])(
    "an abort in the middle of the body closes the sockets to the proxy and beyond (%s:)",
    async (scheme) => {
      const serve = scheme === "http" ? serveHttp : serveHttps.bind(undefined, certificate);
      const target = await serve((incoming, response) => {
        incoming.resume();
        response.write("first");
      });
      const proxy = await startProxy();
      const environment = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` };
      const transport = openTransport({ baseUrl: `${scheme}://localhost:${target.port}`, environment });
      const controller = new AbortController();
      const answer = await transport.post("a", { ...call, signal: controller.signal });
      const reading = getError(answer.text(100));
      controller.abort();
      expect(await reading).toBeInstanceOf(AbortError);
      await waitUntil(() => [...proxy.sockets, ...target.sockets].every((socket) => socket.destroyed));
    },
  );
});

describe("getProxySettings()", () => {
  it("finds nothing if nothing, or nothing but NO_PROXY, is set", () => {
    expect(getProxySettings({})).toBeUndefined();
    expect(getProxySettings({ HTTP_PROXY: "", https_proxy: "", NO_PROXY: "a" })).toBeUndefined();
  });

  it("names the variable that holds no proxy URL, not its value", () => {
    const read = () => getProxySettings({ https_proxy: "ftp://user:secret@a" });
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow("HTTPS_PROXY is not a proxy URL");
    expect(read).not.toThrow("secret");
  });
});

describe("without proxies, TLS", () => {
  it("speaks HTTP/1.1 to a server that offers HTTP/2", async () => {
    const offer = { ...certificate, ALPNProtocols: ["h2", "http/1.1"] };
    const agreed: unknown[] = [];
    const { port } = await serveHttps(offer, (incoming, response) => {
      agreed.push(incoming.socket instanceof TLSSocket && incoming.socket.alpnProtocol);
      response.end("ok");
    });
    trust(certificate.cert);
    const answer = await openTransport({ baseUrl: `https://localhost:${port}` }).post("a", call);
    expect([await answer.text(10), agreed]).toEqual(["ok", ["http/1.1"]]);
  });

  it("refuses a certificate without a trusted issuer", async () => {
    const { port } = await serveHttps(certificate, (_incoming, response) => response.end("ok"));
    const error = await getError(openTransport({ baseUrl: `https://localhost:${port}` }).post("a", call));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toBe(`cannot connect to localhost:${port} (DEPTH_ZERO_SELF_SIGNED_CERT)`);
  });
});
