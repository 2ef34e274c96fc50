import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { textOf, userMessage } from "../../../src/core/message.ts";
import {
  type GenerationOptions,
  GenerationOptionsSchema,
} from "../../../src/gen/outrigger/v1/generation_pb.ts";
import { type OptionRules, readOptions } from "../../../src/generation/contract/options.ts";

type Fields = Exclude<MessageInitShape<typeof GenerationOptionsSchema>, GenerationOptions>;

const REQUEST = { model: "m", messages: [userMessage("hi")] };

function read(fields: Fields, rules: OptionRules = {}, maxSteps = 50) {
  const options = create(GenerationOptionsSchema, { request: REQUEST, ...fields });
  return readOptions(options, "options", { maxSteps }, rules);
}

/** The fields that are refused, with the problem of each. */
async function listViolations(fields: Fields): Promise<string[]> {
  const thrown: unknown = await read(fields).catch((error: unknown) => error);
  expect(thrown).toMatchObject({ kindName: "INVALID_REQUEST", violations: expect.any(Array) });
  const { violations } = thrown as { violations: { field: string; description: string }[] };
  return violations.map(({ field, description }) => `${field}: ${description}`);
}

describe("readOptions()", () => {
  it("gives what is not set its default", async () => {
    expect(await read({})).toMatchObject({
      maxToolRounds: 1,
      retry: {},
      timeouts: {},
      limits: { maxSteps: 50 },
    });
    const { stopWhen, perToolMs, limits } = await read({ limits: {} });
    expect([stopWhen, perToolMs]).toEqual([undefined, undefined]);
    expect(limits).toStrictEqual({ maxSteps: 50, allowUnknownPrices: false });
    expect((await read({}, { toolRounds: 7 })).maxToolRounds).toBe(7);
    expect((await read({ maxToolRounds: 0 }, { toolRounds: 7 })).maxToolRounds).toBe(0);
  });

  it("reads what is set", async () => {
    const seconds = (count: bigint) => ({ seconds: count, nanos: 500_000_000 });
    const generation = await read({
      maxToolRounds: 3,
      stopWhen: "steps.size() > 1",
      retry: {
        maxRetries: 10,
        baseDelay: seconds(1n),
        maxDelay: seconds(2n),
        backoffMultiplier: 1.5,
        jitter: false,
        retryTimeouts: true,
      },
      timeouts: { total: seconds(3n), perStep: seconds(4n), perTool: seconds(5n) },
      limits: {
        maxSteps: 4,
        maxTotalTokens: 5,
        maxCostNanoUsd: 6n,
        maxToolCalls: 7,
        allowUnknownPrices: true,
      },
    });
    expect(generation).toMatchObject({ maxToolRounds: 3, stopWhen: expect.any(Function), perToolMs: 5500 });
    expect(generation.timeouts).toStrictEqual({ totalMs: 3500, perStepMs: 4500 });
    expect(generation.retry).toStrictEqual({
      maxRetries: 10,
      baseDelay: 1.5,
      maxDelay: 2.5,
      backoffMultiplier: 1.5,
      jitter: false,
      retryTimeouts: true,
    });
    expect(generation.limits).toStrictEqual({
      maxSteps: 4,
      maxTotalTokens: 5,
      maxCostNanoUsd: 6n,
      maxToolCalls: 7,
      allowUnknownPrices: true,
    });
  });

  it("leaves absent what a message of options does not set", async () => {
    const { retry, timeouts } = await read({ retry: {}, timeouts: {} });
    expect(retry).toStrictEqual({ retryTimeouts: false });
    expect(timeouts).toStrictEqual({});
  });

  it("never allows more steps than the sidecar does", async () => {
    expect((await read({ limits: { maxSteps: 51 } })).limits?.maxSteps).toBe(50);
    expect((await read({ limits: { maxSteps: 49 } })).limits?.maxSteps).toBe(49);
  });

  it("makes the system text and the prompt messages", async () => {
    const both = await read({ request: { model: "m" }, system: "be brief", prompt: "hi" });
    expect(both.request.messages.map((message) => textOf(message))).toEqual(["be brief", "hi"]);
    const before = await read({ system: "be brief" });
    expect(before.request.messages.map((message) => textOf(message))).toEqual(["be brief", "hi"]);
    expect((await read({})).request.messages).toHaveLength(1);
  });

  it("accepts a request without messages if the conversation comes from elsewhere", async () => {
    const { request } = await read({ request: { model: "m" } }, { mayHaveNoMessages: true });
    expect(request.messages).toEqual([]);
  });

  it("refuses options without a request, and none at all", async () => {
    const missing = { violations: [{ field: "options.request" }] };
    await expect(
      readOptions(create(GenerationOptionsSchema), "options", { maxSteps: 1 }),
    ).rejects.toMatchObject(missing);
    const none = readOptions(undefined, "options", { maxSteps: 1 });
    await expect(none).rejects.toMatchObject({ violations: [{ field: "options" }] });
  });

  const negative = { seconds: -1n };
  it.each([
    ["options.prompt", { prompt: "hi" }],
    ["options.prompt", { request: { model: "m" } }],
    ["options.max_tool_rounds", { maxToolRounds: -1 }],
    ["options.retry.max_retries", { retry: { maxRetries: 11 } }],
    ["options.retry.max_retries", { retry: { maxRetries: -1 } }],
    ["options.retry.backoff_multiplier", { retry: { backoffMultiplier: Number.NaN } }],
    ["options.retry.backoff_multiplier", { retry: { backoffMultiplier: Infinity } }],
    ["options.retry.base_delay", { retry: { baseDelay: negative } }],
    ["options.retry.max_delay", { retry: { maxDelay: negative } }],
    ["options.timeouts.total", { timeouts: { total: negative } }],
    ["options.timeouts.per_step", { timeouts: { perStep: negative } }],
    ["options.timeouts.per_tool", { timeouts: { perTool: negative } }],
    ["options.limits.max_steps", { limits: { maxSteps: 0 } }],
    ["options.limits.max_total_tokens", { limits: { maxTotalTokens: -1 } }],
    ["options.limits.max_cost_nano_usd", { limits: { maxCostNanoUsd: -1n } }],
    ["options.limits.max_tool_calls", { limits: { maxToolCalls: -1 } }],
  ] as [string, Fields][])("refuses %s out of its range: %o", async (field, fields) => {
    const violations = await listViolations(fields);
    expect(violations).toHaveLength(1);
    expect(violations[0]).toMatch(new RegExp(`^${field}: `));
  });

  it("accepts zero in fields in which it means none", async () => {
    const zero = { seconds: 0n };
    const fields: Fields = {
      maxToolRounds: 0,
      retry: { maxRetries: 0, backoffMultiplier: 0, baseDelay: zero, maxDelay: zero },
      timeouts: { total: zero, perStep: zero, perTool: zero },
      limits: { maxSteps: 1, maxTotalTokens: 0, maxCostNanoUsd: 0n, maxToolCalls: 0 },
    };
    expect(await read(fields)).toMatchObject({ timeouts: { totalMs: 0, perStepMs: 0 }, perToolMs: 0 });
  });

  it("refuses texts that cannot be encoded in UTF-8, and names all fields at once", async () => {
    const broken = "\ud83d";
    const fields = { request: { model: "m" }, prompt: broken, system: broken, limits: { maxSteps: 0 } };
    expect(await listViolations(fields)).toEqual([
      "options.prompt: contains an unpaired surrogate",
      "options.system: contains an unpaired surrogate",
      "options.limits.max_steps: expected a number from 1, found 0",
    ]);
  });
});
