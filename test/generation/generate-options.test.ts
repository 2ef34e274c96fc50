import {
  Client,
  functionTool,
  type GenerateOptions,
  type GenerateResult,
  generate,
  InvalidRequestError,
  ServerError,
  setDefaultClient,
  toJson,
  toolResult,
  userMessage,
} from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import { ScriptedModel } from "./support/scripted-model.ts";

function setUp(turns: ConstructorParameters<typeof ScriptedModel>[0] = ["hello"]) {
  const model = new ScriptedModel(turns);
  return { model, client: new Client({ providers: { scripted: model } }) };
}

afterEach(() => setDefaultClient(undefined));

/** Returns the violations of options that are refused, one line each. */
async function listViolations(call: Promise<GenerateResult>): Promise<string[]> {
  const thrown = await call.catch((error: unknown) => error);
  if (!(thrown instanceof InvalidRequestError))
    throw new Error(`expected an invalid request, found ${thrown}`);
  return thrown.violations.map(({ field, description }) => `${field}: ${description}`);
}

describe("The options of generate()", () => {
  /** Options of programs that are not checked by TypeScript. */
  const invalid: readonly (readonly [string, object, string])[] = [
    ["neither prompt nor messages", {}, "prompt: is not set, and neither is messages"],
    ["a prompt that is no text", { prompt: 7 }, "prompt: expected a text, found 7"],
    ["a system that is no text", { prompt: "hi", system: {} }, "system: expected a text, found an object"],
    ["messages that are no list", { messages: "hi" }, 'messages: expected a list, found "hi"'],
    ["tools that are no list", { prompt: "hi", tools: {} }, "tools: expected a list"],
    [
      "a tool that was not made by a constructor",
      { prompt: "hi", tools: [{ name: "a", execute: () => 1 }] },
      "tools[0]: expected a tool that functionTool() or customTool() made",
    ],
    [
      "a negative number of rounds",
      { prompt: "hi", maxToolRounds: -1 },
      "maxToolRounds: expected a number from 0",
    ],
    ["a number of rounds that is none", { prompt: "hi", maxToolRounds: Number.NaN }, "found NaN"],
    ["a part of a round", { prompt: "hi", maxToolRounds: 1.5 }, "expected a whole number, found 1.5"],
    [
      "a condition that is no function",
      { prompt: "hi", stopWhen: "never" },
      'stopWhen: expected a function, found "never"',
    ],
    ["a negative time limit", { prompt: "hi", timeout: -5 }, "timeout: expected a number from 0, found -5"],
    ["a time limit that is no number", { prompt: "hi", timeout: { perStepMs: "5" } }, "timeout.perStepMs"],
    [
      "too many retries",
      { prompt: "hi", maxRetries: 11 },
      "maxRetries: expected a whole number from 0 to 10, found 11",
    ],
    ["too many retries in the policy", { prompt: "hi", retry: { maxRetries: Infinity } }, "retry.maxRetries"],
    ["a negative limit", { prompt: "hi", limits: { maxSteps: -1 } }, "limits.maxSteps"],
    ["an option of another name", { prompt: "hi", maxRounds: 3 }, "maxRounds: is not a field of Request"],
    [
      "an invalid field of the request",
      { prompt: "hi", topP: "much" },
      "topP: expected a number, found a string",
    ],
    ["two tools of one name", { prompt: "hi", tools: [tool("a"), tool("a")] }, "tools[1].function.name"],
  ];

  it.each(invalid)("are refused if there is %s", async (_name, options, want) => {
    const { model, client } = setUp();
    const call = generate({ model: "m", client, ...options });
    await expect(call).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(call).rejects.toThrow(want);
    expect(model.requests).toEqual([]);
  });

  it("are refused with every invalid option, what was expected and what was found", async () => {
    const { client } = setUp();
    const options = {
      model: "m",
      client,
      prompt: "hi",
      messages: [userMessage("hi")],
      maxToolRounds: "3",
      stopWhen: true,
      repairToolCall: null,
      onRetry: 5n,
      onStepFinish: [],
      maxRetries: 1.5,
      retry: { maxRetries: -1, times: 2 },
      timeout: { totalMs: Number.NaN, total: 5 },
    };
    expect(await listViolations(generate(options as object as GenerateOptions))).toEqual([
      "prompt: is given together with messages; expected one of prompt and messages",
      'maxToolRounds: expected a number from 0, found "3"',
      "stopWhen: expected a function, found a boolean",
      "repairToolCall: expected a function, found null",
      "onRetry: expected a function, found 5",
      "onStepFinish: expected a function, found an object",
      "maxRetries: expected a whole number from 0 to 10, found 1.5",
      "retry.maxRetries: expected a whole number from 0 to 10, found -1",
      "timeout.total: is not an option; expected one of totalMs, perStepMs, perToolMs",
      "timeout.totalMs: expected a number from 0, found NaN",
      "request: has 1 more invalid fields that are not listed",
    ]);
  });

  it("are refused with the names of the limits and of the retry policy", async () => {
    const { client } = setUp();
    const limits = {
      maxSteps: -1,
      maxTotalTokens: "many",
      maxCostNanoUsd: -1n,
      maxToolCalls: {},
      allowUnknownPrices: "yes",
      maxCost: 1,
      max_steps: 1,
    };
    const retry = { onretry: 1 };
    const call = generate({ model: "m", client, prompt: "hi", limits, retry } as object as GenerateOptions);
    const names = "maxSteps, maxTotalTokens, maxCostNanoUsd, maxToolCalls, allowUnknownPrices";
    expect(await listViolations(call)).toEqual([
      `limits.maxCost: is not an option; expected one of ${names}`,
      `limits.max_steps: is not an option; expected one of ${names}; did you mean maxSteps?`,
      "retry.onretry: is not an option; expected one of maxRetries, baseDelay, maxDelay, backoffMultiplier, jitter, retryTimeouts, onRetry; did you mean onRetry?",
      "limits.maxSteps: expected a number from 0, found -1",
      'limits.maxTotalTokens: expected a number from 0, found "many"',
      "limits.maxCostNanoUsd: expected a number from 0, found -1",
      "limits.maxToolCalls: expected a number from 0, found an object",
      'limits.allowUnknownPrices: expected true or false, found "yes"',
    ]);
  });

  it("may be 0, and large numbers may be bigints", async () => {
    const { client } = setUp();
    const limits = { maxCostNanoUsd: 10n ** 15n, allowUnknownPrices: true };
    const timeout = { totalMs: 0, perStepMs: 0, perToolMs: 0 };
    const options = { model: "m", prompt: "hi", client, maxToolRounds: 0, maxRetries: 0, timeout, limits };
    expect((await generate(options)).text).toBe("hello");
    expect((await generate({ ...options, timeout: 0 })).text).toBe("hello");
  });

  it("are listed in the error about another name, after the fields of a request", async () => {
    const { client } = setUp();
    const call = generate({ model: "m", client, prompt: "hi", maxRounds: 3 } as GenerateOptions);
    const [violation = ""] = await listViolations(call);
    const names = [
      "prompt",
      "system",
      "maxToolRounds",
      "stopWhen",
      "onStepFinish",
      "repairToolCall",
      "maxRetries",
      "retry",
      "onRetry",
      "timeout",
      "limits",
      "signal",
      "client",
    ];
    expect(violation).toContain("expected one of model, messages, ");
    expect(violation.endsWith(`, providerOptions, ${names.join(", ")}`)).toBe(true);
  });

  it("name the client, or use the default one", async () => {
    const { model, client } = setUp();
    setDefaultClient(client);
    expect((await generate({ model: "m", prompt: "hi" })).text).toBe("hello");
    expect(model.requests).toHaveLength(1);
  });

  it("are sent as the fields of a request that they are", async () => {
    const { model, client } = setUp();
    const fields = {
      temperature: 0.5,
      topP: 0.9,
      maxTokens: 7,
      stopSequences: ["\n"],
      reasoningEffort: "low",
    };
    await generate({ model: "m", prompt: "hi", client, ...fields, metadata: { user: "ada" } });
    expect(model.requests[0]).toMatchObject({ ...fields, metadata: { user: "ada" }, provider: "scripted" });
  });

  it("may allow any number of rounds", async () => {
    const calls = Array.from({ length: 40 }, () => [{ name: "a" }]);
    const { client } = setUp([...calls, "done"]);
    const options = { model: "m", prompt: "hi", client, tools: [tool("a")] };
    expect((await generate({ ...options, maxToolRounds: Infinity })).steps).toHaveLength(41);
  });

  it("prefer maxRetries and onRetry to the values of the policy", async () => {
    const { model, client } = setUp([new ServerError("overloaded", { retryable: true })]);
    const policy: GenerateOptions = {
      model: "m",
      prompt: "hi",
      client,
      maxRetries: 0,
      retry: { maxRetries: 3, baseDelay: 0 },
    };
    await expect(generate(policy)).rejects.toThrow("overloaded");
    expect(model.requests).toHaveLength(1);
  });
});

