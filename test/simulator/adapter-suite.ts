/** Tests that every adapter passes against its simulated provider, for the test files of each. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import type { SimulatedRequest, Simulator } from "../../simulator/index.ts";
import { accumulate } from "../../src/core/accumulator.ts";
import type { ProviderAdapter } from "../../src/core/adapter.ts";
import { StreamError } from "../../src/core/errors.ts";
import { textOf, toolCallsOf, userMessage } from "../../src/core/message.ts";
import { toolResult } from "../../src/core/tools.ts";
import { ErrorKind } from "../../src/gen/outrigger/v1/error_pb.ts";
import type { Message } from "../../src/gen/outrigger/v1/message_pb.ts";
import { type Request, RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../src/gen/outrigger/v1/response_pb.ts";
import type { HttpTimeouts } from "../../src/kit/http/transport.ts";
import { read } from "../kit/adapter/adapter-calls.ts";

/** Fields of a request. */
export type RequestInit = MessageInitShape<typeof RequestSchema>;

/** The simulator and adapters that a test uses. */
export interface SimulatedAdapter {
  readonly simulator: () => Simulator;
  /** Opens an adapter connected to the simulator, which is closed after the test. */
  readonly open: (timeouts?: Partial<HttpTimeouts>) => ProviderAdapter;
}

const parametersJson = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}';

/** A tool that the scripts of the simulator call. */
export const weatherTool = {
  tool: {
    case: "function",
    value: { name: "get_weather", description: "Returns the weather.", parametersJson },
  },
} as const;

/** A request with a question that names a city. */
export function requestFor(model: string, more: RequestInit = {}): Request {
  const messages = [userMessage("What is the weather in Paris? 🧭")];
  return create(RequestSchema, { model, messages, ...more });
}

/** Calls `complete` and `stream`, and returns both responses. */
export async function completeAndStream(
  adapter: ProviderAdapter,
  request: Request,
): Promise<[Response, Response]> {
  return [await adapter.complete(request), await accumulate(adapter.stream(request))];
}

/** The next request of the conversation: with the response's message unchanged, and a result for each of its calls. */
export function continued(request: Request, answer: Response, result = "rain"): Request {
  if (answer.message === undefined) throw new Error("the response has no message");
  const results = toolCallsOf(answer).map(({ id }) => toolResult(id, result));
  const messages: Message[] = [...request.messages, answer.message, ...results];
  return create(RequestSchema, { ...request, messages });
}

/** Fields that differ from call to call for the same request. */
const callFacts = new Set([
  "id",
  "inferenceId",
  "createdAt",
  "toolCallId",
  "dataJson",
  "rawJson",
  "providerRequestId",
  "providerState",
  "rateLimit",
]);

/** A response without the fields that differ from call to call. */
function withoutCallFacts(answer: Response): unknown {
  const text = JSON.stringify(answer, (key, value: unknown) => {
    if (callFacts.has(key)) return undefined;
    if (key === "providerMetadataJson") return withoutFinishMessage(String(value));
    return typeof value === "bigint" ? String(value) : value;
  });
  return JSON.parse(text);
}

/** Gemini explains calls in every whole answer, but in a stream only if the last object has one. */
function withoutFinishMessage(metadataJson: string): unknown {
  if (metadataJson === "") return "";
  const { candidate = {}, ...metadata } = JSON.parse(metadataJson);
  const { finishMessage: _, ...others } = candidate;
  return { ...metadata, ...others };
}

/** Whether a request is for a model. */
function isFor(model: string) {
  return ({ body, path }: SimulatedRequest): boolean =>
    (body as { model?: string }).model === model || decodeURIComponent(path).includes(`/${model}:`);
}

/** Text and a round of tool calls, whole and streamed. */
export function testAnswers({ open }: SimulatedAdapter): void {
  describe("answers", () => {
    it.each([
      "sim-text",
      "sim-echo",
      "sim-long:tokens=300,rate=1000000",
      "sim-tools:calls=2",
      "sim-tools:preamble=1",
      "sim-reasoning",
      "sim-refusal",
      "sim-text:stop=length",
      "sim-text:stop=content_filter",
    ])("of %s are the same whole and streamed", async (model) => {
      const request = requestFor(model, { tools: [weatherTool], maxTokens: 8000 });
      const [whole, streamed] = await completeAndStream(open(), request);
      expect(withoutCallFacts(streamed)).toEqual(withoutCallFacts(whole));
      expect(whole.usage?.totalTokens).toBe(
        (whole.usage?.inputTokens ?? 0) + (whole.usage?.outputTokens ?? 0),
      );
    });

    it.each([
      "half_surrogates=1",
      "chunk=random:7",
      "trickle_ms=1,trickle_bytes=400",
      "repeat_start=1",
      "frame_bytes=200000",
    ])("are complete despite %s", async (fault) => {
      const [whole, streamed] = await completeAndStream(open(), requestFor(`sim-text:${fault}`));
      expect(textOf(streamed)).toBe(textOf(whole));
      expect(textOf(whole)).toContain("“What is the weather in Paris? 🧭”");
    });

    it("continue after tool results, with the response's message returned unchanged", async () => {
      const adapter = open();
      const request = requestFor("sim-tools:calls=2", { tools: [weatherTool] });
      for (const first of await completeAndStream(adapter, request)) {
        expect(toolCallsOf(first).map(({ input }) => JSON.parse(input.value ?? "") as unknown)).toEqual([
          { city: "Paris" },
          { city: "Paris" },
        ]);
        for (const second of await completeAndStream(adapter, continued(request, first)))
          expect(textOf(second)).toContain("`get_weather` said “rain”");
      }
    });

    it.each(["repeat_ids=1", "no_ids=1"])("continue after tool calls with %s", async (fault) => {
      const adapter = open();
      const request = requestFor(`sim-tools:calls=3,${fault}`, { tools: [weatherTool] });
      for (const first of await completeAndStream(adapter, request)) {
        expect(new Set(toolCallsOf(first).map(({ id }) => id)).size).toBe(3);
        expect(textOf(await adapter.complete(continued(request, first)))).toContain("“rain”");
      }
    });
  });
}

