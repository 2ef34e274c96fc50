import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import type { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { FinishReason_Reason as Reason, type Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { MessagesDecoder } from "../../../src/providers/anthropic-messages/stream.ts";
import { decode, factsFor } from "../../support/decode.ts";
import { shippedModels } from "../../support/shipped-models.ts";

type Wire = Readonly<Record<string, unknown>>;

const START = message({});
const STOP = { type: "message_stop" };

function message(more: Wire): Wire {
  const usage = { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 1 };
  const fields = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-opus-5",
    content: [],
    usage,
  };
  return { type: "message_start", message: { ...fields, ...more } };
}

function begin(block: Wire, index = 0): Wire {
  return { type: "content_block_start", index, content_block: block };
}

function delta(fields: Wire, index = 0): Wire {
  return { type: "content_block_delta", index, delta: fields };
}

function end(index = 0): Wire {
  return { type: "content_block_stop", index };
}

function stop(reason: string, more: Wire = {}): Wire {
  return { type: "message_delta", delta: { stop_reason: reason, ...more }, usage: { output_tokens: 7 } };
}

async function read(
  events: readonly (Wire | string)[],
  request: MessageInitShape<typeof RequestSchema> = {},
) {
  const text = events
    .map((event) =>
      typeof event === "string" ? event : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    )
    .join("");
  const facts = {
    ...factsFor("anthropic", { model: "claude-opus-5", ...request }),
    models: shippedModels("anthropic"),
  };
  const result = await decode(
    [Buffer.from(text)],
    facts,
    (call, writer) => new MessagesDecoder(call, writer),
  );
  const last = result.events.at(-1)?.event;
  return {
    ...result,
    kinds: result.events.map(({ event }) => event.case),
    response: last?.case === "finish" ? last.value.response : undefined,
  };
}

function getParts(response: Response | undefined) {
  return response?.message?.content.map(({ part }) => part);
}

describe("content blocks of a stream", () => {
  it("become parts if they are complete in their first event", async () => {
    const { kinds, response } = await read([
      START,
      begin({ type: "tool_use", id: "a", name: "look", input: { x: 1 } }),
      end(),
      begin({ type: "tool_use", id: "b", name: "look", input: {} }, 1),
      end(1),
      begin({ type: "text", text: "So.", citations: [{ type: "char_location", cited_text: "c" }] }, 2),
      end(2),
      begin({ type: "redacted_thinking", data: "secret" }, 3),
      end(3),
      begin({ type: "container_upload", file_id: "f" }, 4),
      end(4),
      stop("tool_use"),
      STOP,
    ]);
    expect(getParts(response)).toMatchObject([
      { value: { id: "a", name: "look", input: { case: "argumentsJson", value: '{"x":1}' } } },
      { value: { id: "b", input: { case: "argumentsJson", value: "{}" } } },
      { value: "So." },
      { value: { redacted: true, text: "" } },
      { value: { kind: "container_upload", dataJson: '{"type":"container_upload","file_id":"f"}' } },
    ]);
    expect(response?.message?.content[2]?.citations).toMatchObject([
      { type: "char_location", citedText: "c" },
    ]);
    expect(response?.message?.content[3]?.providerState).toMatchObject({
      provider: "anthropic",
      model: "claude-opus-5",
      dataJson: '{"block":{"type":"redacted_thinking","data":"secret"}}',
    });
    expect(kinds.filter((kind) => kind === "providerEvent")).toEqual([]);
  });

  it("are calls to answer if they end the message, though the server reports an ordinary end", async () => {
    const call = [begin({ type: "tool_use", id: "a", name: "look", input: {} }), end()];
    const text = [begin({ type: "text", text: "So." }, 1), end(1)];
    const ends = async (blocks: Wire[]) =>
      (await read([START, ...blocks, stop("end_turn"), STOP])).response?.finishReason;
    expect(await ends(call)).toMatchObject({ reason: Reason.TOOL_CALLS, raw: "end_turn" });
    expect(await ends([...call, ...text])).toMatchObject({ reason: Reason.STOP });
  });

  it("become parts if the message has them when it starts", async () => {
    const content = [
      {
        type: "tool_use",
        id: "a",
        name: "look",
        input: { x: 1 },
        caller: { type: "code_execution_20260120" },
      },
    ];
    const container = { id: "box", expires_at: "soon" };
    const { response, kinds } = await read([message({ content, container, stop_reason: "tool_use" }), STOP]);
    expect(kinds).toEqual([
      "streamStart",
      "toolCallStart",
      "toolCallDelta",
      "toolCallEnd",
      "partAdded",
      "finish",
    ]);
    expect(getParts(response)).toMatchObject([
      { case: "toolCall" },
      { case: "native", value: { kind: "container", dataJson: JSON.stringify(container) } },
    ]);
    expect(response?.finishReason).toMatchObject({ reason: Reason.TOOL_CALLS, raw: "tool_use" });
  });

  it("keep all of their content if their type is unknown", async () => {
    const unknown = delta({ type: "shimmer_delta", light: 1 });
    const { response, events } = await read([
      START,
      begin({ type: "shimmer", a: 1 }),
      unknown,
      delta({ type: "text_delta", text: "lost?" }),
      delta({ type: "input_json_delta", partial_json: '{"2":1.0,' }),
      delta({ type: "input_json_delta", partial_json: '"1":2}' }),
      end(),
      { type: "weather_report", sky: "blue" },
      stop("end_turn"),
      STOP,
    ]);
    expect(getParts(response)).toMatchObject([
      { value: { kind: "shimmer", dataJson: '{"type":"shimmer","a":1,"input":{"2":1.0,"1":2}}' } },
    ]);
    const passedThrough = events.flatMap(({ event }) =>
      event.case === "providerEvent" ? [event.value] : [],
    );
    expect(passedThrough.map(({ type }) => type)).toEqual([
      "content_block_delta",
      "content_block_delta",
      "weather_report",
    ]);
    expect(passedThrough[0]?.dataJson).toBe(JSON.stringify(unknown));
  });

  it("are ended with all of their content if the stream leaves them open", async () => {
    const { response } = await read([
      START,
      begin({ type: "thinking", thinking: "" }),
      delta({ type: "thinking_delta", thinking: "Hm." }),
      delta({ type: "signature_delta", signature: "sig" }),
      begin({ type: "server_tool_use", id: "s", name: "x", input: {} }, 1),
      delta({ type: "input_json_delta", partial_json: '{"cut' }, 1),
      stop("max_tokens"),
      STOP,
    ]);
    expect(response?.message?.content[0]?.providerState?.dataJson).toBe(
      '{"block":{"type":"thinking","signature":"sig"}}',
    );
    expect(getParts(response)?.[1]).toMatchObject({
      value: {
        dataJson: '{"type":"server_tool_use","id":"s","name":"x","input":{"invalid_arguments":"{\\"cut"}}',
      },
    });
  });

  it("get a new id if an earlier call has the same one", async () => {
    const use = { type: "tool_use", id: "a", name: "look", input: {} };
    const { response } = await read([
      START,
      begin(use),
      end(),
      begin(use, 1),
      end(1),
      stop("tool_use"),
      STOP,
    ]);
    expect(getParts(response)).toMatchObject([{ value: { id: "a" } }, { value: { id: "a_2" } }]);
  });
});

describe("the message of a stream", () => {
  it("may start twice", async () => {
    const { kinds } = await read([START, START, stop("end_turn"), STOP]);
    expect(kinds).toEqual(["streamStart", "finish"]);
  });

  it("has its usage updated by later events, in which null changes nothing", async () => {
    const usage = { output_tokens: 9, input_tokens: null, output_tokens_details: { thinking_tokens: 3 } };
    const late = { type: "message_delta", delta: { stop_reason: null }, usage };
    const { response } = await read([START, stop("end_turn"), late, STOP]);
    expect(response?.usage).toMatchObject({
      inputTokens: 14,
      outputTokens: 9,
      totalTokens: 23,
      cacheReadTokens: 4,
      reasoningTokens: 3,
    });
    expect(response?.usage?.cacheWriteTokens).toBeUndefined();
    expect(response?.usage?.costNanoUsd).toBeGreaterThan(0n);
    expect(response?.finishReason).toMatchObject({ reason: Reason.STOP, raw: "end_turn" });
  });

  it("passes through fields that a Response does not have", async () => {
    const { events } = await read([START, stop("end_turn", { mood: "calm" }), STOP]);
    expect(events[1]?.event).toMatchObject({ case: "providerEvent", value: { type: "message_delta" } });
    const plain = await read([START, stop("end_turn", { mood: null }), STOP]);
    expect(plain.kinds).toEqual(["streamStart", "finish"]);
  });

  it("passes through what a server adds to its pieces and to its end", async () => {
    const tokens = { type: "thinking_delta", thinking: "", estimated_tokens: 50 };
    const { events } = await read([
      START,
      begin({ type: "thinking", thinking: "" }),
      delta({ ...tokens, estimated_tokens: null }),
      delta(tokens),
      end(),
      stop("end_turn"),
      { ...STOP, "amazon-bedrock-invocationMetrics": { inputTokenCount: 10 } },
    ]);
    const passed = events.flatMap(({ event }) => (event.case === "providerEvent" ? [event.value] : []));
    expect(passed.map(({ type }) => type)).toEqual(["content_block_delta", "message_stop"]);
    expect(passed[0]?.dataJson).toContain('"estimated_tokens":50');
    expect(passed[1]?.dataJson).toContain('"inputTokenCount":10');
    expect(events.at(-1)?.event.case).toBe("finish");
  });

  it("names the stop sequence that ended it", async () => {
    const { response, kinds } = await read([START, stop("stop_sequence", { stop_sequence: "END" }), STOP]);
    expect(response?.finishReason).toMatchObject({ reason: Reason.STOP, stopSequence: "END" });
    expect(kinds).toEqual(["streamStart", "finish"]);
  });

  it("warns about the reason for the refusal and what the provider left out", async () => {
    const details = { type: "refusal", category: "cyber", explanation: "No." };
    const dropped = { type: "thinking_dropped", reason: "prefix_binding_mismatch" };
    const rest = {
      context_management: { applied_edits: [{ type: "clear_tool_uses_20250919" }] },
      input_transformations: [
        { ...dropped, path: "messages.1.content.0" },
        { ...dropped, path: "messages.3.content.0" },
      ],
    };
    const { response } = await read([
      START,
      { ...stop("refusal", { stop_details: details }), ...rest },
      STOP,
    ]);
    expect(response?.finishReason).toMatchObject({ reason: Reason.CONTENT_FILTER, raw: "refusal" });
    expect(response?.warnings.map(({ code, message: text }) => `${code}: ${text}`)).toEqual([
      "provider_message: the provider refused: cyber: No.",
      "input_transformed: the provider changed the input: thinking_dropped, prefix_binding_mismatch",
      "input_transformed: the provider changed the input: clear_tool_uses_20250919",
    ]);
  });

  it("has raw_json and every event if include_raw asks for them", async () => {
    const { response, kinds } = await read(
      [
        START,
        begin({ type: "thinking", thinking: "", signature: "" }),
        delta({ type: "thinking_delta", thinking: "Hm." }),
        delta({ type: "signature_delta", signature: "sig" }),
        end(),
        begin({ type: "text", text: "" }, 1),
        delta({ type: "text_delta", text: "So." }, 1),
        delta({ type: "citations_delta", citation: { type: "char_location" } }, 1),
        end(1),
        begin({ type: "tool_use", id: "a", name: "look", input: {} }, 2),
        delta({ type: "input_json_delta", partial_json: '{"2":1.0}' }, 2),
        end(2),
        begin({ type: "compaction", content: null }, 3),
        delta({ type: "compaction_delta", content: "All of it." }, 3),
        end(3),
        stop("tool_use"),
        STOP,
      ],
      { includeRaw: true },
    );
    expect(JSON.parse(response?.rawJson ?? "")).toEqual({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "claude-opus-5",
      stop_reason: "tool_use",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "sig" },
        { type: "text", text: "So.", citations: [{ type: "char_location" }] },
        { type: "tool_use", id: "a", name: "look", input: { "2": 1 } },
        { type: "compaction", content: "All of it." },
      ],
      usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 7 },
    });
    expect(response?.rawJson).toContain('{"2":1.0}');
    expect(JSON.parse(response?.usage?.rawJson ?? "")).toEqual({
      input_tokens: 10,
      cache_read_input_tokens: 4,
      output_tokens: 7,
    });
    // The signature, the citation, the compaction and the end of the message.
    expect(kinds.filter((kind) => kind === "providerEvent")).toHaveLength(4);
  });
});

