import { once } from "node:events";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { afterEach, describe, expect, it } from "vitest";
import { certificate } from "../kit/http/certificate.ts";
import { killLeftovers, runHere, spawnOutrigger } from "./support/spawn-outrigger.ts";

afterEach(killLeftovers);

describe("outrigger healthcheck", () => {
  it("exits with 0 if the sidecar is ready, and with 1 once it has stopped", async () => {
    const outrigger = spawnOutrigger(["demo", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    const [, admin = ""] = await outrigger.printed(/health and metrics +http:\/\/([^/]+)\//);
    const check = () => runHere(["healthcheck"], { OUTRIGGER_ADMIN_LISTEN: admin });
    expect(await check()).toEqual({ code: 0, stdout: "ready\n", stderr: "" });
    outrigger.child.kill("SIGTERM");
    expect(await outrigger.ended).toBe(0);
    expect(await check()).toEqual({
      code: 1,
      stdout: "",
      stderr: `outrigger: ${admin} is not ready: ECONNREFUSED\n`,
    });
  });

  it("asks an admin listener with TLS, whatever its certificate", async () => {
    const server = createTlsServer(certificate, (_request, response) => response.end()).listen(0);
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const address = ["--admin-listen", `127.0.0.1:${port}`];
    expect((await runHere(["healthcheck", ...address, "--tls"])).code).toBe(0);
    expect((await runHere(["healthcheck", ...address])).code).toBe(1);
    server.close();
  });

  it("exits with 1 if the answer is not 200, or does not come in time", async () => {
    const server = createServer((request, response) => {
      if (request.headers.host?.startsWith("127.0.0.1")) response.writeHead(503).end();
    }).listen(0);
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const drained = await runHere(["healthcheck", "--admin-listen", `:${port}`]);
    expect([drained.code, drained.stderr]).toEqual([1, `outrigger: :${port} is not ready: it answers 503\n`]);
    const silent = await runHere([
      "healthcheck",
      "--admin-listen",
      `localhost:${port}`,
      "--timeout",
      "200ms",
    ]);
    expect([silent.code, silent.stderr]).toEqual([
      1,
      `outrigger: localhost:${port} is not ready: no answer within 200 ms\n`,
    ]);
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });

  it("reports that the admin listener is off", async () => {
    const { code, stderr } = await runHere(["healthcheck"], { OUTRIGGER_ADMIN_LISTEN: "off" });
    expect([code, stderr.split("\n")[0]]).toEqual([
      2,
      "outrigger: the admin listener is off, so its health cannot be checked",
    ]);
  });
});
