import { describe, expect, it } from "vitest";
import { ServerError } from "../../../src/core/errors.ts";
import { textOf, toolCallsOf } from "../../../src/core/message.ts";
import { ErrorKind } from "../../../src/gen/outrigger/v1/error_pb.ts";
import { FinishReason_Reason as Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { toResponse } from "../../../src/providers/gemini/response.ts";
import { factsFor } from "../../support/decode.ts";
import { decodeEvents, event, getCases, getCodes, getContent, getFinal, NEW_MODEL } from "./support.ts";

const STOP = { finishReason: "STOP" };
const decodeKinds = async (events: readonly object[]) =>
  getContent(await decodeEvents(events)).map(({ part }) => [
    part.case,
    (part.value as { text?: string }).text ?? part.value,
  ]);

describe("streamed parts", () => {
  it("write one block for a text that grows over several events", async () => {
    const decoded = await decodeEvents([
      event([{ text: "Hel" }]),
      event([{ text: "lo" }]),
      event([{ text: "" }], STOP),
    ]);
    expect(getCases(decoded)).toEqual([
      "streamStart",
      "textStart",
      "textDelta",
      "textDelta",
      "textEnd",
      "finish",
    ]);
    expect(textOf(getFinal(decoded))).toBe("Hello");
  });

  it("end when a part of another kind begins", async () => {
    expect(
      await decodeKinds([
        event([{ text: "hm", thought: true }]),
        event([{ text: "m", thought: true }, { text: "a" }]),
        event([{ text: "b" }]),
        event([{ executableCode: { code: "1" } }]),
        event([{ text: "c" }], STOP),
      ]),
    ).toMatchObject([
      ["reasoning", "hmm"],
      ["text", "ab"],
      ["native", {}],
      ["text", "c"],
    ]);
  });

  it("are not merged if they have a signature", async () => {
    const content = getContent(
      await decodeEvents([
        event([{ text: "a" }]),
        event([{ text: "b", thoughtSignature: "S" }]),
        event([{ text: "c" }]),
        event([{ text: "", thoughtSignature: "T" }], STOP),
      ]),
    );
    expect(content.map(({ part }) => part.value)).toEqual(["a", "b", "c", ""]);
    expect(content.map(({ providerState }) => providerState?.dataJson)).toEqual([
      undefined,
      '{"part":{"thoughtSignature":"S"}}',
      undefined,
      '{"part":{"thoughtSignature":"T"}}',
    ]);
  });

  it("are an image in the answer and native in the reasoning", async () => {
    const inlineData = { mimeType: "image/png", data: "AQID" };
    const content = getContent(
      await decodeEvents([event([{ inlineData, thought: true }, { inlineData }], STOP)]),
    );
    expect(content.map(({ part }) => part.case)).toEqual(["native", "image"]);
  });

  it("are redacted reasoning if a thought has only a signature", async () => {
    const thoughts = [
      { text: "", thought: true, thoughtSignature: "S" },
      { text: "hm", thought: true },
    ];
    const content = getContent(await decodeEvents([event([...thoughts, { text: "a" }], STOP)]));
    expect(content.map(({ part }) => (part.case === "reasoning" ? part.value.redacted : undefined))).toEqual([
      true,
      false,
      undefined,
    ]);
  });

  it("are not made from the scores that Vertex gives a candidate", async () => {
    const scored = { avgLogprobs: -0.1, score: -1.5, tokenCount: 3 };
    const decoded = await decodeEvents([
      event([{ text: "a" }], scored),
      event([{ text: "b" }], { finishReason: "STOP", ...scored, score: -2.5 }),
    ]);
    expect(getContent(decoded)).toMatchObject([{ part: { case: "text", value: "ab" } }]);
  });

  it("ignore fields that a server sends as null", async () => {
    const content = getContent(await decodeEvents([event([{ functionCall: null, text: "a" }], STOP)]));
    expect(content.map(({ part }) => part.case)).toEqual(["text"]);
  });

  it("stay separate if one event has several", async () => {
    expect(await decodeKinds([event([{ text: "a" }, { text: "b" }], STOP)])).toEqual([
      ["text", "a"],
      ["text", "b"],
    ]);
  });

  it("never split an emoji between two deltas", async () => {
    const lines = ['data: {"candidates":[{"content":{"parts":[{"text":"\\ud83d"}]}}]}\n\n'];
    lines.push('data: {"candidates":[{"content":{"parts":[{"text":"\\ude00"}]},"finishReason":"STOP"}]}\n\n');
    const decoded = await decodeEvents(lines);
    expect(textOf(getFinal(decoded))).toBe("😀");
    expect(
      decoded.events.flatMap(({ event: { case: kind, value } }) =>
        kind === "textDelta" ? [value.delta] : [],
      ),
    ).toEqual(["😀"]);
  });

  it.each(["\n", "\r", "\r\n"])("are read with the line ends %j", async (end) => {
    const lines = [event([{ text: "a" }]), event([{ text: "b" }], STOP)].map(
      (each) => `data: ${JSON.stringify(each)}${end}${end}`,
    );
    expect(textOf(getFinal(await decodeEvents(lines)))).toBe("ab");
  });

  it("come from the first candidate, with a warning about others", async () => {
    const both = {
      candidates: [
        { index: 1, content: { parts: [{ text: "x" }] } },
        { index: 0, content: { parts: [{ text: "a" }] } },
      ],
    };
    const other = { candidates: [{ index: 1, content: { parts: [{ text: "y" }] }, ...STOP }] };
    const response = getFinal(await decodeEvents([both, other, event([{ text: "b" }], STOP)]));
    expect(textOf(response)).toBe("ab");
    expect(getCodes(response.warnings)).toEqual(["further_candidates "]);
  });
});

describe("streamed tool calls", () => {
  const decodeCalls = async (events: readonly object[]) =>
    toolCallsOf(getFinal(await decodeEvents(events))).map(({ id, name, input, argumentsInvalid }) => ({
      id,
      name,
      argumentsJson: input.value,
      argumentsInvalid,
    }));
  const begun = { functionCall: { name: "f", willContinue: true }, thoughtSignature: "S" };
  const value = {
    functionCall: {
      partialArgs: [{ jsonPath: "$.x", stringValue: "ab", willContinue: true }],
      willContinue: true,
    },
  };

  it("arrive whole, each with a unique id", async () => {
    const parts = [
      { functionCall: { name: "f", args: { b: 1, a: 2 } } },
      { functionCall: { name: "f" } },
      { functionCall: { id: "n", name: "g", args: {} } },
    ];
    expect(await decodeCalls([event(parts, STOP)])).toEqual([
      { id: "call_test", name: "f", argumentsJson: '{"b":1,"a":2}', argumentsInvalid: false },
      { id: "call_test_2", name: "f", argumentsJson: "{}", argumentsInvalid: false },
      { id: "n", name: "g", argumentsJson: "{}", argumentsInvalid: false },
    ]);
  });

  it("grow value by value and keep their signature", async () => {
    const decoded = await decodeEvents([event([begun]), event([value]), event([{ functionCall: {} }], STOP)]);
    expect(getCases(decoded)).toEqual([
      "streamStart",
      "toolCallStart",
      "toolCallDelta",
      "toolCallDelta",
      "toolCallEnd",
      "finish",
    ]);
    expect(toolCallsOf(getFinal(decoded))[0]?.input.value).toBe('{"x":"ab"}');
    expect(getContent(decoded)[0]?.providerState?.dataJson).toContain('"thoughtSignature":"S"');
  });

  it("are closed if the next part begins without their end", async () => {
    const calls = await decodeCalls([event([begun]), event([value]), event([{ text: "a" }], STOP)]);
    expect(calls).toMatchObject([{ argumentsJson: '{"x":"ab"}', argumentsInvalid: false }]);
  });

  it.each([
    [[event([begun]), event([value])], '{"x":"ab'],
    [[event([begun])], ""],
  ])("keep invalid arguments and are marked if a limit cuts them off", async (events, argumentsJson) => {
    const cut = [...events, { candidates: [{ finishReason: "MAX_TOKENS" }] }];
    expect(await decodeCalls(cut)).toMatchObject([{ argumentsJson, argumentsInvalid: true }]);
    expect(getFinal(await decodeEvents(cut)).finishReason).toMatchObject({ reason: Reason.LENGTH });
    // A reason that is not known may be a limit too.
    const stopped = [...events, { candidates: [{ finishReason: "OTHER" }] }];
    expect(await decodeCalls(stopped)).toMatchObject([{ argumentsJson, argumentsInvalid: true }]);
  });

  it("are kept as native parts if they have no name", async () => {
    const stray = { functionCall: { args: { x: 1 } } };
    const decoded = await decodeEvents([event([stray], STOP)]);
    expect(getContent(decoded).map(({ part }) => part.case)).toEqual(["native"]);
    expect(getFinal(decoded).finishReason?.reason).toBe(Reason.STOP);
  });
});

describe("finish reasons", () => {
  it.each([
    ["STOP", Reason.STOP],
    ["MAX_TOKENS", Reason.LENGTH],
    ["CONTINUATION", Reason.LENGTH],
    ["SAFETY", Reason.CONTENT_FILTER],
    ["RECITATION", Reason.CONTENT_FILTER],
    ["BLOCKLIST", Reason.CONTENT_FILTER],
    ["PROHIBITED_CONTENT", Reason.CONTENT_FILTER],
    ["SPII", Reason.CONTENT_FILTER],
    ["MODEL_ARMOR", Reason.CONTENT_FILTER],
    ["ESCALATION", Reason.CONTENT_FILTER],
    ["PUP_LIMITED_DISABLED", Reason.CONTENT_FILTER],
    ["IMAGE_SAFETY", Reason.CONTENT_FILTER],
    ["IMAGE_PROHIBITED_CONTENT", Reason.CONTENT_FILTER],
    ["IMAGE_RECITATION", Reason.CONTENT_FILTER],
    ["MALFORMED_FUNCTION_CALL", Reason.ERROR],
    ["UNEXPECTED_TOOL_CALL", Reason.ERROR],
    ["TOO_MANY_TOOL_CALLS", Reason.ERROR],
    ["MALFORMED_RESPONSE", Reason.ERROR],
    ["MISSING_THOUGHT_SIGNATURE", Reason.ERROR],
    ["LANGUAGE", Reason.OTHER],
    ["OTHER", Reason.OTHER],
    ["NO_IMAGE", Reason.OTHER],
    ["IMAGE_OTHER", Reason.OTHER],
    ["TOMORROWS_REASON", Reason.OTHER],
  ])("translate %s", async (raw, reason) => {
    const { finishReason } = getFinal(await decodeEvents([event([{ text: "a" }], { finishReason: raw })]));
    expect(finishReason).toMatchObject({ reason, raw });
  });

  it("are TOOL_CALLS if there are calls, unless something else stopped the model", async () => {
    const call = [{ functionCall: { name: "f", args: {} } }];
    expect(
      getFinal(await decodeEvents([event(call), event([{ text: "" }], STOP)])).finishReason?.reason,
    ).toBe(Reason.TOOL_CALLS);
    const limited = getFinal(await decodeEvents([event(call, { finishReason: "MAX_TOKENS" })]));
    expect(limited.finishReason?.reason).toBe(Reason.LENGTH);
  });

  it("come with the provider's explanation as a warning", async () => {
    const bad = event([], {
      finishReason: "MALFORMED_FUNCTION_CALL",
      finishMessage: "Malformed function call: print(1",
    });
    const { warnings } = getFinal(await decodeEvents([bad]));
    expect(warnings).toMatchObject([
      { code: "provider_message", message: "Malformed function call: print(1" },
    ]);
    const plain = event([{ text: "a" }], { ...STOP, finishMessage: "Model generated text." });
    expect(getFinal(await decodeEvents([plain])).warnings).toEqual([]);
  });

  it.each([
    [{ blockReason: "SAFETY", blockReasonMessage: "Unsafe." }, "SAFETY", ["provider_message "]],
    [{ blockReason: "JAILBREAK" }, "JAILBREAK", []],
    [{ blockReasonMessage: "Unsafe." }, "", ["provider_message "]],
  ])("are CONTENT_FILTER if the prompt was blocked: %j", async (promptFeedback, raw, codes) => {
    const blocked = { promptFeedback, usageMetadata: { promptTokenCount: 7 }, responseId: "r1" };
    const response = getFinal(await decodeEvents([blocked]));
    expect(response).toMatchObject({
      finishReason: { reason: Reason.CONTENT_FILTER, raw },
      usage: { inputTokens: 7, outputTokens: 0 },
      id: "r1",
      providerRequestId: "r1",
    });
    expect(getCodes(response.warnings)).toEqual(codes);
  });

  // Written by hand after reports about Gemini's filter, which reads a long prompt while the model writes.
  it("are CONTENT_FILTER if the prompt is blocked after a part of the answer, unless more follows", async () => {
    const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };
    const begun = event([{ text: "Hel" }]);
    for (const last of [blocked, { ...blocked, candidates: [{ index: 0 }] }]) {
      const response = getFinal(await decodeEvents([begun, last]));
      expect(response.finishReason).toMatchObject({
        reason: Reason.CONTENT_FILTER,
        raw: "PROHIBITED_CONTENT",
      });
      expect(textOf(response)).toBe("Hel");
    }
    const call = event([{ functionCall: { name: "f", willContinue: true } }]);
    const [part] = getContent(await decodeEvents([call, blocked]));
    expect(part?.part).toMatchObject({ case: "toolCall", value: { argumentsInvalid: true } });
    const more = await decodeEvents([blocked, begun]);
    expect(more.error).toMatchObject({ kind: ErrorKind.STREAM });
    expect(getFinal(await decodeEvents([blocked, event([{ text: "a" }], STOP)])).finishReason?.reason).toBe(
      Reason.STOP,
    );
  });

  it("come with the token that continues a long answer", async () => {
    const decoded = await decodeEvents([
      event([{ text: "a" }], { finishReason: "CONTINUATION", continuationToken: "T" }),
    ]);
    expect(getContent(decoded)[1]?.part).toMatchObject({
      case: "native",
      value: { kind: "continuationToken", dataJson: '{"continuationToken":"T"}' },
    });
  });

  it("do not finish the answer if they come with code to run or before more parts", async () => {
    const code = event([{ executableCode: { code: "1" } }], STOP);
    expect((await decodeEvents([code])).error).toMatchObject({ kind: ErrorKind.STREAM });
    const more = [event([{ text: "a" }], STOP), event([{ text: "b" }])];
    expect((await decodeEvents(more)).error).toMatchObject({ kind: ErrorKind.STREAM });
    const result = event([{ codeExecutionResult: { outcome: "OUTCOME_OK" } }, { text: "1" }], STOP);
    expect(getContent(await decodeEvents([code, result]))).toHaveLength(3);
  });
});

