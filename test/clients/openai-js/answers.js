/** Answers without tools: whole, streamed, with a schema, with reasoning, about an image. */
import assert from "node:assert/strict";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

/** A PNG of one pixel. */
const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export async function text({ openai, model }) {
  const response = await openai.responses.create({
    model: model("text"),
    instructions: "Be brief.",
    input: "How is the weather?",
  });
  assert.equal(response.object, "response");
  assert.match(response.id, /^resp_/);
  assert.equal(response.status, "completed");
  assert.equal(response.error, null);
  assert.equal(response.incomplete_details, null);
  assert.ok(Math.abs(response.created_at - Date.now() / 1000) < 60, `created at ${response.created_at}`);
  const [message] = response.output;
  assert.deepEqual([message.type, message.role, message.status], ["message", "assistant", "completed"]);
  assert.ok(response.output_text.length > 20, response.output_text);
  checkUsage(response.usage);
}

function checkUsage(usage) {
  assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0);
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  assert.equal(typeof usage.input_tokens_details.cached_tokens, "number");
  assert.equal(typeof usage.output_tokens_details.reasoning_tokens, "number");
}

/** A response repeats the settings of its request. */
export async function settings({ openai, model }) {
  const response = await openai.responses.create({
    model: model("text"),
    input: "Hello",
    instructions: "Be brief.",
    max_output_tokens: 500,
    metadata: { team: "blue" },
    parallel_tool_calls: false,
    prompt_cache_key: "greeting",
    safety_identifier: "user-1",
    text: { format: { type: "text" } },
    tool_choice: "auto",
    truncation: "disabled",
  });
  assert.equal(response.instructions, "Be brief.");
  assert.equal(response.max_output_tokens, 500);
  assert.deepEqual(response.metadata, { team: "blue" });
  assert.equal(response.parallel_tool_calls, false);
  assert.equal(response.prompt_cache_key, "greeting");
  assert.equal(response.safety_identifier, "user-1");
  assert.deepEqual(response.text.format, { type: "text" });
  assert.equal(response.tool_choice, "auto");
  assert.deepEqual(response.tools, []);
  assert.equal(response.truncation, "disabled");
  assert.equal(response.background, false);
  assert.equal(response.previous_response_id, null);
}

export async function stream({ openai, model }) {
  const accumulated = openai.responses.stream({ model: model("text"), input: "How is the weather?" });
  const events = [];
  for await (const event of accumulated) events.push(event);
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, index) => index),
  );
  assert.deepEqual(
    events.slice(0, 2).map(({ type }) => type),
    ["response.created", "response.in_progress"],
  );
  assert.equal(events.at(-1).type, "response.completed");
  const response = await accumulated.finalResponse();
  const deltas = events.filter(({ type }) => type === "response.output_text.delta");
  assert.ok(deltas.length > 3, "the text arrives in pieces");
  assert.equal(deltas.map(({ delta }) => delta).join(""), response.output_text);
  checkUsage(response.usage);
  // The stored response equals the streamed one.
  const stored = await openai.responses.retrieve(response.id);
  assert.deepEqual(stored.output, events.at(-1).response.output);
}

/** The bytes of a stream: named events, and `[DONE]` at the end. */
export async function done_marker({ openai, model }) {
  const response = await openai.responses
    .create({ model: model("text"), input: "Hello", stream: true })
    .asResponse();
  assert.match(response.headers.get("content-type"), /^text\/event-stream/);
  const body = await response.text();
  assert.ok(body.endsWith("data: [DONE]\n\n"), body.slice(-60));
  const events = [...body.matchAll(/^event: (.*)\ndata: (.*)\n\n/gm)];
  assert.ok(events.length > 5);
  for (const [, name, data] of events) assert.equal(JSON.parse(data).type, name);
}

