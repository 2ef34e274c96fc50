import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, it } from "vitest";
import { BYSTANDER_KEY } from "./support/bystander.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const SECONDS = 4;

let folder: string;
let keys: { access_keys_file: string };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-pipelining-"));
  const file = join(folder, "keys.yaml");
  await writeFile(file, JSON.stringify({ keys: [{ name: "bystander", key: BYSTANDER_KEY }] }));
  keys = { access_keys_file: file };
});

afterAll(() => rm(folder, { recursive: true }));

/** The requests that an attacker sends. */
interface Pipelining {
  readonly connections: number;
  /** Requests of each connection, sent without waiting for answers. */
  readonly requests: number;
  readonly request: string;
  /** Whether the answers are read. Default true. */
  readonly isReading?: boolean;
}

async function pipeline(url: string, attack: Pipelining): Promise<void> {
  const { hostname, port } = new URL(url);
  const { connections, requests, request, isReading = true } = attack;
  const bytes = Buffer.from(request.repeat(requests));
  const sockets = Array.from({ length: connections }, () => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    if (isReading) socket.resume();
    socket.write(bytes);
    return socket;
  });
  await sleep(SECONDS * 1000);
  for (const socket of sockets) socket.destroy();
}

function get(path: string, header = ""): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${header}\r\n`;
}

describe.each(SIZES)("pipelined requests, against $name", ({ heapMiB, maxPeakMiB }) => {
  it("for the models are served one at a time for each connection", async () => {
    const sidecar = await attacks.start({ heapMiB });
    const attack = { connections: 100, requests: 2000, request: get("/v1/models") };
    const report = await sidecar.withstand(async () => {
      await pipeline(sidecar.url, attack);
      await pipeline(sidecar.url, { ...attack, isReading: false });
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("without a key are refused one at a time for each connection", async () => {
    const sidecar = await attacks.start({ heapMiB, config: keys });
    const attack = { connections: 800, requests: 10_000, request: get("/v1/models") };
    const report = await sidecar.withstand(async () => {
      await pipeline(sidecar.url, attack);
      await pipeline(sidecar.url, { ...attack, isReading: false });
      // Node answers this request itself.
      await pipeline(sidecar.url, {
        ...attack,
        connections: 100,
        request: get("/", "Expect: a miracle\r\n"),
      });
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });

  it("for the metrics of the admin port are served one at a time for each connection", async () => {
    const sidecar = await attacks.start({ heapMiB });
    const attack = { connections: 50, requests: 20_000, request: get("/metrics") };
    const report = await sidecar.withstand(async () => {
      await pipeline(sidecar.adminUrl, attack);
      await pipeline(sidecar.adminUrl, { ...attack, isReading: false });
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });
});
