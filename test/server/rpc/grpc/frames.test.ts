import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RequestSchema } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { encodeFrames, type Frame, FrameReader } from "../../../../src/server/rpc/grpc/frames.ts";
import { frame } from "../../support/raw-http2.ts";

const MAX_BYTES = 1000;

/** Reads chunks to the end, as a request does. */
function read(chunks: readonly Buffer[]): { frames: Frame[]; error?: ConnectError } {
  const reader = new FrameReader({ maxMessageBytes: MAX_BYTES, strictFlags: true, share: { expect() {} } });
  const frames: Frame[] = [];
  try {
    for (const chunk of chunks) {
      reader.push(chunk);
      for (let next = reader.next(); next !== undefined; next = reader.next()) frames.push(next);
    }
    reader.end();
  } catch (error) {
    if (error instanceof ConnectError) return { frames, error };
    throw error;
  }
  return { frames };
}

function splitAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.map((cut) => cut % (bytes.byteLength + 1)), bytes.byteLength].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

const payloads = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 6 });

describe("FrameReader", () => {
  it("gives the same messages however their bytes are split", () => {
    fc.assert(
      fc.property(payloads, fc.array(fc.nat(), { maxLength: 12 }), (messages, cuts) => {
        const bytes = Buffer.concat(messages.map((message) => frame(message)));
        const { frames, error } = read(splitAt(bytes, cuts));
        expect(error).toBeUndefined();
        expect(frames.map(({ bytes }) => [...bytes])).toEqual(messages.map((message) => [...message]));
      }),
    );
  });

  it("gives the same messages byte by byte", () => {
    const messages = [Buffer.from("one"), Buffer.alloc(0), Buffer.from("three")];
    const bytes = Buffer.concat(messages.map((message) => frame(message)));
    bytes[0] = 1;
    const { frames } = read([...bytes].map((byte) => Buffer.from([byte])));
    expect(frames.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(["one", "", "three"]);
    expect(frames.map(({ flags }) => flags)).toEqual([1, 0, 0]);
  });

  it("is empty if it has no part of a message", () => {
    const reader = new FrameReader({ maxMessageBytes: 9, strictFlags: true, share: { expect() {} } });
    expect(reader.isEmpty).toBe(true);
    for (const byte of frame(Buffer.from("message"))) {
      reader.push(Buffer.from([byte]));
      expect(reader.isEmpty).toBe(false);
      if (reader.next() !== undefined) break;
      expect(reader.isEmpty).toBe(false);
    }
    expect(reader.isEmpty).toBe(true);
  });

  it("knows a message that was cut off, at every byte", () => {
    const whole = frame(Buffer.from("message"));
    for (let end = 1; end < whole.byteLength; end++) {
      const { frames, error } = read([whole.subarray(0, end)]);
      expect(frames).toEqual([]);
      expect(error?.code).toBe(Code.InvalidArgument);
      expect(error?.rawMessage).toBe("a message was cut off");
    }
  });

  it("recognizes a compressed message by its flag", () => {
    expect(read([frame(Buffer.from("x"), 1)]).frames).toMatchObject([{ flags: 1 }]);
    expect(read([frame(Buffer.from("x"))]).frames).toMatchObject([{ flags: 0 }]);
  });

  it("rejects a length over the limit before the message arrives", () => {
    const { error } = read([frame(Buffer.alloc(0), 0, MAX_BYTES + 1)]);
    expect(error?.code).toBe(Code.ResourceExhausted);
    expect(error?.rawMessage).toContain(
      "expected at most 1000 bytes (limits.max_message_bytes), found 1001 bytes",
    );
    expect(read([frame(Buffer.alloc(MAX_BYTES))]).error).toBeUndefined();
  });

  it("rejects unknown flags", () => {
    const { error } = read([frame(Buffer.from("x"), 2)]);
    expect(error?.code).toBe(Code.Internal);
    expect(error?.rawMessage).toBe("a message has the flags 2, expected 0 or 1");
  });

  it("ends in messages, an error or a wait for more, for any bytes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }), (chunks) => {
        const { frames, error } = read(chunks.map((chunk) => Buffer.from(chunk)));
        for (const { bytes } of frames) expect(bytes.byteLength).toBeLessThanOrEqual(MAX_BYTES);
        const codes = [Code.Internal, Code.ResourceExhausted, Code.InvalidArgument];
        if (error !== undefined) expect(codes).toContain(error.code);
      }),
    );
  });
});

describe("encodeFrames()", () => {
  it("writes nothing of an earlier message that could not be encoded", () => {
    const message = create(RequestSchema);
    const failing = () =>
      encodeFrames(
        (_message, sink) => {
          sink.reserve(1);
          sink.buffer[sink.position++] = 7;
          throw new Error("not a message");
        },
        [message],
      );
    expect(failing).toThrow("not a message");
    expect([...encodeFrames(() => {}, [message])]).toEqual([...frame(Buffer.alloc(0))]);
  });
});