describe("usage", () => {
  it("is taken from the last counts and includes reasoning and cached tokens", async () => {
    const first = {
      ...event([{ text: "a" }]),
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 1 },
    };
    const last = {
      ...event([], STOP),
      usageMetadata: {
        promptTokenCount: 20,
        cachedContentTokenCount: 8,
        toolUsePromptTokenCount: 5,
        candidatesTokenCount: 7,
        thoughtsTokenCount: 3,
        totalTokenCount: 35,
      },
    };
    const trailing = { usageMetadata: { trafficType: "ON_DEMAND" } };
    expect(getFinal(await decodeEvents([first, last, trailing])).usage).toMatchObject({
      inputTokens: 25,
      outputTokens: 10,
      totalTokens: 35,
      reasoningTokens: 3,
      cacheReadTokens: 8,
      rawJson: "",
    });
  });

  it.each([
    [{ promptTokenCount: 2, candidatesTokenCount: 3, totalTokenCount: 5 }, []],
    [{ promptTokenCount: 2, candidatesTokenCount: 3 }, []],
    [{ promptTokenCount: 2, candidatesTokenCount: 3, totalTokenCount: 9 }, ["count_mismatch "]],
    [{ promptTokenCount: 2, cachedContentTokenCount: 3 }, ["count_mismatch "]],
  ])("is passed on with a warning if its counts contradict each other: %j", async (usageMetadata, codes) => {
    const decoded = await decodeEvents([{ ...event([{ text: "a" }], STOP), usageMetadata }]);
    expect(getCodes(getFinal(decoded).warnings)).toEqual(codes);
  });

  it("is unset if the provider reports none", async () => {
    expect(getFinal(await decodeEvents([event([{ text: "a" }], STOP)])).usage).toBeUndefined();
  });
});

