import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ByteSink, SLAB_BYTES } from "../../src/core/scalar-formats.ts";

/** Writes a run of one byte, as an encoder does. */
function write(sink: ByteSink, length: number, byte = 1): Buffer {
  sink.reserve(length);
  sink.buffer.fill(byte, sink.position, sink.position + length);
  sink.position += length;
  return Buffer.alloc(length, byte);
}

const lengths = fc.oneof(
  fc.nat({ max: 60 }),
  fc.integer({ min: SLAB_BYTES - 2, max: SLAB_BYTES + 2 }),
  fc.nat({ max: 2 * SLAB_BYTES }),
);
const chunks = fc.array(
  fc.record({ pieces: fc.array(lengths, { maxLength: 4 }), given: fc.boolean(), byte: fc.nat({ max: 255 }) }),
  { maxLength: 20 },
);

describe("ByteSink", () => {
  it("never changes bytes that it handed out", () => {
    fc.assert(
      fc.property(chunks, (plan) => {
        const sink = new ByteSink();
        const taken: Buffer[] = [];
        const expected: Buffer[] = [];
        for (const { pieces, given, byte } of plan) {
          sink.start();
          const written = Buffer.concat(pieces.map((length) => write(sink, length, byte)));
          expect(sink.length).toBe(written.length);
          if (!given) continue;
          taken.push(sink.take());
          expected.push(written);
        }
        taken.forEach((chunk, index) => {
          expect(chunk.equals(expected[index] as Buffer)).toBe(true);
        });
      }),
      { numRuns: 100 },
    );
  });

  it("puts chunks on one slab until it is full", () => {
    const sink = new ByteSink();
    const all = Array.from({ length: 5 }, () => {
      sink.start();
      write(sink, SLAB_BYTES / 4);
      return sink.take();
    });
    const slabs = all.map((chunk) => chunk.buffer);
    expect(slabs.map((slab) => slab === slabs[0])).toEqual([true, true, true, true, false]);
    expect(all.map((chunk) => chunk.byteOffset)).toEqual([0, 1, 2, 3, 0].map((n) => (n * SLAB_BYTES) / 4));
  });

  it("begins a chunk that is taken without a start after the one before", () => {
    const sink = new ByteSink();
    sink.start();
    write(sink, 3, 1);
    sink.take();
    write(sink, 2, 2);
    expect([...sink.take()]).toEqual([2, 2]);
  });

  it("puts a large chunk into a separate buffer, and does not keep it", () => {
    const sink = new ByteSink();
    sink.start();
    write(sink, 10);
    write(sink, SLAB_BYTES);
    const large = sink.take();
    expect(large.length).toBe(SLAB_BYTES + 10);
    expect(sink.buffer.buffer).not.toBe(large.buffer);
    write(sink, 1);
    expect(sink.buffer.length).toBe(SLAB_BYTES);
  });

  it("does not keep an abandoned large chunk either", () => {
    const sink = new ByteSink();
    sink.start();
    write(sink, 2 * SLAB_BYTES);
    sink.start();
    expect(sink.length).toBe(0);
    expect(sink.buffer.length).toBe(0);
  });

  it("grows by doubling, so that a long chunk of small pieces is not copied often", () => {
    const sink = new ByteSink();
    sink.start();
    const buffers = new Set<ArrayBufferLike>();
    for (let written = 0; written < 64 * SLAB_BYTES; written += 64) {
      write(sink, 64);
      buffers.add(sink.buffer.buffer);
    }
    expect(buffers.size).toBeLessThanOrEqual(8);
    expect(sink.take().length).toBe(64 * SLAB_BYTES);
  });
});
