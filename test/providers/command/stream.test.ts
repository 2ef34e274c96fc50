import { describe, expect, it } from "vitest";
import { LawChecker } from "../../../src/core/laws.ts";
import { textOf } from "../../../src/core/message.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import type { StreamEvent } from "../../../src/gen/outrigger/v1/stream_event_pb.ts";
import { DEFAULT_ANSWER_LIMITS } from "../../../src/kit/call/answer-limits.ts";
import type { CallFacts } from "../../../src/kit/call/call-facts.ts";
import { decodeStream } from "../../../src/kit/stream/decode-stream.ts";
import { StreamWriter } from "../../../src/kit/stream/stream-writer.ts";
import type { CommandFormat } from "../../../src/providers/command/settings.ts";
import { createDecoder, getParser } from "../../../src/providers/command/stream.ts";
import { toRequest } from "./programs.ts";

async function* splitChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Decodes an output that arrives in chunks of a size. */
async function decode(
  format: CommandFormat,
  output: string | Uint8Array,
  { size = 1 << 20, limits = {}, request = toRequest() } = {},
): Promise<StreamEvent[]> {
  const facts: CallFacts = {
    request,
    provider: "local",
    inferenceId: "inf_1",
    acceptedAt: 0,
    warnings: [],
    rateLimit: undefined,
    providerRequestId: "",
    limits: { ...DEFAULT_ANSWER_LIMITS, ...limits },
  };
  const writer = new StreamWriter(facts, () => 0);
  const bytes = typeof output === "string" ? Buffer.from(output) : output;
  const laws = new LawChecker();
  const events: StreamEvent[] = [];
  const options = { createParser: getParser(format), limits: facts.limits };
  const batches = decodeStream(
    splitChunks(bytes, size),
    createDecoder(format, facts, writer),
    writer,
    options,
  );
  for await (const batch of batches) {
    for (const event of batch) laws.check(event);
    events.push(...batch);
  }
  return events;
}

async function responseTo(
  format: CommandFormat,
  output: string | Uint8Array,
  options: Parameters<typeof decode>[2] = {},
): Promise<Response> {
  const last = (await decode(format, output, options)).at(-1)?.event;
  if (last?.case !== "finish" || last.value.response === undefined) throw new Error("no response");
  return last.value.response;
}

/** The output of version 0.169 for an answer with a command. */
const CODEX = [
  '{"type":"thread.started","thread_id":"01a2045c-f044-7991-988a-b7b4440fd9a6"}',
  '{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `gpt-x` not found."}}',
  '{"type":"turn.started"}',
  '{"type":"item.completed","item":{"id":"item_1","type":"reasoning","text":"**Thinking**\\n\\nabout ls"}}',
  '{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"I will look."}}',
  '{"type":"item.started","item":{"id":"item_3","type":"command_execution","command":"/bin/bash -lc \'echo hi\'","aggregated_output":"","exit_code":null,"status":"in_progress"}}',
  '{"type":"item.completed","item":{"id":"item_3","type":"command_execution","command":"/bin/bash -lc \'echo hi\'","aggregated_output":"hi\\n","exit_code":0,"status":"completed"}}',
  '{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":"All done. 😀"}}',
  '{"type":"turn.completed","usage":{"input_tokens":200,"cached_input_tokens":80,"cache_write_input_tokens":0,"output_tokens":40,"reasoning_output_tokens":10}}',
].map((line) => `${line}\n`);

describe("output that is text", () => {
  it("is the unchanged answer, wherever the output is split", async () => {
    const text = "Grüße 😀\n\n  and more\n";
    for (const size of [1, 2, 3, 7, 100]) expect(textOf(await responseTo("text", text, { size }))).toBe(text);
  });

  it("may be empty", async () => {
    const response = await responseTo("text", "");
    expect(response.message?.content).toEqual([]);
    expect(response.finishReason?.raw).toBe("exit status 0");
  });
});

describe("output in lines of JSON", () => {
  it("has its text in text, else in content, else in the line itself", async () => {
    const output = [
      '{"text":"one ","content":"not this"}',
      '{"content":"two "}',
      '{"content":[{"type":"text","text":"three"},{"type":"text","text":"\\n"}]}',
      "plain",
      "",
      '"quoted"',
      "12",
      '{"text":"end"}',
    ].join("\n");
    for (const size of [1, 5, 1000])
      expect(textOf(await responseTo("json-lines", output, { size }))).toBe(
        'one two three\nplain\n\n"quoted"\n12\nend',
      );
  });

  it("has reasoning, usage and activities", async () => {
    const output = [
      '{"reasoning":"Hm, "}',
      '{"reasoning":"well."}',
      '{"text":"Yes."}',
      '{"type":"search","id":12345678901234567890}',
      '{"usage":{"input_tokens":3,"output_tokens":4}}',
    ].join("\n");
    const { message, usage } = await responseTo("json-lines", output);
    expect(message?.content.map(({ part }) => part)).toMatchObject([
      { case: "reasoning", value: { text: "Hm, well." } },
      { case: "text", value: "Yes." },
      {
        case: "native",
        value: { provider: "local", kind: "search", dataJson: '{"type":"search","id":12345678901234567890}' },
      },
    ]);
    expect(usage).toMatchObject({ inputTokens: 3, outputTokens: 4, totalTokens: 7 });
  });

  it("may say that there is no answer", async () => {
    const report =
      '{"text":"a"}\n{"error":{"message":"Slow down","code":"rate_limit_exceeded"}}\n{"text":"b"}\n';
    await expect(decode("json-lines", report)).rejects.toMatchObject({
      kindName: "RATE_LIMIT",
      message: "local reported a failure (rate_limit_exceeded): Slow down",
      outputStarted: true,
    });
    await expect(decode("json-lines", '{"error":"out of order"}')).rejects.toMatchObject({
      kindName: "SERVER",
      message: "local reported a failure: out of order",
    });
  });

  it("has limits", async () => {
    const large = `{"text":"${"x".repeat(2000)}"}`;
    await expect(decode("json-lines", large, { limits: { maxEventChars: 1000 } })).rejects.toThrow(
      /max_answer_event_bytes/,
    );
    await expect(decode("json-lines", "{}\n".repeat(50), { limits: { maxParts: 20 } })).rejects.toThrow(
      /max_answer_parts/,
    );
    await expect(decode("json-lines", "a\n".repeat(50), { limits: { maxEvents: 20 } })).rejects.toThrow(
      /max_answer_events/,
    );
  });
});

