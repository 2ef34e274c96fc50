import http2 from "node:http2";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS, type Limits } from "../../../src/server/base/limits.ts";
import { openListener } from "../../../src/server/listen/listener.ts";
import { createIntake } from "../../../src/server/requests/intake.ts";
import { END_HEADERS, END_STREAM, FRAME, FrameConnection, literalField } from "../support/raw-frames.ts";
import { useTestServers } from "../support/test-server.ts";

const servers = useTestServers();

/** RFC 9113 §7 */
const CANCEL = Buffer.from([0, 0, 0, 8]);
const REFUSED_STREAM = 7;
const ENHANCE_YOUR_CALM = 11;
/** The reason that nghttp2 gives when a client resets too often. */
const INTERNAL_ERROR = 2;

/** A listener that answers with the path, and `/wait` never. Each request takes it some milliseconds. */
async function open(limits: Partial<Limits> = {}, takesMs = 0) {
  const served: string[] = [];
  let finish = () => {};
  const listener = await openListener({
    field: "listen",
    addresses: ["127.0.0.1:0"],
    intake: createIntake({ ...DEFAULT_LIMITS, ...limits }),
    handler(request, response) {
      served.push(request.url ?? "");
      for (const end = performance.now() + takesMs; performance.now() < end; );
      if (request.url !== "/wait") return void response.end(request.url);
      response.write("begun ");
      finish = () => response.end("finished");
    },
  });
  servers.onEnd(() => listener.close());
  return { served, url: `http://${listener.addresses[0]}`, finish: () => finish() };
}

function connect(url: string): http2.ClientHttp2Session {
  const session = http2.connect(url).on("error", () => {});
  servers.onEnd(() => session.destroy());
  return session;
}

function read(
  session: http2.ClientHttp2Session,
  path: string,
): { text: Promise<string>; begun: Promise<void> } {
  const stream = session.request({ ":path": path }).setEncoding("utf8");
  const begun = Promise.withResolvers<void>();
  const text = new Promise<string>((resolve, reject) => {
    let all = "";
    stream.on("data", (chunk) => {
      all += chunk;
      begun.resolve();
    });
    stream.on("end", () => resolve(all)).on("error", reject);
  });
  return { text, begun: begun.promise };
}

/** Opens streams and resets them at once. */
function reset(peer: FrameConnection, count: number): void {
  for (let index = 0; index < count; index += 1) {
    peer.call(2 * index + 1, "/reset");
    peer.send(FRAME.reset, 0, 2 * index + 1, CANCEL);
  }
}

