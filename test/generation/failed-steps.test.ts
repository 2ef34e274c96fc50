/** A generation that fails in a later step keeps its completed steps, and can be continued from there. */
import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import {
  Client,
  functionTool,
  type GenerateOptions,
  generate,
  SDKError,
  ServerError,
  StepResult,
  stream,
  textOf,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { ResponseSchema } from "../../src/gen/outrigger/v1/response_pb.ts";
import { ScriptedModel, type Turn } from "./support/scripted-model.ts";

const messages = [userMessage("order a pizza")];

function setUp(turns: readonly Turn[]) {
  const model = new ScriptedModel(turns);
  const executed: string[] = [];
  const tool = functionTool({
    name: "order",
    execute: (_args, { toolCallId }) => {
      executed.push(toolCallId);
      return `ordered by ${toolCallId}`;
    },
  });
  const client = new Client({ providers: { scripted: model } });
  const options = { client, model: "m", messages, tools: [tool], maxRetries: 0, maxToolRounds: 5 };
  return { model, executed, options };
}

async function failureFrom(run: () => Promise<unknown>): Promise<SDKError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof SDKError) return error;
    throw error;
  }
  return expect.fail("it did not fail");
}

const WAYS = [
  ["generate()", generate],
  ["stream()", (options: GenerateOptions) => stream(options).result()],
] as const;

describe.each(WAYS)("A failure in a later step of %s", (_name, run) => {
  const turns = [[{ name: "order" }], [{ name: "order" }], new ServerError("overloaded"), "Two pizzas."];

  it("has the steps before it, with the results of their tools", async () => {
    const { executed, options } = setUp(turns);
    const error = await failureFrom(() => run(options));
    expect(error).toBeInstanceOf(ServerError);
    expect(error.steps.map(({ toolResults }) => toolResults.length)).toEqual([1, 1]);
    expect(error.steps[0]).toBeInstanceOf(StepResult);
    expect(error.steps[1]?.toolCalls.map(({ id }) => id)).toEqual([executed[1]]);
    expect(error.messages).toHaveLength(4);
    expect(error.usage?.totalTokens).toBe(30);
  });

  it("lets the program continue without executing a tool again", async () => {
    const { model, executed, options } = setUp(turns);
    const error = await failureFrom(() => run(options));
    const result = await run({ ...options, messages: [...messages, ...error.messages] });
    expect(result.text).toBe("Two pizzas.");
    expect(executed).toHaveLength(2);
    expect(model.requests.at(-1)?.messages).toHaveLength(5);
  });

  it("does not show the steps in a log of the error", async () => {
    const { options } = setUp(turns);
    const error = await failureFrom(() => run(options));
    expect(`${inspect(error, { depth: 9, showHidden: true })}${JSON.stringify(error)}`).not.toContain(
      "ordered by",
    );
  });
});

describe("A failure in the first step", () => {
  it("has no steps", async () => {
    const { options } = setUp([new ServerError("overloaded")]);
    const error = await failureFrom(() => generate(options));
    expect([error.steps, error.messages]).toEqual([[], []]);
  });
});

