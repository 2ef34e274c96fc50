import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError, InternalError, InvalidRequestError } from "../../../src/core/errors.ts";
import { MessageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { BodyCodec, type EncryptionKey, parseEncryptionKey } from "../../../src/runs/store/body-codec.ts";
import { testLoop } from "../../support/event-loop/test-loop.ts";
import { textEvent, userText } from "../contract/data.ts";

const plain = new BodyCodec({ maxBodyBytes: 1_000_000 });
const [first, second] = [newKey("first"), newKey("second")];
const encrypted = new BodyCodec({ maxBodyBytes: 1_000_000, keys: [first] });

describe("BodyCodec", () => {
  it("gives back every message and every list of events", () => {
    // Generates and checks all texts in one turn of the event loop.
    testLoop.uncounted(() => {
      const property = fc.property(
        fc.array(fc.string({ unit: "binary", maxLength: 20_000 })),
        fc.boolean(),
        (texts, isEncrypted) => {
          const codec = isEncrypted ? encrypted : plain;
          const events = texts.map((text, index) => textEvent(index, text.toWellFormed()));
          expect(codec.readEvents(codec.writeEvents(events, "here"), "here")).toEqual(events);
          const message = userText(texts.join("").toWellFormed());
          expect(codec.read(MessageSchema, codec.write(MessageSchema, message, "here"), "here")).toEqual(
            message,
          );
        },
      );
      fc.assert(property);
    });
  });

  it("returns bytes of every size around the limits of compression and of lengths", () => {
    for (const size of [0, 1, 127, 128, 4095, 4096, 4097, 16_383, 16_384, 999_999, 1_000_000]) {
      for (const bytes of [Buffer.alloc(size, "a"), randomBytes(size)]) {
        for (const codec of [plain, encrypted]) {
          expect(Buffer.from(codec.decode(codec.encode(bytes, "here"), "here")).equals(bytes)).toBe(true);
        }
      }
    }
  });

  it("compresses large text, except text that does not shrink", () => {
    expect(plain.encode(Buffer.alloc(100_000, "text "), "here").byteLength).toBeLessThan(2_000);
    expect(plain.encode(randomBytes(100_000), "here").byteLength).toBe(100_001);
  });

  it("compresses from 4 KiB to 1 MiB, if that saves a tenth", () => {
    const codec = new BodyCodec({ maxBodyBytes: 2_000_000 });
    const isCompressed = (bytes: Buffer) => codec.encode(bytes, "here")[0] === 1;
    expect([4095, 4096, 1_048_576, 1_048_577].map((size) => isCompressed(Buffer.alloc(size)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    const random = (size: number) => Buffer.concat([randomBytes(size), Buffer.alloc(10_000 - size)]);
    expect([isCompressed(random(8900)), isCompressed(random(9100))]).toEqual([true, false]);
  });

  it("reads bodies of earlier versions", () => {
    const read = (codec: BodyCodec, hex: string) =>
      Buffer.from(codec.decode(Buffer.from(hex, "hex"), "here")).toString();
    expect(read(plain, "0074657874")).toBe("text");
    const compressed =
      "0100001388edd4311100000802c02a96b30103f14de1f60b0138f86c33113ab00337400109494842129290842424210949484212" +
      "9290849f121e";
    expect(read(plain, compressed)).toBe("text ".repeat(1000));
    const key = parseEncryptionKey(Buffer.alloc(32, 7).toString("base64"), "key");
    const locked = "023a254782a8e5b7187a652131fa688b6610f460a484ad4ad4de5087338ec5508770c4595452fe231fd5";
    expect(read(new BodyCodec({ maxBodyBytes: 1000, keys: [key] }), locked)).toBe("text");
  });

  it("refuses a body that is too large and names its size and the limit", () => {
    const write = () => plain.encode(Buffer.alloc(1_000_001), "here");
    expect(write).toThrow(InvalidRequestError);
    expect(write).toThrow(/at most 1000000 bytes .* found 1000001; the limit is `runs.max_body_bytes`/);
  });

  it("never writes the same body twice, and never its plain text", () => {
    const text = Buffer.from("a secret that must not be found");
    const [one, two] = [encrypted.encode(text, "here"), encrypted.encode(text, "here")];
    expect(Buffer.from(one).equals(two)).toBe(false);
    expect(Buffer.from(one).includes("secret")).toBe(false);
  });

  it("refuses an encrypted body at another place, with any byte changed, and cut off anywhere", () => {
    const body = encrypted.encode(Buffer.from("a secret"), "message:1");
    expect(() => encrypted.decode(body, "message:2")).toThrow(InternalError);
    for (let at = 0; at < body.byteLength; at += 1) {
      const changed = Buffer.from(body);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => encrypted.decode(changed, "message:1")).toThrow(InternalError);
      expect(() => encrypted.decode(body.subarray(0, at), "message:1")).toThrow(InternalError);
    }
  });

  it("refuses a body that is not encrypted if the store is", () => {
    const body = plain.encode(Buffer.from("planted"), "here");
    expect(() => encrypted.decode(body, "here")).toThrow(/not encrypted, but the store is/);
  });

  it("refuses compressed content that is damaged or is larger than it says", () => {
    const body = Buffer.from(plain.encode(Buffer.alloc(100_000, "text "), "here"));
    const bomb = Buffer.from(body);
    bomb.writeUInt32BE(10, 1);
    for (const damaged of [
      bomb,
      body.subarray(0, 20),
      body.subarray(0, 3),
      Buffer.from([1]),
      Buffer.from([9]),
    ]) {
      expect(() => plain.decode(damaged, "here")).toThrow(InternalError);
    }
  });

  it("writes with the first of several keys and reads with all keys", () => {
    const old = encrypted.encode(Buffer.from("old"), "here");
    const rotated = new BodyCodec({ maxBodyBytes: 1000, keys: [second, first] });
    const young = rotated.encode(Buffer.from("young"), "here");
    expect(Buffer.from(rotated.decode(old, "here")).toString()).toBe("old");
    expect(Buffer.from(rotated.decode(young, "here")).toString()).toBe("young");
    const missing = new RegExp(
      `encrypted with the key ${second.id.toString("hex")}, which is not configured`,
    );
    expect(() => encrypted.decode(young, "here")).toThrow(missing);
  });
});

describe("parseEncryptionKey", () => {
  const bytes = randomBytes(32);

  it("reads 32 bytes in Base64, in its URL form and in hexadecimal, with a line break at the end", () => {
    for (const encoding of ["base64", "base64url", "hex"] as const) {
      const key = parseEncryptionKey(`${bytes.toString(encoding)}\n`, "key");
      expect(key.bytes.equals(bytes)).toBe(true);
      expect(key.id).toEqual(parseEncryptionKey(bytes.toString("hex"), "other").id);
    }
  });

  it("names the file and the length of another key, and nothing of its content", () => {
    const parse = (text: string) => () => parseEncryptionKey(text, "/run/key");
    expect(parse("")).toThrow(ConfigurationError);
    expect(parse("")).toThrow("in /run/key, found nothing");
    expect(parse(bytes.subarray(1).toString("base64"))).toThrow("in /run/key, found 31 bytes");
    expect(parse(bytes.subarray(1).toString("hex"))).toThrow("in /run/key, found 46 bytes");
    expect(parse("not a key!")).toThrow("in /run/key, found another text");
  });
});

function newKey(path: string): EncryptionKey {
  return parseEncryptionKey(randomBytes(32).toString("base64"), path);
}
