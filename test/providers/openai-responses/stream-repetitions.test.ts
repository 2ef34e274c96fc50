/** Servers that repeat themselves, split characters, or say what nobody knows. */

import { describe, expect, it } from "vitest";
import {
  added,
  argumentsDelta,
  CREATED,
  call,
  completed,
  done,
  message,
  stream,
  summaryDelta,
  textDelta,
} from "./streaming.ts";
import { callState, callTold, START, STOP, TOOL_CALLS, textState, textTold } from "./told.ts";

describe("servers that repeat themselves", () => {
  it("events: the first counts", async () => {
    const { told } = await stream([
      CREATED,
      CREATED,
      added(0, message("")),
      added(0, message("")),
      textDelta(0, "Hey"),
      done(0, message("Hey")),
      done(0, message("Hey")),
      added(0, message("")),
      completed({ output: [message("Hey")] }),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["Hey"]), STOP]);
  });

  it("beginnings: a call is begun once", async () => {
    const { told } = await stream([
      CREATED,
      added(0, call("")),
      argumentsDelta(0, '{"a"'),
      added(0, call("")),
      argumentsDelta(0, ":1}"),
      done(0, call('{"a":1}')),
      completed(),
    ]);
    expect(told).toEqual([START, ...callTold(0, ['{"a"', ":1}"]), TOOL_CALLS]);
  });

  it("indexes: another item is another item", async () => {
    const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
    const { told } = await stream([
      CREATED,
      added(0, reasoning),
      done(0, reasoning),
      added(0, call("")),
      argumentsDelta(0, "{}"),
      done(0, call("{}")),
      added(0, message("", { content: [] })),
      textDelta(0, "Hey"),
      done(0, message("Hey")),
      completed({ output: [reasoning, call("{}"), message("Hey")] }),
    ]);
    expect(told).toEqual([
      START,
      { thinkingStart: 0 },
      { thinkingEnd: 0, thinking: "", redacted: false, state: { item: reasoning } },
      ...callTold(1, ["{}"]),
      ...textTold(2, ["Hey"]),
      TOOL_CALLS,
    ]);
  });

  it("ids of calls, or give none: each call has its own", async () => {
    const ids = ["call_1", "call_1", "", ""];
    const sent = ids.flatMap((call_id, index) => {
      const item = call("{}", { id: `fc_${index}`, call_id });
      return [added(index, { ...item, arguments: "" }), done(index, item)];
    });
    const { told } = await stream([CREATED, ...sent, completed()]);
    expect(told).toEqual([
      START,
      ...["call_1", "call_1_2", "call_test", "call_test_2"].flatMap((id, index) =>
        callTold(index, ["{}"], { id }, callState({ id: `fc_${index}` })),
      ),
      TOOL_CALLS,
    ]);
  });

  it("ids of calls of earlier turns", async () => {
    const value = { id: "call_1", name: "look", input: { case: "argumentsJson", value: "{}" } } as const;
    const messages = [{ content: [{ part: { case: "toolCall", value } as const }] }];
    const { told } = await stream([CREATED, done(0, call("{}")), completed()], { messages });
    expect(told[1]).toEqual({
      callStart: 0,
      name: "look",
      id: "call_1_2",
      type: "function",
    });
  });

  it("items under other ids in every event: the index tells", async () => {
    const { told } = await stream([
      CREATED,
      added(0, message("", { id: "a" })),
      textDelta(0, "Hey", { item_id: "b" }),
      done(0, message("Hey", { id: "c" })),
      completed({ output: [message("Hey", { id: "d" })] }),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["Hey"], textState({ id: "c" })), STOP]);
  });
});

