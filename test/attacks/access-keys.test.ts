import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http2, { type ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, it } from "vitest";
import { frame, inferencePath, openStream } from "../server/support/raw-http2.ts";
import { BYSTANDER_KEY } from "./support/bystander.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;
const CALLS = 20_000;
const CONNECTIONS = 4;
const AT_ONCE = 200;
const WATCHES = 2000;

// Node's client takes no headers while more than 10 MB of its requests wait, not even the headers of a refusal.
const CLIENT = { maxSessionMemory: 1000 };

let folder: string;
let config: { access_keys_file: string };

/** As many keys as a file may have: the key of every request is compared with each. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-keys-"));
  const keys = Array.from({ length: 255 }, (_, index) => ({
    name: `caller-${index}`,
    key: [`the-old-access-key-of-${index}`, `the-new-access-key-of-${index}`],
  }));
  const file = join(folder, "keys.yaml");
  await writeFile(file, JSON.stringify({ keys: [...keys, { name: "bystander", key: BYSTANDER_KEY }] }));
  config = { access_keys_file: file };
});

afterAll(() => rm(folder, { recursive: true }));

/** Calls with a wrong key, announces a large body and sends only its beginning. */
async function refusedCall(session: ClientHttp2Session, key: string): Promise<void> {
  const stream = openStream(session, inferencePath("Complete"), { authorization: `Bearer ${key}` });
  stream.on("error", () => {}).resume();
  stream.write(frame(Buffer.alloc(16 * 1024), 0, 30 * MIB));
  // Not `once`, which rejects if the stream is reset.
  await new Promise((resolve) => stream.once("close", resolve));
}

async function flood(url: string, toKey: (index: number) => string): Promise<void> {
  const sessions = Array.from({ length: CONNECTIONS }, () =>
    http2.connect(url, CLIENT).on("error", () => {}),
  );
  for (let sent = 0; sent < CALLS; sent += CONNECTIONS * AT_ONCE) {
    await Promise.all(
      sessions.flatMap((session) =>
        Array.from({ length: AT_ONCE }, (_, index) => refusedCall(session, toKey(sent + index))),
      ),
    );
  }
  for (const session of sessions) session.destroy();
}

/** Sends requests with a header that is as large as one may be, without reading the answers. */
async function sendLargeHeaders(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const request = `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${"x".repeat(60_000)}\r\n\r\n`;
  const sockets = Array.from({ length: 50 }, () => connect(Number(port), hostname).on("error", () => {}));
  for (const socket of sockets) for (let index = 0; index < 20; index += 1) socket.write(request);
  await new Promise((resolve) => setTimeout(resolve, 1000));
  for (const socket of sockets) socket.destroy();
}

describe.each(SIZES)("strangers, against $name", ({ heapMiB, maxPeakMiB }) => {
  it("with wrong keys and large bodies use no memory and no calls that callers with a key need", async () => {
    const sidecar = await attacks.start({ heapMiB, config });
    const report = await sidecar.withstand(async () => {
      await flood(sidecar.url, (index) => `a-wrong-access-key-${index}`);
      await sendLargeHeaders(sidecar.url);
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("that watch the health of the sidecar do not use up its calls", async () => {
    const sidecar = await attacks.start({ heapMiB, config });
    const report = await sidecar.withstand(async () => {
      const sessions = Array.from({ length: CONNECTIONS }, () =>
        http2.connect(sidecar.url).on("error", () => {}),
      );
      for (const session of sessions)
        for (let index = 0; index < WATCHES / CONNECTIONS; index += 1)
          openStream(session, "/grpc.health.v1.Health/Watch")
            .on("error", () => {})
            .end(frame(Buffer.alloc(0)));
      await new Promise((resolve) => setTimeout(resolve, 2000));
      for (const session of sessions) session.destroy();
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });
});
