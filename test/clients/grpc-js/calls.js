/** Calls that succeed: a whole answer, a streamed one, and a tool's round trip. */
import assert from "node:assert/strict";
import { promisify } from "node:util";

/** Every call gets a deadline. The sidecar applies it to the provider call. */
export function inTime() {
  return { deadline: Date.now() + 20_000 };
}

/** Complete as a promise. */
export function complete(inference, request) {
  return promisify(inference.complete.bind(inference))(request, inTime());
}

export async function checkHealth(health) {
  for (const service of ["", "outrigger.v1.InferenceService"]) {
    const { status } = await promisify(health.check.bind(health))({ service }, inTime());
    assert.equal(status, "SERVING", `service "${service}" is ${status}`);
  }
}

export async function checkComplete(inference) {
  const response = await complete(inference, {
    model: "sim-text",
    messages: [userMessage("Say hello.")],
  });
  const { inputTokens, outputTokens, totalTokens } = response.usage;
  assert.notEqual(textOf(response.message), "", "the answer has no text");
  assert.equal(response.finishReason.reason, "REASON_STOP");
  assert.ok(totalTokens > 0, "no usage");
  assert.equal(totalTokens, inputTokens + outputTokens);
}

export async function checkStream(inference) {
  const call = inference.stream({ model: "sim-text", messages: [userMessage("Say hello.")] }, inTime());
  const events = [];
  for await (const event of call) {
    events.push(event);
  }
  checkOrder(events);
  checkText(events);
}

/** Checks laws 1 and 2 of a stream; the laws are listed at StreamEvent in the contract. */
export function checkOrder(events) {
  const kinds = events.map((event) => event.event);
  assert.equal(kinds.at(0), "streamStart", "stream_start is first");
  assert.equal(kinds.at(-1), "finish", "finish is last");
  assert.equal(kinds.lastIndexOf("streamStart"), 0, "there is one stream_start");
  assert.equal(kinds.indexOf("finish"), kinds.length - 1, "there is one finish");
  assert.deepEqual(
    events.map((event) => event.sequence),
    [...events.keys()],
    "sequence has no gaps",
  );
}

/** Checks law 4 of a stream: the deltas of a block concatenate to the text in its end and in the final response. */
function checkText(events) {
  const { content } = events.at(-1).finish.response.message;
  const streamed = new Map();
  let ends = 0;
  for (const { textDelta, textEnd } of events) {
    // Callers must skip unknown events, since kinds may be added.
    if (textDelta) {
      const { partIndex, delta } = textDelta;
      streamed.set(partIndex, (streamed.get(partIndex) ?? "") + delta);
    } else if (textEnd) {
      ends += 1;
      assert.equal(textEnd.text, streamed.get(textEnd.partIndex), "deltas concatenate to text_end");
      assert.equal(textEnd.text, content[textEnd.partIndex].text, "the final response says the same");
    }
  }
  assert.notEqual(ends, 0, "no text was streamed");
  assert.equal(ends, streamed.size, "every part of text ends once");
}

export async function checkToolRoundTrip(inference) {
  const result = "18 degrees and drizzle";
  const request = {
    model: "sim-tools",
    messages: [userMessage("How is the weather in Oslo?")],
    tools: [
      {
        function: {
          name: "get_weather",
          description: "Current weather of a city.",
          // JSON is sent as text: a Struct would lose the order of its keys.
          parametersJson: JSON.stringify({
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
          }),
        },
      },
    ],
  };
  const first = await complete(inference, request);
  assert.equal(first.finishReason.reason, "REASON_TOOL_CALLS");

  // The assistant's message is sent back unchanged. Its parts may carry providerState
  // (signatures, encrypted reasoning) that the provider requires.
  request.messages.push(first.message, runTools(first.message, result));
  const text = textOf((await complete(inference, request)).message);
  assert.ok(text.includes(result), `the answer "${text}" does not quote the tool's result`);
}

/** Executes every tool call of a message; a model may make several at once. */
function runTools(message, result) {
  const calls = message.content.filter((part) => part.part === "toolCall").map((part) => part.toolCall);
  assert.notEqual(calls.length, 0, "the model called no tool");
  for (const { name, argumentsJson } of calls) {
    // A model can write arguments that are not JSON; then this throws.
    const { city } = JSON.parse(argumentsJson);
    assert.equal(name, "get_weather");
    assert.ok(city, `unexpected arguments ${argumentsJson}`);
  }
  return {
    role: "ROLE_TOOL",
    content: calls.map(({ id }) => ({ toolResult: { toolCallId: id, content: [{ text: result }] } })),
  };
}

/** A user message. */
export function userMessage(text) {
  return { role: "ROLE_USER", content: [{ text }] };
}

/** Joins the text parts of a message. A message may have other parts between them. */
function textOf(message) {
  return message.content.map((part) => part.text ?? "").join("");
}