describe("The result of generate()", () => {
  async function twoSteps(): Promise<GenerateResult> {
    const { client } = setUp([[{ name: "a" }], "done"]);
    return generate({ model: "m", prompt: "hi", client, tools: [tool("a")] });
  }

  it("is about its last step, and has all of them", async () => {
    const result = await twoSteps();
    expect([result.text, result.reasoning, result.toolCalls, result.toolResults]).toEqual([
      "done",
      "",
      [],
      [],
    ]);
    expect(result.steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 0]);
    expect([result.usage?.totalTokens, result.totalUsage?.totalTokens]).toEqual([15, 30]);
    expect([result.stopReason, result.warnings]).toEqual(["COMPLETED", []]);
  });

  it("has the messages that continue the conversation", async () => {
    const { messages } = await twoSteps();
    const { model, client } = setUp(["bye"]);
    await generate({
      model: "m",
      client,
      tools: [tool("a")],
      messages: [userMessage("hi"), ...messages, userMessage("?")],
    });
    expect(model.requests[0]?.messages).toHaveLength(5);
  });

  it("has the calls that wait for the program, and continues with their results", async () => {
    const { client } = setUp([[{ name: "ask_person" }, { name: "a" }], "thanks"]);
    const tools = [tool("a"), functionTool({ name: "ask_person" })];
    const first = await generate({ model: "m", prompt: "hi", client, tools });
    expect([first.stopReason, first.openCalls.map(({ name }) => name)]).toEqual([
      "TOOL_CALLS",
      ["ask_person"],
    ]);
    const answers = first.openCalls.map((call) => toolResult(call, "yes"));
    const messages = [userMessage("hi"), ...first.messages, ...answers];
    expect((await generate({ model: "m", client, tools, messages })).text).toBe("thanks");
  });

  it("can be written as JSON", async () => {
    const result = await twoSteps();
    expect(JSON.parse(JSON.stringify(result))).toEqual(toJson(result.toProto()));
    expect(JSON.parse(JSON.stringify(result.steps[0]))).toMatchObject({
      toolResults: [{ toolCallId: "call_1_0" }],
    });
    expect(result.steps[0]?.toProto()).toBe(result.toProto().steps[0]);
  });
});