describe("citations", () => {
  const grounding = {
    groundingChunks: [
      { web: { uri: "https://a", title: "A" } },
      { retrievedContext: { title: "B", text: "page" } },
    ],
    groundingSupports: [{ segment: { endIndex: 4, text: "text" }, groundingChunkIndices: [0] }],
    searchEntryPoint: { renderedContent: "<div>" },
  };

  it("are attached to the text, and the grounding metadata is kept whole", async () => {
    const decoded = await decodeEvents([
      event([{ text: "text" }]),
      event([{ text: " more" }], { ...STOP, groundingMetadata: grounding }),
    ]);
    const [text, native] = getContent(decoded);
    expect(text?.citations).toMatchObject([
      { type: "web", title: "A", url: "https://a", startIndex: 0, endIndex: 4 },
      { type: "retrievedContext", title: "B", citedText: "page" },
    ]);
    expect(text?.citations[1]?.startIndex).toBeUndefined();
    expect(native?.part).toMatchObject({ value: { kind: "groundingMetadata" } });
    const { dataJson } = native?.part.case === "native" ? native.part.value : { dataJson: "" };
    expect(JSON.parse(dataJson)).toEqual({ groundingMetadata: grounding });
  });

  it("are attached to the text before the signature that comes with them", async () => {
    const decoded = await decodeEvents([
      event([{ text: "text" }]),
      event([{ text: "", thoughtSignature: "S" }], { ...STOP, groundingMetadata: grounding }),
    ]);
    expect(getContent(decoded).map(({ citations }) => citations.length)).toEqual([2, 0, 0]);
  });

  it("are attached to the text before a signature without text, which came in an earlier event", async () => {
    const decoded = await decodeEvents([
      event([{ text: "text" }]),
      event([{ text: "", thoughtSignature: "S" }]),
      event([{ text: "" }], { ...STOP, groundingMetadata: grounding }),
    ]);
    expect(getContent(decoded).map(({ citations }) => citations.length)).toEqual([2, 0, 0]);
    expect(getContent(decoded)[0]?.citations[0]).toMatchObject({ startIndex: 0, endIndex: 4 });
  });

  it("are kept as a native part if there is no text", async () => {
    const citationMetadata = { citationSources: [{ uri: "https://a", endIndex: 3 }] };
    const decoded = await decodeEvents([event([], { finishReason: "RECITATION", citationMetadata })]);
    expect(getContent(decoded)[0]?.part).toMatchObject({
      value: { kind: "citationMetadata", dataJson: JSON.stringify({ citationMetadata }) },
    });
  });

  it("include pages that were read and no others", async () => {
    const urlMetadata = [
      { retrievedUrl: "https://a", urlRetrievalStatus: "URL_RETRIEVAL_STATUS_SUCCESS" },
      { retrievedUrl: "https://b", urlRetrievalStatus: "URL_RETRIEVAL_STATUS_ERROR" },
    ];
    const decoded = await decodeEvents([
      event([{ text: "a" }], { ...STOP, urlContextMetadata: { urlMetadata } }),
    ]);
    expect(getContent(decoded)[0]?.citations.map(({ url }) => url)).toEqual(["https://a"]);
  });

  it("are kept once if several events repeat them", async () => {
    const repeated = { groundingMetadata: { webSearchQueries: ["a"] } };
    const decoded = await decodeEvents([
      event([{ text: "a" }], repeated),
      event([{ text: "b" }], { ...STOP, ...repeated }),
    ]);
    expect(getContent(decoded)).toHaveLength(2);
  });
});