describe("streams of one connection", () => {
  it("are all served, in their order, however many are opened at once", async () => {
    const { url, served } = await open();
    const session = connect(url);
    const paths = Array.from({ length: 900 }, (_, index) => `/${index}`);
    expect(await Promise.all(paths.map((path) => read(session, path).text))).toEqual(paths);
    expect(served).toEqual(paths);
  });

  it("are not served if they were reset meanwhile", async () => {
    const { url, served } = await open();
    const peer = new FrameConnection(url);
    servers.onEnd(() => peer.destroy());
    reset(peer, 1000);
    peer.call(2001, "/last");
    await expect.poll(() => served.at(-1)).toBe("/last");
    // A read can end between the beginning of a stream and its reset.
    expect(served.length).toBeLessThan(100);
  });

  it("make room for others once they are served or reset", async () => {
    const { url } = await open({ maxCalls: 10 });
    const session = connect(url);
    const peer = new FrameConnection(url);
    servers.onEnd(() => peer.destroy());
    for (let round = 0; round < 4; round += 1) {
      const paths = Array.from({ length: 500 }, (_, index) => `/${index}`);
      expect(await Promise.all(paths.map((path) => read(session, path).text))).toEqual(paths);
    }
    reset(peer, 4000);
    expect(await read(session, "/last").text).toBe("/last");
    const more = Array.from({ length: 500 }, (_, index) => `/${index}`);
    await expect.poll(() => Promise.all(more.map((path) => read(session, path).text))).toEqual(more);
  });

  it("end it if they bring thousands of header fields beyond the ordinary ones at once", async () => {
    const { url, served } = await open();
    const peer = new FrameConnection(url);
    const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`x${index}`, "1"]));
    for (let index = 0; index < 40; index += 1) peer.call(2 * index + 1, `/${index}`, fields);
    await peer.closed;
    const goaway = peer.frames.find(({ type }) => type === FRAME.goaway);
    expect(goaway?.payload.readUInt32BE(4)).toBe(ENHANCE_YOUR_CALM);
    expect(served.length).toBeLessThan(40);
  });

  it("end it if they bring thousands of fields in trailers at once", async () => {
    const { url, served } = await open();
    const peer = new FrameConnection(url);
    const ids = Array.from({ length: 20 }, (_, index) => 2 * index + 1);
    for (const id of ids) peer.call(id, "/wait");
    await expect.poll(() => served.length).toBe(ids.length);
    const block = Buffer.concat(Array.from({ length: 1000 }, (_, index) => literalField([`x${index}`, "1"])));
    for (const id of ids) peer.send(FRAME.headers, END_HEADERS | END_STREAM, id, block);
    await peer.closed;
    const goaway = peer.frames.find(({ type }) => type === FRAME.goaway);
    expect(goaway?.payload.readUInt32BE(4)).toBe(ENHANCE_YOUR_CALM);
  });

  it("may bring as many ordinary header fields as they like", async () => {
    const { url, served } = await open();
    const peer = new FrameConnection(url);
    servers.onEnd(() => peer.destroy());
    const fields = Object.fromEntries(Array.from({ length: 56 }, (_, index) => [`x${index}`, "1"]));
    for (let index = 0; index < 90; index += 1) peer.call(2 * index + 1, `/${index}`, fields);
    await expect.poll(() => served.length).toBe(90);
  });

  it("are refused if the headers of those that wait for their turn take too much memory", async () => {
    const { url, served } = await open({ maxCalls: 10 }, 1);
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, "1"]));
    const peers = Array.from({ length: 40 }, () => new FrameConnection(url));
    servers.onEnd(() => {
      for (const peer of peers) peer.destroy();
    });
    for (const peer of peers)
      for (let index = 0; index < 20; index += 1) peer.call(2 * index + 1, `/${index}`, fields);
    const frames = () => peers.flatMap((peer) => peer.frames);
    const refused = () =>
      frames().filter(
        ({ type, payload }) => type === FRAME.reset && payload.readUInt32BE() === REFUSED_STREAM,
      );
    await expect.poll(() => served.length + refused().length).toBe(800);
    expect(served.length).toBeGreaterThan(5);
    expect(refused().length).toBeGreaterThan(20);
    peers[0]?.call(801, "/last", fields);
    await expect.poll(() => served.at(-1)).toBe("/last");
  });

  it("survive a client that cancels more than a thousand calls on their connection", async () => {
    const { url, finish } = await open();
    const session = connect(url);
    const { text, begun } = read(session, "/wait");
    await begun;
    for (let index = 0; index < 1300; index += 1) {
      const stream = session.request({ ":path": "/cancelled", ":method": "POST" }).on("error", () => {});
      stream.write("x");
      stream.close(http2.constants.NGHTTP2_CANCEL);
      if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await read(session, "/after").text).toBe("/after");
    finish();
    expect(await text).toBe("begun finished");
  });

  it("end with a GOAWAY if their client does nothing but reset", async () => {
    const { url } = await open();
    const peer = new FrameConnection(url);
    servers.onEnd(() => peer.destroy());
    reset(peer, 20_000);
    await peer.closed;
    const reasons = peer.frames.filter(({ type }) => type === FRAME.goaway);
    expect(reasons.map(({ payload }) => payload.readUInt32BE(4))).toContain(INTERNAL_ERROR);
  });
});