type KindName = keyof typeof ErrorKind & string;

/** Failures before the first event: the fault, and the resulting kind of error. */
export function testErrors(
  { open }: SimulatedAdapter,
  faults: readonly (readonly [fault: string, kind: KindName])[],
): void {
  describe("failures before the first event", () => {
    it.each(faults)("%s end as %s", async (fault, kind) => {
      const adapter = open();
      const request = requestFor(`sim-text:${fault}`);
      const whole = await adapter.complete(request).catch((error: unknown) => error);
      const { events, error: streamed } = await read(adapter.stream(request));
      expect(events).toEqual([]);
      for (const error of [whole, streamed])
        expect(error).toMatchObject({ kind: ErrorKind[kind], outputStarted: false });
    });
  });
}

/** Failures after the first event: those that the provider reports, and those that all wire formats share. */
export function testBrokenStreams(
  { open }: SimulatedAdapter,
  reported: readonly (readonly [fault: string, kind: KindName])[],
): void {
  describe("failures after the first event", () => {
    it.each(reported)("%s end as %s", async (fault, kind) => {
      const { events, error } = await read(open().stream(requestFor(`sim-text:${fault}`)));
      expect(events.at(-1)?.event.case).toBe("error");
      expect(error).toMatchObject({ kind: ErrorKind[kind], outputStarted: true });
    });

    it.each(["cut_events=4", "cut_bytes=900", "end_without_terminal=1", "malformed_after=3"])(
      "%s end as STREAM",
      async (fault) => {
        const { events, error } = await read(open().stream(requestFor(`sim-text:${fault}`)));
        expect(events.at(-1)?.event.case).toBe("error");
        expect(error).toBeInstanceOf(StreamError);
        expect(error).toMatchObject({ kind: ErrorKind.STREAM, outputStarted: true });
      },
    );

    it.each([
      ["cut_events=0", "NETWORK"],
      ["cut_bytes=100", "NETWORK"],
      ["end_without_terminal=1", "SERVER"],
      ["malformed_after=0", "SERVER"],
    ] as const)("%s ends a whole answer as %s", async (fault, kind) => {
      const answer = open().complete(requestFor(`sim-text:${fault}`));
      await expect(answer).rejects.toMatchObject({ kind: ErrorKind[kind], retryable: true });
    });

    it("stall_after=5 ends as REQUEST_TIMEOUT if the stream is silent for too long", async () => {
      const adapter = open({ betweenBytesMs: 100 });
      const { error } = await read(adapter.stream(requestFor("sim-text:stall_after=5")));
      expect(error).toMatchObject({ kind: ErrorKind.REQUEST_TIMEOUT, outputStarted: true });
    });
  });
}

/** Cancellation in each phase: the model string, and whether output has arrived by then. */
export function testCancellation({ open, simulator }: SimulatedAdapter): void {
  describe("cancellation", () => {
    it.each([
      ["before the headers", "sim-text:delay_ms=60000", false],
      ["before the first event", "sim-text:stall_after=0", false],
      ["in the middle of a text", "sim-long:tokens=9000,rate=50", true],
      ["in the middle of a stalled text", "sim-text:stall_after=7", true],
    ])("%s closes the provider's socket at once", async (_phase, model, hasBegun) => {
      const controller = new AbortController();
      const cancel = (): boolean => {
        controller.abort();
        return false;
      };
      const reading = read(open().stream(requestFor(model), controller), ({ event }) =>
        event.case === "textDelta" ? cancel() : false,
      );
      await simulator().waitForRequest({ where: isFor(model) });
      if (!hasBegun) cancel();
      expect((await reading).error).toMatchObject({ kind: ErrorKind.ABORT });
      expect(await simulator().waitForClose({ where: isFor(model) })).toMatchObject({ aborted: true });
    });
  });
}
