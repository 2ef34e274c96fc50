/** Whole bodies of requests: what is read of them, and the memory that is taken before. */
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { DEFAULT_LIMITS } from "../../../src/server/base/limits.ts";
import { readWholeBody } from "../../../src/server/http/request-body.ts";
import { RequestMemory } from "../../../src/server/requests/request-memory.ts";

const KIB = 1024;
const LIMITS = { ...DEFAULT_LIMITS, maxMessageBytes: 100 * KIB, maxRequestMemoryBytes: 1000 * KIB };

function createMemory(): RequestMemory {
  const reclaim = { memory: () => {}, call: () => false };
  return new RequestMemory(LIMITS, new MemoryAccount({ limits: LIMITS }), reclaim);
}

/** Reads a body of chunks of 10 KiB, and counts those that were asked for. */
function read(count: number, announced?: string, memory = createMemory()) {
  const asked = { chunks: 0 };
  async function* chunks() {
    for (; asked.chunks < count; asked.chunks += 1) yield Buffer.alloc(10 * KIB, asked.chunks);
  }
  const share = memory.begin();
  const body = readWholeBody({ chunks: chunks(), announced, compression: undefined, share, limits: LIMITS });
  return { asked, body };
}

describe("a body without an announced size", () => {
  it("is read to its end, up to the limit", async () => {
    expect(await read(10).body).toHaveLength(100 * KIB);
  });

  it("is not read further once it is over the limit", async () => {
    const { asked, body } = read(1000);
    await expect(body).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(asked.chunks).toBe(10);
  });
});

describe("a body with an announced size", () => {
  it("is the same whether it comes in one piece or in several", async () => {
    expect(await read(1, `${10 * KIB}`).body).toHaveLength(10 * KIB);
    expect(await read(3, `${30 * KIB}`).body).toHaveLength(30 * KIB);
  });

  it("is not read if the size is over the limit", async () => {
    const { asked, body } = read(1, `${100 * KIB + 1}`);
    await expect(body).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(asked.chunks).toBe(0);
  });

  it("is not read if there is no memory for the size", async () => {
    const memory = createMemory();
    memory.begin().take(1064 * KIB);
    const { asked, body } = read(9, `${90 * KIB}`, memory);
    await expect(body).rejects.toMatchObject({ code: Code.ResourceExhausted });
    expect(asked.chunks).toBe(0);
  });
});