describe.each(WAYS)("onStepFinish of %s", (_name, run) => {
  it("is called after each step and awaited before the next one", async () => {
    const { model, options } = setUp([[{ name: "order" }], "done"]);
    const seen: [toolResults: number, calls: number, text: string][] = [];
    const onStepFinish = async (step: StepResult) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      seen.push([step.toolResults.length, model.requests.length, step.text]);
    };
    await run({ ...options, onStepFinish });
    expect(seen).toEqual([
      [1, 1, ""],
      [0, 2, "done"],
    ]);
  });

  it("ends the generation with the error that it throws", async () => {
    const { model, options } = setUp([[{ name: "order" }], "done"]);
    const onStepFinish = () => {
      throw new Error("the disk is full");
    };
    const { signal } = new AbortController();
    await expect(run({ ...options, onStepFinish, signal })).rejects.toThrow("the disk is full");
    expect([model.requests.length, model.open]).toEqual([1, 0]);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("must be a function", async () => {
    const { options } = setUp(["done"]);
    const failed = run({ ...options, onStepFinish: "store" as never });
    await expect(failed).rejects.toThrow("onStepFinish: expected a function");
  });
});

/** The model, whose answers have the given price, no price, or no usage at all. */
function pricedBy(cost: (request: number) => bigint | "no usage" | undefined, turns: readonly Turn[]) {
  const { model, executed, options } = setUp(turns);
  const client = new Client({
    providers: { scripted: model },
    middleware: [
      async (request, next) => {
        const response = await next(request);
        const { costNanoUsd: _, ...usage } = response.usage ?? expect.fail("there is no usage");
        const price = cost(model.requests.length);
        if (price === "no usage") {
          const { usage: _, ...withoutUsage } = response;
          return create(ResponseSchema, withoutUsage);
        }
        return { ...response, usage: { ...usage, ...(price === undefined ? {} : { costNanoUsd: price }) } };
      },
    ],
  });
  return { model, executed, options: { ...options, client } };
}

describe.each(WAYS)("A limit of cost of %s", (_name, run) => {
  const limits = { maxCostNanoUsd: 1n };
  const turns = [[{ name: "order" }]];

  it("refuses to continue if the price of a step is unknown, before a tool is executed", async () => {
    const { model, executed, options } = pricedBy(() => undefined, turns);
    const error = await failureFrom(() => run({ ...options, limits }));
    expect(error).toMatchObject({ kindName: "CONFIGURATION", usage: { totalTokens: 15 } });
    expect(error.message).toContain('the price of "m" of "scripted" is unknown');
    expect([model.requests.length, executed]).toEqual([1, []]);
  });

  it("refuses to continue if the price of a later step is unknown", async () => {
    const { model, options } = pricedBy((request) => (request === 1 ? 5n : undefined), turns);
    const error = await failureFrom(() => run({ ...options, limits: { maxCostNanoUsd: 100n } }));
    expect(error.kindName).toBe("CONFIGURATION");
    expect(error.steps).toHaveLength(1);
    expect(model.requests).toHaveLength(2);
  });

  it.each([1, 2])("refuses to continue if the provider reports no usage of step %i", async (step) => {
    const { model, executed, options } = pricedBy((request) => (request === step ? "no usage" : 5n), turns);
    const error = await failureFrom(() => run({ ...options, limits: { maxCostNanoUsd: 100n } }));
    expect(error.message).toContain('the price of "m" of "scripted" is unknown');
    expect([model.requests.length, executed.length]).toEqual([step, step - 1]);
  });

  it.each([1, 2])("says that the total cost leaves answer %i without usage out", async (step) => {
    const { options } = pricedBy(
      (request) => (request === step ? "no usage" : 5n),
      [[{ name: "order" }], "done"],
    );
    expect((await run(options)).totalUsage).toMatchObject({ costNanoUsd: 5n, costIncomplete: true });
  });

  it.each([undefined, "no usage"] as const)(
    "warns of each such step if unknown prices are allowed: %s",
    async (price) => {
      const { options } = pricedBy(() => price, turns);
      const result = await run({
        ...options,
        maxToolRounds: 2,
        limits: { ...limits, allowUnknownPrices: true },
      });
      expect(result.steps.map(({ warnings }) => warnings[0]?.code)).toEqual(Array(3).fill("unknown_price"));
    },
  );

  it("warns about a last answer whose price is unknown, which comes too late to be prevented", async () => {
    const { options } = pricedBy(() => undefined, ["done"]);
    const result = await run({ ...options, limits });
    expect(result.warnings.map(({ code }) => code)).toEqual(["unknown_price"]);
    expect((await run(options)).warnings).toEqual([]);
  });

  it("says that the total cost leaves steps out", async () => {
    const { options } = pricedBy(
      (request) => (request === 1 ? 5n : undefined),
      [[{ name: "order" }], "done"],
    );
    const { totalUsage } = await run(options);
    expect(totalUsage).toMatchObject({ costNanoUsd: 5n, costIncomplete: true });
    const whole = pricedBy(() => 5n, [[{ name: "order" }], "done"]);
    expect((await run(whole.options)).totalUsage).toMatchObject({ costNanoUsd: 10n, costIncomplete: false });
  });

  it("takes allowUnknownPrices as true or false only", async () => {
    const { options } = setUp(["done"]);
    const failed = run({ ...options, limits: { allowUnknownPrices: 1 as never } });
    await expect(failed).rejects.toThrow("limits.allowUnknownPrices: expected true or false");
  });
});

describe.each(WAYS)("A limit that ends %s while the model calls tools", (_name, run) => {
  it.each([
    ["max_tool_rounds", { maxToolRounds: 2 }],
    ["limits.max_steps", { limits: { maxSteps: 2 } }],
    ["limits.max_total_tokens", { limits: { maxTotalTokens: 30 } }],
    ["limits.max_cost_nano_usd", { limits: { maxCostNanoUsd: 2000n } }],
    ["limits.max_tool_calls", { limits: { maxToolCalls: 2 } }],
  ])("is reported by a warning in the result: %s", async (field, limit) => {
    const { options } = setUp([[{ name: "order" }, { name: "order" }]]);
    const result = await run({ ...options, ...limit });
    expect(result.openCalls).toHaveLength(2);
    expect(result.warnings).toMatchObject([{ code: "tool_rounds_exhausted", field }]);
    expect(result.warnings[0]?.message).toContain("2 tool calls were not executed");
    expect(result.steps.slice(0, -1).flatMap(({ warnings }) => warnings)).toEqual([]);
  });

  it("is not reported if the program wanted no tool to be executed, or the model answered", async () => {
    const { options } = setUp([[{ name: "order" }], "done"]);
    expect((await run({ ...options, maxToolRounds: 0 })).warnings).toEqual([]);
    expect((await run({ ...options, maxToolRounds: 1 })).warnings).toEqual([]);
  });
});

describe("A program that continues after a failure", () => {
  it("can do so again and again", async () => {
    const failing: Turn[] = [1, 2, 3].flatMap((): Turn[] => [
      [{ name: "order" }],
      new ServerError("overloaded"),
    ]);
    const { executed, options } = setUp([...failing, "Three pizzas."]);
    const conversation = [...messages];
    for (;;) {
      try {
        const result = await generate({ ...options, messages: conversation });
        expect(textOf(result.response)).toBe("Three pizzas.");
        break;
      } catch (error) {
        if (!(error instanceof SDKError) || !error.retryable) throw error;
        conversation.push(...error.messages);
      }
    }
    expect(executed).toHaveLength(3);
  });
});
