import { describe, expect, it } from "vitest";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import { factsFor } from "../../support/decode.ts";
import { measureHeap } from "../../support/measure-heap.ts";

const MIB = 1024 * 1024;
const DELTAS = 300_000;

describe("the parts of a stream", () => {
  it.each(["startText", "startReasoning"] as const)(
    "take about as much memory as their characters, which arrive one by one: %s",
    (start) => {
      const writer = new StreamWriter(factsFor("sim", { model: "m" }), () => 0);
      const block = writer[start]();
      const before = measureHeap();
      for (let index = 0; index < DELTAS; index += 1) {
        block.append("x");
        if (index % 1000 === 0) writer.take();
      }
      writer.take();
      expect(measureHeap() - before).toBeLessThan(2 * MIB);
      expect(block.text).toHaveLength(DELTAS);
    },
  );
});
