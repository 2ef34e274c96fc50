import { create, type MessageInitShape } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addUsage } from "../../src/core/usage.ts";
import { type Usage, UsageSchema } from "../../src/gen/outrigger/v1/usage_pb.ts";

function estimateUsage(counts: MessageInitShape<typeof UsageSchema>): Usage {
  return create(UsageSchema, counts);
}

const count = fc.integer({ min: 0, max: 1_000_000 });

/** A usage as law 7 has it, with any of the optional counts unset. */
const anyUsage = fc
  .record(
    {
      inputTokens: count,
      outputTokens: count,
      reasoningTokens: count,
      cacheReadTokens: count,
      cacheWriteTokens: count,
      costNanoUsd: fc.bigInt({ min: 0n, max: 10n ** 15n }),
    },
    { requiredKeys: ["inputTokens", "outputTokens"] },
  )
  .map((counts) => estimateUsage({ ...counts, totalTokens: counts.inputTokens + counts.outputTokens }));

describe("addUsage()", () => {
  it("adds every count", () => {
    const left = estimateUsage({
      inputTokens: 10,
      outputTokens: 5,
      totalTokens: 15,
      reasoningTokens: 3,
      cacheReadTokens: 4,
      cacheWriteTokens: 1,
      costNanoUsd: 9_007_199_254_740_993n,
    });
    const right = estimateUsage({ ...left, reasoningTokens: 0, costNanoUsd: 2n });
    expect(addUsage(left, right)).toEqual(
      estimateUsage({
        inputTokens: 20,
        outputTokens: 10,
        totalTokens: 30,
        reasoningTokens: 3,
        cacheReadTokens: 8,
        cacheWriteTokens: 2,
        costNanoUsd: 9_007_199_254_740_995n,
      }),
    );
  });

  it.each(["reasoningTokens", "cacheReadTokens", "cacheWriteTokens"] as const)(
    "distinguishes an unset count of %s from zero",
    (field) => {
      expect(addUsage(estimateUsage({}), estimateUsage({}))[field]).toBeUndefined();
      expect(addUsage(estimateUsage({ [field]: 0 }), estimateUsage({}))[field]).toBe(0);
      expect(addUsage(estimateUsage({}), estimateUsage({ [field]: 7 }))[field]).toBe(7);
    },
  );

  it("keeps an unknown cost unknown, and a cost of zero known", () => {
    expect(addUsage(estimateUsage({}), estimateUsage({})).costNanoUsd).toBeUndefined();
    expect(addUsage(estimateUsage({ costNanoUsd: 0n }), estimateUsage({})).costNanoUsd).toBe(0n);
    expect(addUsage(estimateUsage({}), estimateUsage({ costNanoUsd: 5n })).costNanoUsd).toBe(5n);
  });

  it("carries no raw object over and changes neither side", () => {
    const left = estimateUsage({ inputTokens: 1, rawJson: '{"input_tokens":1}' });
    const right = estimateUsage({ inputTokens: 2, rawJson: '{"input_tokens":2}' });
    expect(addUsage(left, right).rawJson).toBe("");
    expect([left, right]).toEqual([
      estimateUsage({ inputTokens: 1, rawJson: '{"input_tokens":1}' }),
      estimateUsage({ inputTokens: 2, rawJson: '{"input_tokens":2}' }),
    ]);
  });

  it("stops at the largest count that the contract can hold", () => {
    const large = estimateUsage({
      inputTokens: 2_000_000_000,
      totalTokens: 2_000_000_000,
      reasoningTokens: 2_000_000_000,
    });
    const most = 2_147_483_647;
    expect(addUsage(large, large)).toMatchObject({
      inputTokens: most,
      totalTokens: most,
      reasoningTokens: most,
    });
  });

  it("gives the same sum in any order and grouping, with an empty usage as zero", () => {
    fc.assert(
      fc.property(anyUsage, anyUsage, anyUsage, (a, b, c) => {
        expect(addUsage(a, b)).toEqual(addUsage(b, a));
        expect(addUsage(addUsage(a, b), c)).toEqual(addUsage(a, addUsage(b, c)));
        expect(addUsage(a, estimateUsage({}))).toEqual(a);
      }),
      { seed: 3 },
    );
  });

  it("keeps the total the sum of input and output", () => {
    fc.assert(
      fc.property(anyUsage, anyUsage, (a, b) => {
        const { inputTokens, outputTokens, totalTokens } = addUsage(a, b);
        expect(totalTokens).toBe(inputTokens + outputTokens);
      }),
      { seed: 4 },
    );
  });
});