describe("a stream that violates the protocol", () => {
  const broken = [
    { what: "an event that is not JSON", events: [START, "data: {cut\n\n"] },
    { what: "a block before the message", events: [begin({ type: "text", text: "" })] },
    {
      what: "a block that begins twice",
      events: [START, begin({ type: "text", text: "" }), begin({ type: "text" })],
    },
    { what: "a delta without a block", events: [START, delta({ type: "text_delta", text: "x" })] },
    {
      what: "another message inside it",
      events: [START, begin({ type: "text", text: "x" }), message({ id: "msg_2" })],
    },
    { what: "an end without a message", events: [STOP] },
    { what: "no end", events: [START, stop("end_turn")] },
  ];
  it.each(broken)("with $what is a STREAM error", async ({ events }) => {
    const { error, response } = await read(events);
    expect(error).toMatchObject({ kind: ErrorKind.STREAM });
    expect(response).toBeUndefined();
  });
});

describe("a failure inside the stream", () => {
  const overloaded = {
    type: "error",
    error: { type: "overloaded_error", message: "Overloaded" },
    request_id: "req_9",
  };

  it("keeps its kind, its request id and the usage so far", async () => {
    const { error, kinds } = await read([
      START,
      begin({ type: "text", text: "Hel" }),
      { type: "ping" },
      overloaded,
    ]);
    expect(error).toMatchObject({
      kind: ErrorKind.SERVER,
      retryable: true,
      outputStarted: true,
      errorCode: "overloaded_error",
      requestId: "req_9",
      usage: { inputTokens: 14 },
    });
    expect(kinds).toEqual(["streamStart", "textStart", "textDelta", "error"]);
  });

  it.each([
    [
      "another type in its data, as llama.cpp sends it",
      '{"type":"server_error","code":500,"message":"The context is full."}',
      "The context is full.",
    ],
    ["text as its data", "upstream timed out", "upstream timed out"],
  ])("is recognised by the name of its event, with %s", async (_what, data, message) => {
    const { error, kinds } = await read([START, `event: error\ndata: ${data}\n\n`]);
    expect(error).toMatchObject({ message: expect.stringContaining(message) });
    expect(kinds).toEqual(["streamStart", "error"]);
  });

  it("is found in the stream as plain JSON instead of an event", async () => {
    const { error } = await read([START, `${JSON.stringify(overloaded)}\n`]);
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, errorCode: "overloaded_error" });
  });
});
