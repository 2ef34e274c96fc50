import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished } from "vitest";
import { reasoningOf, systemMessage, textOf, userMessage } from "../../../src/core/message.ts";
import {
  ResponseFormat_Type as Format,
  ToolChoice_Mode as Mode,
  RequestSchema,
} from "../../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason as Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { HttpTimeouts } from "../../../src/kit/http/transport.ts";
import { AnthropicAdapter } from "../../../src/providers/anthropic-messages/adapter.ts";
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

const thinkingModels = {
  "claude-opus-5-5": "sim-reasoning:rounds=2",
  "claude-opus-4-6": "sim-reasoning:rounds=2,redacted=1",
  "claude-sonnet-4-5": "sim-reasoning:rounds=2",
};

const simulator = useSimulator({ aliases: { ...thinkingModels, "claude-opus-5": "sim-text" } });

function open(timeouts: Partial<HttpTimeouts> = {}): AnthropicAdapter {
  const adapter = new AnthropicAdapter({ apiKey: "key-1", baseUrl: simulator().anthropicBaseUrl, timeouts });
  onTestFinished(() => adapter.close());
  return adapter;
}

const stage: SimulatedAdapter = { simulator, open };

testAnswers(stage);

describe("thinking", () => {
  it.each(Object.keys(thinkingModels))("of %s is sent back through two rounds of tools", async (model) => {
    const adapter = open();
    const request = requestFor(model, { tools: [weatherTool], reasoningEffort: "high" });
    for (const first of await completeAndStream(adapter, request)) {
      const kinds = first.message?.content.map(({ part }) => part.case) ?? [];
      expect(kinds[0]).toBe("reasoning");
      expect(kinds.at(-1)).toBe("toolCall");
      expect(first.usage?.reasoningTokens).toBeGreaterThan(100);
      expect(reasoningOf(first) !== "").toBe(model !== "claude-opus-4-6");
      const again = continued(request, first);
      for (const second of await completeAndStream(adapter, again))
        expect(textOf(await adapter.complete(continued(again, second)))).toContain("rain");
    }
  });
});

describe("thinking after a history that changed", () => {
  it("is left out by the provider, with a warning, and later thinking is kept", async () => {
    const adapter = open();
    const request = requestFor("claude-opus-5-5", { tools: [weatherTool] });
    for (const first of await completeAndStream(adapter, request)) {
      expect(first.warnings).toEqual([]);
      const { messages, ...rest } = continued(request, first);
      const changed = create(RequestSchema, { ...rest, messages: [systemMessage("Be brief."), ...messages] });
      for (const second of await completeAndStream(adapter, changed)) {
        expect(second.warnings).toMatchObject([
          {
            code: "input_transformed",
            field: "messages",
            message: "the provider changed the input: thinking_dropped, prefix_binding_mismatch",
          },
        ]);
        const answer = await adapter.complete(continued(changed, second));
        expect(textOf(answer)).toContain("rain");
        expect(answer.warnings).toHaveLength(1);
      }
    }
  });
});

describe("a request to the simulator", () => {
  it("is cached, with cached tokens counted as input", async () => {
    const adapter = open();
    const beginning = "The tide turns twice a day. ".repeat(300);
    const ask = (question: string) =>
      adapter.complete(
        requestFor("claude-opus-5", { messages: [userMessage(beginning), userMessage(question)] }),
      );
    const [first, second] = [await ask("One?"), await ask("One?")];
    expect(first.usage).toMatchObject({ cacheReadTokens: 0 });
    expect(first.usage?.cacheWriteTokens).toBeGreaterThan(2000);
    expect(second.usage?.cacheReadTokens).toBe(first.usage?.cacheWriteTokens);
    expect(second.usage?.inputTokens).toBe(first.usage?.inputTokens);
  });

  it("gets an answer that fits its schema", async () => {
    const schema = { type: "object", properties: { n: { type: "integer", minimum: 3 } }, required: ["n"] };
    const responseFormat = {
      type: Format.JSON_SCHEMA,
      name: "n",
      schemaJson: JSON.stringify(schema),
      strict: true,
    };
    const response = await open().complete(requestFor("claude-opus-5", { responseFormat }));
    expect(JSON.parse(textOf(response))).toEqual({ n: expect.any(Number) as number });
  });

  it("gets a forced call, and an answer that ends at a stop sequence", async () => {
    const toolChoice = { mode: Mode.NAMED, toolName: "get_weather" };
    const called = await open().complete(requestFor("claude-opus-5", { tools: [weatherTool], toolChoice }));
    expect(called.finishReason).toMatchObject({ reason: Reason.TOOL_CALLS, raw: "tool_use" });
    const stopped = await open().complete(requestFor("sim-echo", { stopSequences: ["Paris"] }));
    expect(textOf(stopped)).toBe("What is the weather in ");
    expect(stopped.finishReason).toMatchObject({ reason: Reason.STOP, raw: "stop_sequence" });
  });

  it("gets search results, which are sent back unchanged", async () => {
    const configJson = '{"type":"web_search_20250305","name":"web_search"}';
    const tools = [{ tool: { case: "hosted", value: { provider: "anthropic", configJson } } } as const];
    const adapter = open();
    const request = requestFor("claude-opus-5", { tools });
    for (const first of await completeAndStream(adapter, request)) {
      expect(first.message?.content.filter(({ part }) => part.case === "native")).toHaveLength(2);
      expect(first.message?.content.flatMap(({ citations }) => citations)).toHaveLength(2);
      const next = continued(request, first);
      next.messages.push(userMessage("And tomorrow?"));
      expect(textOf(await adapter.complete(next))).toContain("And tomorrow?");
    }
  });
});

testErrors(stage, [
  ["status=400", "INVALID_REQUEST"],
  ["status=400,code=context_length_exceeded", "CONTEXT_LENGTH"],
  ["status=400,code=insufficient_quota", "QUOTA_EXCEEDED"],
  ["status=401", "AUTHENTICATION"],
  ["status=402", "QUOTA_EXCEEDED"],
  ["status=403", "ACCESS_DENIED"],
  ["status=404", "NOT_FOUND"],
  ["status=409", "PROVIDER"],
  ["status=413", "CONTEXT_LENGTH"],
  ["status=429,retry_after=2", "RATE_LIMIT"],
  ["status=429,code=enforced_spend_limit_reached", "QUOTA_EXCEEDED"],
  ["status=500", "SERVER"],
  ["status=503", "SERVER"],
  ["status=504", "REQUEST_TIMEOUT"],
  ["status=529", "SERVER"],
  ["status=502,error_body=html", "SERVER"],
  ["drop=1", "NETWORK"],
]);

testBrokenStreams(stage, [
  ["error_after=4", "SERVER"],
  ["error_after=4,error_code=overloaded_error", "SERVER"],
  ["error_after=4,error_code=rate_limit_error", "RATE_LIMIT"],
]);
testCancellation(stage);