describe("halves of characters", () => {
  it("wait for each other, in texts, reasoning and arguments", async () => {
    const [high, low] = ["\ud83d", "\ude00"];
    const reasoning = { type: "reasoning", id: "rs_1", summary: [{ text: "😀" }] };
    const { told } = await stream([
      CREATED,
      added(0, message("")),
      textDelta(0, `a${high}`),
      textDelta(0, `${low}b`),
      done(0, message("a😀b")),
      added(1, reasoning),
      summaryDelta(1, 0, high),
      summaryDelta(1, 0, low),
      done(1, reasoning),
      added(2, call("")),
      argumentsDelta(2, `"${high}`),
      argumentsDelta(2, `${low}"`),
      done(2, call('"😀"')),
      completed(),
    ]);
    expect(told).toEqual([
      START,
      ...textTold(0, ["a", "😀b"]),
      { thinkingStart: 1 },
      { delta: 1, says: "😀" },
      { thinkingEnd: 1, thinking: "😀", redacted: false, state: { item: reasoning } },
      ...callTold(2, ['"', '😀"']),
      TOOL_CALLS,
    ]);
  });

  it("that stay alone become the sign for what cannot be read", async () => {
    const { told } = await stream([
      CREATED,
      added(0, message("")),
      textDelta(0, "a\ud83d"),
      done(0, message("a\ud83d")),
      completed(),
    ]);
    expect(told).toEqual([START, ...textTold(0, ["a", "\ufffd"]), STOP]);
  });
});

describe("events that have no unified form", () => {
  const unknown = { type: "response.dream.delta", sequence_number: 7, n: { "2": 1 } };
  const kept = [
    { type: "response.queued", response: {} },
    { type: "response.in_progress", response: {} },
    { type: "response.reasoning_summary_part.added", output_index: 0, summary_index: 0, part: {} },
    { type: "response.code_interpreter_call_code.delta", output_index: 0, delta: "1+" },
    { type: "response.code_interpreter_call.interpreting", output_index: 0 },
    { type: "response.file_search_call.searching", output_index: 0 },
    { type: "response.mcp_call_arguments.done", output_index: 0, arguments: "{}" },
    { type: "response.mcp_call.failed", output_index: 0 },
    { type: "response.mcp_list_tools.completed", output_index: 0 },
    { type: "response.shell_call_command.delta", output_index: 0, delta: "ls" },
    { type: "response.shell_call_output_content.done", output_index: 0 },
    { type: "response.apply_patch_call_operation_diff.delta", output_index: 0, delta: "+" },
    { type: "response.image_generation_call.generating", output_index: 0 },
    { type: "response.compaction.compacting", output_index: 0 },
  ];
  const lost = [
    unknown,
    { type: "response.audio.delta", delta: "AAAA" },
    { type: "response.audio.transcript.delta", delta: "a" },
    { type: "response.steer.accepted", id: "s" },
    { type: "response.image_generation_call.partial_image", partial_image_b64: "AAAA" },
  ];
  const events = (sent: readonly { type: string }[]) => sent.map((data) => ({ event: data.type, data }));

  it("are passed on where their content is nowhere else", async () => {
    const { told } = await stream([
      CREATED,
      ...kept,
      ...lost,
      { type: "keepalive", sequence_number: 9 },
      completed(),
    ]);
    expect(told).toEqual([START, ...events(lost), STOP]);
  });

  it("are passed on all where the caller asks for it, but for signs of life", async () => {
    const { told, response } = await stream([CREATED, ...kept, ...lost, { type: "keepalive" }, completed()], {
      includeRaw: true,
    });
    expect(told).toEqual([START, ...events(kept), ...events(lost), STOP]);
    expect(JSON.parse(response?.rawJson ?? "")).toEqual({
      id: "resp_1",
      model: "gpt-5",
      status: "completed",
    });
  });

  it("may come first, before the response is created", async () => {
    const { told } = await stream([{ type: "keepalive" }, unknown, CREATED, completed()]);
    expect(told).toEqual([START, ...events([unknown]), STOP]);
  });

  it("go by the event's own name where the data has none", async () => {
    const text = `event: response.output_text.delta\ndata: {"output_index":0,"content_index":0,"delta":"Hey"}\n\n`;
    const odd = 'event: dream\ndata: {"a":1}\n\ndata: {"b":2}\n\n';
    const { told } = await stream([CREATED, text, done(0, message("Hey")), odd, completed()]);
    expect(told).toEqual([
      START,
      ...textTold(0, ["Hey"]),
      { event: "dream", data: { a: 1 } },
      { event: "", data: { b: 2 } },
      STOP,
    ]);
  });
});
