import { randomBytes } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { type Compression, decompress } from "../../../src/server/requests/decompress.ts";
import { RequestMemory } from "../../../src/server/requests/request-memory.ts";

const MIB = 1024 * 1024;
const LIMITS = { maxMessageBytes: 8 * MIB, maxCompressionRatio: 100 };
const COMPRESS = {
  gzip: (bytes: Uint8Array) => gzipSync(bytes),
  br: (bytes: Uint8Array) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
};
const COMPRESSIONS = ["gzip", "br"] as const;

function readMemory(maxRequestMemoryBytes: number): RequestMemory {
  const reclaim = { memory: () => {}, call: () => false };
  const account = new MemoryAccount({ limits: { maxRequestMemoryBytes } });
  return new RequestMemory({ maxCalls: 10 }, account, reclaim);
}

async function toFailure(bytes: Uint8Array, compression: Compression, maxMemory = 100 * MIB) {
  const share = readMemory(maxMemory).begin();
  const thrown = await decompress(bytes, compression, share, LIMITS).catch((error: unknown) => error);
  if (thrown instanceof ConnectError) return { code: thrown.code, message: thrown.rawMessage };
  throw new Error("it was decompressed");
}

describe.each(COMPRESSIONS)("decompress() of %s", (compression) => {
  const compress = COMPRESS[compression];

  it("stops at the limit", async () => {
    let checks = 0;
    const limits = {
      ...LIMITS,
      get maxMessageBytes() {
        checks += 1;
        return 100_000;
      },
    };
    const bomb = compress(Buffer.alloc(8 * MIB));
    const share = readMemory(100 * MIB).begin();
    await expect(decompress(bomb, compression, share, limits)).rejects.toThrow("max_message_bytes");
    const found = checks;
    for (let turn = 0; turn < 100; turn += 1) await nextTurn();
    expect(checks).toBe(found);
  });

  it("returns the bytes, and reserves their memory", async () => {
    const memory = readMemory(100 * MIB);
    const share = memory.begin();
    const bytes = Buffer.from(Array.from({ length: MIB }, (_, index) => (index * 7919) % 251));
    expect(await decompress(compress(bytes), compression, share, LIMITS)).toEqual(bytes);
    expect(memory.usedBytes).toBe(MIB - 64 * 1024);
    expect(await decompress(new Uint8Array(), compression, share, LIMITS)).toEqual(new Uint8Array());
  });

  it("takes any ratio up to a mebibyte, and stops at the limit beyond", async () => {
    const share = readMemory(100 * MIB).begin();
    const small = compress(Buffer.alloc(MIB));
    expect((await decompress(small, compression, share, LIMITS)).byteLength).toBe(MIB);
    expect(await toFailure(compress(Buffer.alloc(2 * MIB)), compression)).toMatchObject({
      code: Code.ResourceExhausted,
      message: expect.stringContaining("(limits.max_compression_ratio)"),
    });
  });

  it("stops at the largest message", async () => {
    expect(await toFailure(compress(randomBytes(9 * MIB)), compression)).toMatchObject({
      code: Code.ResourceExhausted,
      message: expect.stringContaining("(limits.max_message_bytes)"),
    });
  });

  it("stops if there is no memory for more", async () => {
    expect(await toFailure(compress(Buffer.alloc(MIB)), compression, 100_000)).toMatchObject({
      code: Code.ResourceExhausted,
      message: expect.stringContaining("(limits.max_request_memory)"),
    });
  });

  it("rejects other bytes, and truncated ones", async () => {
    const bytes = compress(Buffer.from("some text"));
    for (const wrong of [Buffer.from("not compressed"), bytes.subarray(0, bytes.byteLength - 3)]) {
      expect(await toFailure(wrong, compression)).toMatchObject({ code: Code.InvalidArgument });
    }
  });
});