describe("streamed failures", () => {
  const overloaded = { error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } };

  it("keep their kind, usage and the output so far", async () => {
    const first = { ...event([{ text: "a" }]), usageMetadata: { promptTokenCount: 4 }, responseId: "r1" };
    const { events, error } = await decodeEvents([first, overloaded]);
    expect(error).toMatchObject({
      kind: ErrorKind.SERVER,
      errorCode: "UNAVAILABLE",
      outputStarted: true,
      retryable: true,
      requestId: "r1",
      usage: { inputTokens: 4 },
    });
    expect(events.at(-1)?.event.case).toBe("error");
  });

  it("are the only event if there was no output", async () => {
    const { events, error } = await decodeEvents([overloaded]);
    expect(events).toEqual([]);
    expect(error).toMatchObject({ kind: ErrorKind.SERVER, outputStarted: false });
  });

  it.each([JSON.stringify(overloaded), `[${JSON.stringify(overloaded, null, 2)}]\n`])(
    "are found outside of the events",
    async (written) => {
      const { error } = await decodeEvents([event([{ text: "a" }], STOP), written]);
      expect(error).toMatchObject({ kind: ErrorKind.SERVER });
    },
  );

  it.each(["data: [1]\n\n", "data: {\n\n", "data:\n\n"])(
    "include an event that is not an object: %j",
    async (line) => {
      const { error } = await decodeEvents([event([{ text: "a" }]), line]);
      expect(error).toMatchObject({ kind: ErrorKind.STREAM });
    },
  );

  it("include a stream that ends without a finish reason", async () => {
    expect((await decodeEvents([event([{ text: "a" }])])).error).toMatchObject({ kind: ErrorKind.STREAM });
    expect((await decodeEvents([])).error).toMatchObject({ kind: ErrorKind.STREAM });
    const begun = event([{ text: "a" }], { finishReason: "FINISH_REASON_UNSPECIFIED" });
    expect((await decodeEvents([begun])).error).toMatchObject({ kind: ErrorKind.STREAM });
    const ended = getFinal(await decodeEvents([begun, event([{ text: "b" }], STOP)]));
    expect(ended.finishReason).toMatchObject({ reason: Reason.STOP, raw: "STOP" });
  });
});