describe("output of codex exec --json", () => {
  it("has messages, reasoning, commands as native parts, the program's messages as warnings, and usage", async () => {
    for (const size of [1, 13, 100_000]) {
      const response = await responseTo("codex", CODEX.join(""), { size });
      expect(response).toMatchObject({
        id: "01a2045c-f044-7991-988a-b7b4440fd9a6",
        finishReason: { raw: "turn.completed" },
        usage: {
          inputTokens: 200,
          outputTokens: 40,
          totalTokens: 240,
          reasoningTokens: 10,
          cacheReadTokens: 80,
          cacheWriteTokens: 0,
        },
        warnings: [{ code: "provider_message", message: "Model metadata for `gpt-x` not found." }],
      });
      expect(response.message?.content.map(({ part }) => part)).toMatchObject([
        { case: "reasoning", value: { text: "**Thinking**\n\nabout ls" } },
        { case: "text", value: "I will look." },
        {
          case: "native",
          value: { kind: "command_execution", dataJson: expect.stringContaining('"hi\\n"') },
        },
        { case: "text", value: "All done. 😀" },
      ]);
    }
  });

  it("is a broken stream wherever it is cut", async () => {
    for (let count = 1; count < CODEX.length; count += 1) {
      const whole = CODEX.slice(0, count).join("");
      for (const output of [whole, whole.slice(0, -5)])
        await expect(decode("codex", output)).rejects.toMatchObject({ kindName: "STREAM" });
    }
  });

  it("streams a message that grows", async () => {
    const item = (type: string, text: string) =>
      `${JSON.stringify({ type, item: { id: "i", type: "agent_message", text } })}\n`;
    const grown = [
      item("item.started", ""),
      item("item.updated", "Hel"),
      item("item.updated", "Hello"),
      item("item.completed", "Hello!"),
      CODEX.at(-1),
    ].join("");
    const events = await decode("codex", grown);
    const deltas = events.flatMap(({ event }) => (event.case === "textDelta" ? [event.value.delta] : []));
    expect(deltas).toEqual(["Hel", "lo", "!"]);
  });

  it("fails as the turn does, with the code of the model's provider", async () => {
    const inner = JSON.stringify({
      error: { message: "bad thing", type: "invalid_request_error", code: "x" },
    });
    const failed = [
      CODEX[0],
      `${JSON.stringify({ type: "error", message: inner })}\n`,
      `${JSON.stringify({ type: "turn.failed", error: { message: inner } })}\n`,
    ].join("");
    await expect(decode("codex", failed)).rejects.toMatchObject({
      message: "local reported a failure (x): bad thing",
      kindName: "INVALID_REQUEST",
      outputStarted: false,
    });
    const status = { type: "turn.failed", error: { message: "unexpected status 401 Unauthorized: no key" } };
    await expect(decode("codex", JSON.stringify(status))).rejects.toMatchObject({
      kindName: "AUTHENTICATION",
    });
  });

  it("may have lines of a wrapper and events that are new", async () => {
    const output = ["loading…\n", '{"type":"new.event","x":1}\n', ...CODEX, "trailing\n"].join("");
    const request = toRequest({ includeRaw: true });
    const events = await decode("codex", output, { request });
    const types = events.flatMap(({ event }) => (event.case === "providerEvent" ? [event.value.type] : []));
    expect(types).toContain("new.event");
    const response = await responseTo("codex", output);
    expect(response.warnings[0]).toMatchObject({ code: "provider_message", message: "loading…" });
    expect(response.usage?.inputTokens).toBe(200);
  });

  it("survives items and events of every shape", async () => {
    const shapes = ["null", "[]", "7", "{}", '{"type":7}', '{"type":"item.completed"}'];
    const items = [
      "null",
      "[]",
      '{"type":null}',
      '{"type":"agent_message"}',
      '{"type":"reasoning","text":{}}',
    ];
    const lines = [...shapes, ...items.map((item) => `{"type":"item.completed","item":${item}}`)];
    const output = [...lines.map((line) => `${line}\n`), CODEX.at(-1)].join("");
    expect((await responseTo("codex", output)).finishReason?.raw).toBe("turn.completed");
  });
});