function tool(name: string) {
  return functionTool({ name, execute: () => "fine" });
}

describe("A misspelt option", () => {
  it.each([
    [
      { maxToolRound: 2 },
      /^maxToolRound: is not a field of Request; expected .*; did you mean maxToolRounds\?$/,
    ],
    [{ provideroptions: {} }, /^provideroptions: .*; did you mean providerOptions\?$/],
    [
      { limits: { maxStep: 2 } },
      /^limits\.maxStep: is not an option; expected one of maxSteps, .*mean maxSteps\?$/,
    ],
    [
      { timeout: { total: 2 } },
      /^timeout\.total: is not an option; expected one of totalMs, perStepMs, perToolMs$/,
    ],
    [{ retry: { retries: 2 } }, /^retry\.retries: is not an option; expected one of maxRetries, /],
  ])("is named with the options that exist: %o", async (options, message) => {
    await expect(generate({ model: "m", prompt: "hi", ...(options as object) })).rejects.toThrow(message);
  });

  it("uses the names that the program may write", async () => {
    const failed = generate({ model: "m", prompt: "hi", colour: "red" } as GenerateOptions);
    await expect(failed).rejects.toThrow(/stopWhen.*signal/);
    await expect(failed).rejects.toThrow("providerOptions");
  });
});
