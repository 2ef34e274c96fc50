import http2, { type ClientHttp2Session } from "node:http2";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, type Limits } from "../../../src/server/base/limits.ts";
import { openListener } from "../../../src/server/listen/listener.ts";
import { createIntake } from "../../../src/server/requests/intake.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** A listener whose answers end when `finish` is called, and a connection to it. */
async function connect(limits: Partial<Limits>) {
  const pending: (() => void)[] = [];
  const listener = await openListener({
    field: "listen",
    addresses: ["127.0.0.1:0"],
    intake: createIntake({ ...DEFAULT_LIMITS, ...limits }),
    handler: (request, response) => {
      request.resume();
      response.write("begun");
      if (request.url === "/now") response.end();
      else pending.push(() => response.end("ended"));
    },
  });
  servers.onEnd(() => listener.close());
  const session = http2.connect(`http://${listener.addresses[0]}`).on("error", () => {});
  servers.onEnd(() => session.destroy());
  const closed = new Promise<void>((resolve) => session.once("close", () => resolve()));
  return { session, closed, finish: () => pending.forEach((end) => void end()) };
}

/** Asks, and resolves with the text of the answer; `onBegin` is called with its first bytes. */
function ask(session: ClientHttp2Session, path: string, onBegin: () => void = () => {}): Promise<string> {
  let text = "";
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path }).on("error", reject);
    stream.once("data", onBegin);
    stream.on("data", (chunk) => {
      text += chunk;
    });
    stream.on("end", () => resolve(text));
  });
}

describe("a connection of HTTP/2", () => {
  it("without any call gets a GOAWAY", async () => {
    const { closed } = await connect({ maxConnectionIdleMs: 30 });
    await closed;
  });

  it("gets a GOAWAY after its last call", async () => {
    const { session, closed } = await connect({ maxConnectionIdleMs: 500 });
    expect(await ask(session, "/now")).toBe("begun");
    await closed;
  });

  it("is not idle while a call runs, however silent", async () => {
    const { session, closed, finish } = await connect({ maxConnectionIdleMs: 300 });
    let away = false;
    session.once("goaway", () => {
      away = true;
    });
    const answer = ask(session, "/later");
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(away).toBe(false);
    finish();
    expect(await answer).toBe("begunended");
    await closed;
  });

  it("gets a GOAWAY at its maximum age, and its calls finish", async () => {
    const { session, closed, finish } = await connect({ maxConnectionAgeMs: 500 });
    session.once("goaway", finish);
    expect(await ask(session, "/later")).toBe("begunended");
    await closed;
  });

  it("is cut when its calls do not finish in the time of grace", async () => {
    const { session, closed } = await connect({ maxConnectionAgeMs: 500, maxConnectionAgeGraceMs: 40 });
    let text = "";
    session.request({ ":path": "/later" }).on("data", (chunk) => {
      text += chunk;
    });
    await closed;
    expect(text).toBe("begun");
  });
});
