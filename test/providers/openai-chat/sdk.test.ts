import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { describe, expect, it } from "vitest";
import { reasoningOf, textOf, toolCallsOf } from "../../../src/core/message.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { toData } from "./reading.ts";
import { decodeBytes, getFinal } from "./support.ts";

/** Streams of OpenAI itself, which its SDK can read; it does not support the differences of other servers. */
const streams = getRecordings("openai-chat", ".sse").filter(({ file }) =>
  /\/(chat-|openai-sdk-|raw-|refusal-|stream-falsy|text\.|truncated-)/.test(file),
);

describe("OpenAI's SDK", () => {
  it("has streams to read", () => expect(streams).toHaveLength(30));

  it.each(streams)("reads the stream $file as the adapter does", async (recording) => {
    const bytes = toBytes(recording);
    const lines = toData(bytes).map((chunk) => `${JSON.stringify(chunk)}\n`);
    const body = new Response(lines.join("")).body;
    if (body === null) throw new Error("a response with text has a body");
    const theirs = await ChatCompletionStream.fromReadableStream(body).finalChatCompletion();
    const ours = getFinal(await decodeBytes([bytes]));
    const [choice] = theirs.choices;
    const { content, refusal, tool_calls: calls = [] } = choice?.message ?? {};
    expect(textOf(ours)).toBe(`${content ?? ""}${refusal ?? ""}`);
    expect(reasoningOf(ours)).toBe("");
    expect(toolCallsOf(ours).map(({ id, name, input }) => [id, name, input.value])).toEqual(
      calls.map((call) =>
        call.type === "function" ? [call.id, call.function.name, call.function.arguments] : [],
      ),
    );
    expect(ours.finishReason?.raw).toBe(choice?.finish_reason);
    expect(ours.usage?.totalTokens).toBe(theirs.usage?.total_tokens);
    expect(ours).toMatchObject({ id: theirs.id, model: theirs.model });
  });
});