export async function structured_output({ openai, model }) {
  const City = z.object({ name: z.string(), people: z.number(), districts: z.array(z.string()) });
  const response = await openai.responses.parse({
    model: model("text"),
    input: "Describe Paris as JSON.",
    text: { format: zodTextFormat(City, "city") },
  });
  City.parse(response.output_parsed);
  const format = response.text.format;
  assert.deepEqual([format.type, format.name, format.strict], ["json_schema", "city", true]);
}

/** Reasoning is shown, counted, and taken back by the provider that wrote it. */
export async function reasoning({ openai, model, provider }) {
  const request = {
    model: model("reasoning"),
    reasoning: { effort: "medium", summary: "auto" },
    include: ["reasoning.encrypted_content"],
    store: false,
  };
  const question = { role: "user", content: "Why is the sky blue?" };
  const accumulated = openai.responses.stream({ ...request, input: [question] });
  const types = new Set();
  for await (const { type } of accumulated) types.add(type);
  const response = await accumulated.finalResponse();
  const [thought, ...rest] = response.output;
  assert.equal(thought.type, "reasoning");
  const shown = [...thought.summary, ...(thought.content ?? [])].map((part) => part.text).join("");
  assert.ok(shown.length > 20, `the reasoning is shown: ${shown}`);
  assert.ok(
    types.has("response.reasoning_summary_text.delta") || types.has("response.reasoning_text.delta"),
    "the reasoning is streamed",
  );
  if (provider === "openai" || provider === "anthropic") assert.ok(thought.encrypted_content?.length > 0);
  assert.ok(response.usage.output_tokens_details.reasoning_tokens > 0);
  assert.ok(rest.some(({ type }) => type === "message"));
  const input = [question, ...response.output, { role: "user", content: "And at night?" }];
  const next = await openai.responses.create({ ...request, input });
  assert.equal(next.status, "completed");
}

export async function image({ openai, model }) {
  const content = [
    { type: "input_text", text: "What is this?" },
    { type: "input_image", image_url: `data:image/png;base64,${pixel}`, detail: "auto" },
  ];
  const response = await openai.responses.create({
    model: model("text"),
    input: [{ role: "user", content }],
  });
  assert.match(response.output_text, /1 attachment\(s\): image/);
}

/** An answer that was truncated says so. */
export async function incomplete({ openai, model }) {
  const response = await openai.responses.create({
    model: model("long:tokens=400,rate=100000"),
    input: "Write a lot.",
    max_output_tokens: 40,
  });
  assert.equal(response.status, "incomplete");
  assert.deepEqual(response.incomplete_details, { reason: "max_output_tokens" });
}

export async function input_tokens({ openai, model }) {
  const request = { model: model("text"), input: "How is the weather in Oslo? ".repeat(20) };
  const counted = await openai.responses.inputTokens.count(request);
  assert.equal(counted.object, "response.input_tokens");
  assert.ok(counted.input_tokens > 50, `${counted.input_tokens} tokens`);
}

/** The SDK asks for base64, and decodes it. Anthropic has no embeddings. */
export async function embeddings({ openai, model, provider }) {
  const request = { model: model("text"), input: ["Grüße 👋", "Hello", "Hello"], dimensions: 8 };
  if (provider === "anthropic") {
    await assert.rejects(openai.embeddings.create(request), { status: 400, param: "model" });
    return;
  }
  const { data, usage } = await openai.embeddings.create(request);
  const [first, second, third] = data.map(({ embedding }) => embedding);
  assert.deepEqual([data.map(({ index }) => index), first.length], [[0, 1, 2], 8]);
  assert.deepEqual(second, third);
  assert.notDeepEqual(first, second);
  assert.equal(usage.total_tokens, usage.prompt_tokens);
}

export async function models({ openai, provider }) {
  const ids = [];
  for await (const each of openai.models.list()) {
    assert.equal(each.object, "model");
    ids.push(each.id);
  }
  assert.ok(ids.length > 0, "there are models");
  const id = ids.find((each) => each.startsWith(`${provider}/`)) ?? ids[0];
  const one = await openai.models.retrieve(id);
  assert.deepEqual([one.id, one.object], [id, "model"]);
}