describe("raw JSON", () => {
  const events = [event([{ text: "a" }]), event([{ text: "b" }], STOP)];

  it("is the list of events and each event under include_raw", async () => {
    const decoded = await decodeEvents(events, { model: NEW_MODEL, includeRaw: true });
    expect(JSON.parse(getFinal(decoded).rawJson)).toEqual(events);
    expect(getCases(decoded).filter((kind) => kind === "providerEvent")).toHaveLength(2);
  });

  it("is left out otherwise, except for events with unknown fields", async () => {
    const decoded = await decodeEvents([...events, { tomorrow: { x: 1 } }]);
    expect(getFinal(decoded).rawJson).toBe("");
    const passed = decoded.events.flatMap(({ event: { case: kind, value } }) =>
      kind === "providerEvent" ? [value.dataJson] : [],
    );
    expect(passed).toEqual(['{"tomorrow":{"x":1}}']);
  });
});

describe("whole answers", () => {
  const respond = (body: unknown, includeRaw = false) =>
    toResponse(JSON.stringify(body), factsFor("gemini", { model: NEW_MODEL, includeRaw }));

  it("can be a list of events", () => {
    const body = [event([{ text: "a" }]), event([{ text: "b" }], STOP)];
    const response = respond(body, true);
    expect(textOf(response)).toBe("ab");
    expect(response.rawJson).toBe(JSON.stringify(body));
  });

  it.each([[[]], [{}], ["x"], [null], [{ candidates: [{}] }], [{ usageMetadata: { promptTokenCount: 1 } }]])(
    "are a ServerError if they hold no answer: %j",
    (body) => {
      expect(() => respond(body)).toThrow(ServerError);
    },
  );

  it("fail with the error that they hold", () => {
    const error = { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "slow down" } };
    expect(() => respond(error)).toThrow("gemini reported a failure (RESOURCE_EXHAUSTED): slow down");
  });
});
