import {
  type AttemptEntry,
  assistantMessage,
  Client,
  ConfigurationError,
  createLogging,
  createRetry,
  imagePart,
  type LoggingOptions,
  type Middleware,
  reasoningPart,
  ServerError,
  systemMessage,
  toolResult,
  userMessage,
} from "outrigger";
import { create, UsageSchema } from "outrigger/proto";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, getEvents, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();
afterEach(() => simulator().clearRequests());

function logged(options: Omit<LoggingOptions, "log"> = {}) {
  const entries: AttemptEntry[] = [];
  const log = (entry: AttemptEntry) => void entries.push(entry);
  return { entries, logging: createLogging({ ...options, log }) };
}

const SECRET = "sk-proj-abcdefghijklmnopqrstuvwx";

describe.each(calls)("createLogging() around %s", (kind, call) => {
  it("logs the facts of each attempt, and no content", async () => {
    const { entries, logging } = logged();
    const client = getClient(simulator(), [createRetry({ baseDelay: 0.001 }), logging]);
    const model = `sim-text:status=503,times=1,tokens=${kind.length + 40}`;
    await call(client, requestFor(model), { inferenceId: "inf_1" });
    expect(entries).toStrictEqual([
      {
        kind,
        provider: "one",
        model,
        inferenceId: "inf_1",
        durationMs: expect.any(Number),
        errorKind: "SERVER",
        httpStatus: 503,
        providerRequestId: expect.any(String),
      },
      {
        kind,
        provider: "one",
        model,
        inferenceId: "inf_1",
        durationMs: expect.any(Number),
        ...(kind === "stream" ? { firstEventMs: expect.any(Number) } : {}),
        finishReason: "STOP",
        inputTokens: expect.any(Number),
        outputTokens: expect.any(Number),
        providerRequestId: expect.any(String),
      },
    ]);
    await client.close();
  });

  it("logs messages and answers if configured to, without keys", async () => {
    const { entries, logging } = logged({ include: ["messages", "answer"] });
    const client = getClient(simulator(), [logging]);
    const messages = [
      systemMessage("Be short."),
      userMessage(`My key is ${SECRET} and Bearer abcdef1234567890!`),
    ];
    await call(client, { model: "sim-echo", messages });
    const text = "My key is [redacted] and Bearer [redacted]!";
    expect(entries).toMatchObject([
      {
        messages: [
          { role: "system", text: "Be short." },
          { role: "user", text },
        ],
        answer: text,
      },
    ]);
    await client.close();
  });

  it("logs reasoning, calls of tools and their results, and only the kind of other parts", async () => {
    const { entries, logging } = logged({ include: ["messages", "answer"] });
    const client = getClient(simulator(), [logging]);
    const input = { case: "argumentsJson", value: '{"zone":"UTC"}' } as const;
    const calling = assistantMessage([
      reasoningPart({ text: "The clock knows." }),
      { part: { case: "toolCall", value: { id: "call_1", name: "now", input } } },
    ]);
    const image = imagePart("https://example.com/a.png");
    const messages = [userMessage("When?"), calling, toolResult("call_1", "noon"), userMessage(image)];
    await call(client, requestFor("sim-reasoning", { messages }));
    expect(entries[0]?.messages).toEqual([
      { role: "user", text: "When?" },
      { role: "assistant", text: 'The clock knows.now({"zone":"UTC"})' },
      { role: "tool", text: "noon" },
      { role: "user", text: "[image]" },
    ]);
    expect(entries[0]?.answer).not.toBe("");
    await client.close();
  });

  it("bounds the texts to the latest messages, and redacts before it cuts", async () => {
    const redact = (text: string) => text.replaceAll("secret", "######");
    const { entries, logging } = logged({ include: ["messages"], maxTextLength: 10, redact });
    const client = getClient(simulator(), [logging]);
    const messages = [userMessage("first"), userMessage("a".repeat(100_000)), userMessage("my secret")];
    await call(client, { model: "sim-text", messages });
    expect(entries[0]?.messages).toEqual([
      { role: "user", text: "a" },
      { role: "user", text: "my ######" },
    ]);
    await client.close();
  });

  it("logs a duration with one decimal, the cost, and the usage of a failure", async () => {
    const { entries, logging } = logged();
    let now = 1000;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const usage = create(UsageSchema, {
      inputTokens: 7,
      outputTokens: 8,
      totalTokens: 15,
      costNanoUsd: 1_500_000_000n,
    });
    const failures = [new ServerError("down", { provider: "one", usage, httpStatusCode: 500 })];
    const one = new ScriptedAdapter("one", { failures });
    const priced: Middleware = async (request, next) => {
      now += 12.34;
      return { ...(await next(request)), usage };
    };
    const client = new Client({ providers: { one }, middleware: [logging, priced] });
    await toFailure(call(client, requestFor("m")));
    await call(client, requestFor("m"));
    const facts = { inputTokens: 7, outputTokens: 8, costUsd: 1.5, durationMs: 12.3 };
    expect(entries).toMatchObject([
      { ...facts, errorKind: "SERVER", httpStatus: 500 },
      { ...facts, finishReason: "STOP" },
    ]);
    for (const entry of entries) expect(entry).not.toHaveProperty("providerRequestId");
  });

  it("logs 2,000 characters by default, and no key that the limit cuts", async () => {
    const { entries, logging } = logged({ include: ["messages"] });
    const client = new Client({ providers: { one: new ScriptedAdapter("one") }, middleware: [logging] });
    const cut = `${"a".repeat(1990)} ${SECRET}${"x".repeat(1000)}`;
    await call(client, requestFor("m", { messages: [userMessage("first"), userMessage(cut)] }));
    expect(entries[0]?.messages).toEqual([{ role: "user", text: `${"a".repeat(1990)} [redacted` }]);
    await call(client, requestFor("m", { messages: [userMessage("b".repeat(1999)), userMessage("c")] }));
    expect(entries[1]?.messages?.map(({ text }) => text.length)).toEqual([1999, 1]);
    await call(client, requestFor("m", { messages: [userMessage("b".repeat(2001))] }));
    expect(entries[2]?.messages?.map(({ text }) => text.length)).toEqual([2000]);
  });

  it("counts messages without a text, so that their number is bounded", async () => {
    const { entries, logging } = logged({ include: ["messages"], maxTextLength: 2 });
    const client = new Client({ providers: { one: new ScriptedAdapter("one") }, middleware: [logging] });
    const messages = [userMessage("a"), assistantMessage(""), assistantMessage(""), userMessage("")];
    await call(client, requestFor("m", { messages }));
    expect(entries[0]?.messages).toHaveLength(2);
  });

  it("does not let a log that throws fail the call", async () => {
    const log = () => {
      throw new Error("disk full");
    };
    const client = getClient(simulator(), [createLogging({ log })]);
    expect(await call(client, requestFor("sim-text"))).toBeDefined();
    await toFailure(call(client, requestFor("sim-text:status=400")));
    await client.close();
  });
});

describe("createLogging() around a stream", () => {
  it("logs a stream that breaks, and one that its reader leaves", async () => {
    const { entries, logging } = logged();
    const client = getClient(simulator(), [logging]);
    await getEvents(client.stream(requestFor("sim-text:cut_events=8")));
    for await (const { event } of client.stream(requestFor("sim-long:rate=50")))
      if (event.case === "textDelta") break;
    expect(entries).toMatchObject([{ errorKind: "STREAM" }, { left: true }]);
    await client.close();
  });

  it("leaves the batches of the provider whole", async () => {
    const sizes = async (middleware: ReturnType<typeof createLogging>[]) => {
      const client = new Client({ providers: { one: new ScriptedAdapter("one") }, middleware });
      const found: number[] = [];
      for await (const batch of client.stream(requestFor("m")).batches()) found.push(batch.length);
      return found;
    };
    expect(await sizes([logged().logging])).toEqual(await sizes([]));
  });
});

it("refuses a limit of texts that is not above 0", () => {
  expect(() => logged({ maxTextLength: 0 })).toThrow(ConfigurationError);
});
