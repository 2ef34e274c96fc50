import { describe, expect, it, onTestFinished } from "vitest";
import { reasoningOf, systemMessage, textOf, toolCallsOf, userMessage } from "../../../src/core/message.ts";
import {
  ResponseFormat_Type as Format,
  ToolChoice_Mode as Mode,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason as Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { HttpTimeouts } from "../../../src/kit/http/transport.ts";
import { GeminiAdapter } from "../../../src/providers/gemini/adapter.ts";
import {
  completeAndStream,
  continued,
  requestFor,
  type SimulatedAdapter,
  testAnswers,
  testBrokenStreams,
  testCancellation,
  testErrors,
  weatherTool,
} from "../../simulator/adapter-suite.ts";
import { useSimulator } from "../../simulator/support.ts";

const thinkers = {
  "gemini-3-pro-preview": "sim-reasoning:rounds=2",
  "gemini-3.6-flash": "sim-reasoning:rounds=2,redacted=1",
  "gemini-4-hydrogen": "sim-reasoning:rounds=2,calls=3,no_ids=1",
};

const simulator = useSimulator({ aliases: { ...thinkers, "gemini-3.5-flash": "sim-text" } });

function open(timeouts: Partial<HttpTimeouts> = {}): GeminiAdapter {
  const adapter = new GeminiAdapter({ apiKey: "key-1", baseUrl: simulator().geminiBaseUrl, timeouts });
  onTestFinished(() => adapter.close());
  return adapter;
}

const stage: SimulatedAdapter = { simulator, open };

testAnswers(stage);

describe("reasoning", () => {
  it.each(Object.keys(thinkers))(
    "of %s is sent back with signatures through two rounds of tools",
    async (model) => {
      const adapter = open();
      const request = requestFor(model, { tools: [weatherTool], reasoningEffort: "high" });
      for (const first of await completeAndStream(adapter, request)) {
        expect(toolCallsOf(first).length).toBeGreaterThan(0);
        expect(first.usage?.reasoningTokens).toBeGreaterThan(100);
        expect(reasoningOf(first) !== "").toBe(model !== "gemini-3.6-flash");
        const again = continued(request, first);
        for (const second of await completeAndStream(adapter, again)) {
          const answer = await adapter.complete(continued(again, second));
          expect(answer.warnings).toEqual([]);
          expect(textOf(answer)).toContain("rain");
        }
      }
    },
  );

  it("of a text is sent back with its signature", async () => {
    const adapter = open();
    const request = requestFor("sim-reasoning");
    for (const first of await completeAndStream(adapter, request)) {
      const next = continued(request, first);
      next.messages.push(userMessage("And in Rome?"));
      expect(textOf(await adapter.complete(next))).toContain("And in Rome?");
    }
  });
});

describe("the adapter and the simulator", () => {
  it("report cached tokens as part of the input", async () => {
    const adapter = open();
    const beginning = systemMessage("The tide turns twice a day. ".repeat(400));
    const ask = (question: string) =>
      adapter.complete(requestFor("gemini-3.5-flash", { messages: [beginning, userMessage(question)] }));
    const [first, second] = [await ask("One?"), await ask("Two?")];
    expect(first.usage?.cacheReadTokens ?? 0).toBe(0);
    expect(second.usage?.cacheReadTokens).toBeGreaterThan(2000);
    expect(second.usage?.inputTokens).toBe(first.usage?.inputTokens);
  });

  it("agree on structured output", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const responseFormat = { type: Format.JSON_SCHEMA, name: "n", schemaJson: JSON.stringify(schema) };
    const response = await open().complete(requestFor("gemini-3.5-flash", { responseFormat }));
    expect((JSON.parse(textOf(response)) as { n: number }).n).toBeGreaterThanOrEqual(3);
  });

  it("agree on forced calls and stop sequences", async () => {
    const toolChoice = { mode: Mode.NAMED, toolName: "get_weather" };
    const called = await open().complete(
      requestFor("gemini-3.5-flash", { tools: [weatherTool], toolChoice }),
    );
    expect(called.finishReason).toMatchObject({ reason: Reason.TOOL_CALLS, raw: "STOP" });
    const stopped = await open().complete(requestFor("sim-echo", { stopSequences: ["Paris"] }));
    expect(textOf(stopped)).toBe("What is the weather in ");
  });

  it("agree on a hosted search and its citations", async () => {
    const configJson = '{"googleSearch":{}}';
    const tools = [{ tool: { case: "hosted", value: { provider: "gemini", configJson } } } as const];
    const adapter = open();
    const request = requestFor("gemini-3.5-flash", { tools });
    for (const first of await completeAndStream(adapter, request)) {
      const citations = first.message?.content.flatMap((part) => part.citations) ?? [];
      expect(citations.map(({ url }) => new URL(url).hostname)).toEqual([
        "www.example.com",
        "www.example.com",
      ]);
      const next = continued(request, first);
      next.messages.push(userMessage("And tomorrow?"));
      expect(textOf(await adapter.complete(next))).toContain("And tomorrow?");
    }
  });

  it("agree on blocked prompts and blocked answers", async () => {
    for (const [model, raw] of [
      ["sim-refusal", "SAFETY"],
      ["sim-text:stop=content_filter", "SAFETY"],
    ] as const)
      for (const response of await completeAndStream(open(), requestFor(model)))
        expect(response.finishReason).toMatchObject({ reason: Reason.CONTENT_FILTER, raw });
  });
});

testErrors(stage, [
  ["status=400", "INVALID_REQUEST"],
  ["status=400,code=API_KEY_INVALID", "AUTHENTICATION"],
  ["status=400,code=FAILED_PRECONDITION", "ACCESS_DENIED"],
  ["status=400,code=context_length_exceeded", "CONTEXT_LENGTH"],
  ["status=401", "AUTHENTICATION"],
  ["status=403", "ACCESS_DENIED"],
  ["status=404", "NOT_FOUND"],
  ["status=409", "PROVIDER"],
  ["status=429,retry_after=2", "RATE_LIMIT"],
  ["status=429,code=insufficient_quota", "QUOTA_EXCEEDED"],
  ["status=499", "ABORT"],
  ["status=500", "SERVER"],
  ["status=501", "INVALID_REQUEST"],
  ["status=503", "SERVER"],
  ["status=504", "REQUEST_TIMEOUT"],
  ["status=502,error_body=html", "SERVER"],
  ["drop=1", "NETWORK"],
]);

testBrokenStreams(stage, [
  ["error_after=4", "SERVER"],
  ["error_after=4,error_style=failed", "SERVER"],
  ["error_after=4,error_code=UNAVAILABLE", "SERVER"],
  ["error_after=4,error_code=RESOURCE_EXHAUSTED", "RATE_LIMIT"],
]);
testCancellation(stage);
