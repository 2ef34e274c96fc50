import { once } from "node:events";
import { createServer as createHttp2 } from "node:http2";
import { describe, expect, it, vi } from "vitest";
import { joinData } from "../../../src/server/listen/join-data.ts";
import { END_STREAM, FRAME, FrameConnection } from "../support/raw-frames.ts";

describe("joinData()", () => {
  /** Sends texts as DATA frames, and returns the pieces that the server reads. */
  async function send(texts: readonly string[], isSingle: () => boolean): Promise<string[]> {
    const pieces: string[] = [];
    const ended = Promise.withResolvers<void>();
    const server = createHttp2();
    server.on("stream", (stream) => {
      joinData(stream, isSingle);
      stream.setEncoding("utf8").on("data", (piece: string) => pieces.push(piece));
      stream.on("end", ended.resolve);
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("a TCP server has no port");
    const peer = new FrameConnection(`http://127.0.0.1:${address.port}`);
    peer.call(1, "/");
    for (const text of texts) peer.send(FRAME.data, 0, 1, Buffer.from(text));
    peer.send(FRAME.data, END_STREAM, 1, Buffer.alloc(0));
    await ended.promise;
    peer.destroy();
    server.close();
    return pieces;
  }

  it("passes frames on one by one, and asks for each", async () => {
    const isSingle = vi.fn(() => true);
    expect(await send(["one", "two"], isSingle)).toEqual(["one", "two"]);
    expect(isSingle).toHaveBeenCalledTimes(2);
  });

  it("joins the frames that are not single, in their order, and loses none", async () => {
    const isSingle = vi.fn(() => isSingle.mock.calls.length <= 2);
    const texts = Array.from({ length: 500 }, (_, index) => `${index},`);
    const pieces = await send(texts, isSingle);
    expect(pieces.join("")).toBe(texts.join(""));
    expect(pieces.slice(0, 2)).toEqual(["0,", "1,"]);
    expect(pieces.length).toBeLessThan(50);
  });
});
