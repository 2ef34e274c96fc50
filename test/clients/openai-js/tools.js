/** Conversations in which the model calls a function: the three ways to give it the results. */
import assert from "node:assert/strict";

const weather = {
  type: "function",
  name: "get_weather",
  description: "Returns the weather of a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: true,
};

const question = "How is the weather in Oslo and Paris?";

/** The results of the calls of a response, whose arguments must be those that the function takes. */
function resultsOf(response, calls) {
  const made = response.output.filter(({ type }) => type === "function_call");
  assert.equal(made.length, calls);
  return made.map(({ call_id, name, arguments: json }, index) => {
    assert.equal(name, "get_weather");
    assert.deepEqual(Object.keys(JSON.parse(json)), ["city"]);
    return { type: "function_call_output", call_id, output: `${index + 11} degrees` };
  });
}

/** The model has read the results. */
function checkAnswer(response, ...results) {
  assert.equal(response.status, "completed");
  for (const result of results) assert.ok(response.output_text.includes(result), response.output_text);
}

/** A request without tools has the tools of the previous response. */
export async function tools_previous_response({ openai, model }) {
  const first = await openai.responses.create({
    model: model("tools:calls=2"),
    input: question,
    tools: [weather],
  });
  const second = await openai.responses.create({
    model: model("tools:calls=2"),
    previous_response_id: first.id,
    input: resultsOf(first, 2),
  });
  checkAnswer(second, "11 degrees", "12 degrees");
  assert.equal(second.previous_response_id, first.id);
}

export async function tools_conversation({ openai, model }) {
  const { id } = await openai.conversations.create();
  const request = { model: model("tools"), tools: [weather], conversation: id };
  const first = await openai.responses.create({ ...request, input: question });
  assert.deepEqual(first.conversation, { id });
  const second = await openai.responses.create({ ...request, input: resultsOf(first, 1) });
  checkAnswer(second, "11 degrees");
  const items = [];
  for await (const item of openai.conversations.items.list(id, { order: "asc" })) items.push(item.type);
  assert.deepEqual(items, ["message", "function_call", "function_call_output", "message"]);
}

/** All items are sent back, reasoning included, which the provider verifies. Nothing is stored. */
export async function tools_stateless({ openai, model }) {
  const request = {
    model: model("reasoning:calls=2"),
    tools: [weather],
    store: false,
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "medium", summary: "auto" },
  };
  const input = [{ role: "user", content: question }];
  const first = await openai.responses.create({ ...request, input });
  assert.equal(first.output[0].type, "reasoning");
  input.push(...first.output, ...resultsOf(first, 2));
  const accumulated = openai.responses.stream({ ...request, input });
  const second = await accumulated.finalResponse();
  checkAnswer(second, "11 degrees", "12 degrees");
  await assert.rejects(openai.responses.retrieve(second.id), { status: 404 });
}

/** The arguments of calls arrive in pieces, which the SDK joins. */
export async function tools_stream({ openai, model }) {
  const accumulated = openai.responses.stream({
    model: model("tools:calls=2"),
    input: question,
    tools: [weather],
    tool_choice: "required",
  });
  const joined = new Map();
  for await (const event of accumulated) {
    if (event.type !== "response.function_call_arguments.delta") continue;
    joined.set(event.item_id, (joined.get(event.item_id) ?? "") + event.delta);
  }
  const response = await accumulated.finalResponse();
  resultsOf(response, 2);
  for (const { id, arguments: json } of response.output) assert.equal(json, joined.get(id));
}
