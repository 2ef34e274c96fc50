import { type KeyObject, sign } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import http2, { type ClientHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { frame, inferencePath, openStream } from "../server/support/raw-http2.ts";
import { AUDIENCE, createKey, ISSUER, nowSeconds } from "../support/issuer.ts";
import { BYSTANDER_KEY } from "./support/bystander.ts";
import { expectWithstood, useSidecars } from "./support/sidecar.ts";
import { SIZES } from "./support/sizes.ts";

const attacks = useSidecars();

const MIB = 1024 * 1024;
const CALLS = 800;
const CONNECTIONS = 4;
const AT_ONCE = 200;

// As in access-keys.test.ts.
const CLIENT = { maxSessionMemory: 1000 };

const key = await createKey("known");
const forged = await createKey("known");

let folder: string;
let keyServer: Server;
let reads = 0;
/** Answers the reads after the first one. */
let answer: (response: ServerResponse) => void = (response) => void response.end(DOCUMENT);

const DOCUMENT = JSON.stringify({ keys: [key.jwk] });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-tokens-"));
  const keys = [{ name: "bystander", key: BYSTANDER_KEY }];
  await writeFile(join(folder, "keys.yaml"), JSON.stringify({ keys }));
});

afterAll(() => rm(folder, { recursive: true }));

beforeEach(async () => {
  reads = 0;
  keyServer = createServer((_request, response) => {
    reads += 1;
    if (reads === 1) response.end(DOCUMENT);
    else answer(response);
  });
  await new Promise<void>((resolve) => keyServer.listen(0, "127.0.0.1", resolve));
});

afterEach(() => {
  keyServer.closeAllConnections();
  keyServer.close();
});

function getConfig() {
  const { port } = keyServer.address() as AddressInfo;
  const jwt = {
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks_url: `http://127.0.0.1:${port}/`,
    caller: "jwt/{sub}",
  };
  return { access_keys_file: join(folder, "keys.yaml"), jwt };
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** A token whose signature is wrong, or made with another key. */
function createToken(header: object, claims: object, signer?: KeyObject): string {
  const signed = `${encode({ alg: "ES256", ...header })}.${encode({ iss: ISSUER, aud: AUDIENCE, exp: nowSeconds() + 3600, ...claims })}`;
  const signature =
    signer === undefined
      ? Buffer.alloc(64, 7)
      : sign("sha256", Buffer.from(signed), { key: signer, dsaEncoding: "ieee-p1363" });
  return `${signed}.${signature.toString("base64url")}`;
}

/** Calls with a token, announces a large body and sends only its beginning. */
async function call(session: ClientHttp2Session, token: string): Promise<void> {
  const stream = openStream(session, inferencePath("Complete"), { authorization: `Bearer ${token}` });
  stream.on("error", () => {}).resume();
  stream.write(frame(Buffer.alloc(1024), 0, 30 * MIB));
  await new Promise((resolve) => {
    stream.once("close", resolve);
    // An admitted call would wait for its body.
    stream.setTimeout(20_000, () => stream.close());
  });
}

async function flood(url: string, toToken: (index: number) => string, calls = CALLS): Promise<void> {
  const sessions = Array.from({ length: CONNECTIONS }, () =>
    http2.connect(url, CLIENT).on("error", () => {}),
  );
  for (let sent = 0; sent < calls; sent += CONNECTIONS * AT_ONCE) {
    await Promise.all(
      sessions.flatMap((session, at) =>
        Array.from({ length: AT_ONCE }, (_, index) => call(session, toToken(sent + at * AT_ONCE + index))),
      ),
    );
  }
  for (const session of sessions) session.destroy();
}

describe.each(SIZES)("strangers with tokens, against $name", ({ heapMiB, maxPeakMiB }) => {
  it("that invent keys and signatures use no memory and no calls, and cause few reads of keys", async () => {
    answer = (response) => void response.end(DOCUMENT);
    const sidecar = await attacks.start({ heapMiB, config: getConfig() });
    const started = performance.now();
    const report = await sidecar.withstand(async () => {
      await flood(sidecar.url, (index) => createToken({ kid: `invented-${index}` }, { sub: `${index}` }));
      await flood(sidecar.url, (index) =>
        createToken({ kid: "known" }, { sub: `${index}`, pad: "x".repeat(5000) }),
      );
      await flood(
        sidecar.url,
        (index) => createToken({ kid: "known" }, { sub: `${index}` }, forged.privateKey),
        800,
      );
      await flood(sidecar.url, () => `${"a".repeat(4000)}.${"b".repeat(4000)}.c`);
    });
    expectWithstood(report, maxPeakMiB);
    expect(reads).toBeLessThanOrEqual(2 + (performance.now() - started) / 10_000);
    await sidecar.expectRecovered();
  });

  it("that wait for the keys of a server that hangs, or sends without end, do not block other callers", async () => {
    const chunk = Buffer.alloc(MIB, " ");
    let isEndless = false;
    answer = (response) => {
      isEndless = !isEndless;
      const write = () => {
        while (response.write(chunk));
        response.once("drain", write);
      };
      if (isEndless) write();
    };
    const sidecar = await attacks.start({ heapMiB, config: getConfig() });
    const report = await sidecar.withstand(async () => {
      const until = performance.now() + 6_000;
      for (let round = 0; performance.now() < until; round += 1)
        await flood(sidecar.url, (index) => createToken({ kid: `invented-${round}-${index}` }, {}), 800);
    });
    expectWithstood(report, maxPeakMiB);
    await sidecar.expectRecovered();
  });
});
