/** Failures: each is the SDK's exception for its kind. */
import assert from "node:assert/strict";
import OpenAI from "openai";

async function getFailure(kind, request) {
  const error = await request.then(
    () => assert.fail("the call succeeded, want an error"),
    (reason) => reason,
  );
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
  return error;
}

/** A contradiction is refused with the name of the parameter. */
export async function bad_request({ openai, model }) {
  const request = { model: model("text"), input: "Hello", store: false };
  const background = await getFailure(
    OpenAI.BadRequestError,
    openai.responses.create({ ...request, background: true }),
  );
  assert.deepEqual([background.status, background.type], [400, "invalid_request_error"]);
  assert.equal(background.param, "background");
  const previous = await getFailure(
    OpenAI.BadRequestError,
    openai.responses.create({ ...request, previous_response_id: `resp_${"0".repeat(32)}` }),
  );
  assert.equal(previous.param, "previous_response_id");
  const type = await getFailure(
    OpenAI.BadRequestError,
    openai.responses.create({ ...request, max_output_tokens: "many" }),
  );
  assert.equal(type.param, "max_output_tokens");
}

export async function not_found({ openai, model }) {
  const id = `resp_${"0".repeat(32)}`;
  const missing = await getFailure(OpenAI.NotFoundError, openai.responses.retrieve(id));
  assert.ok(missing.message.includes(id), missing.message);
  await getFailure(OpenAI.NotFoundError, openai.responses.inputItems.list(id));
  await getFailure(OpenAI.NotFoundError, openai.models.retrieve("no-such-model"));
  await getFailure(
    OpenAI.NotFoundError,
    openai.responses.create({ model: `${model("")}nothing`, input: "Hello" }),
  );
}

export async function rate_limit({ openai, model }) {
  const request = { model: model("text:status=429,retry_after=2"), input: "Hello" };
  const error = await getFailure(OpenAI.RateLimitError, openai.responses.create(request, { maxRetries: 0 }));
  assert.equal(error.status, 429);
  assert.equal(error.headers.get("retry-after"), "2");
  await getFailure(
    OpenAI.RateLimitError,
    openai.responses.create({ ...request, stream: true }, { maxRetries: 0 }),
  );
}

/** The SDK repeats what may succeed, after as long as it was told. The delays are of this client alone, see `times`. */
export async function retry({ openai, model, provider }) {
  const delay = 1 + ["openai", "anthropic", "gemini", "compatible"].indexOf(provider);
  const script = `text:status=429,retry_after_ms=${delay},times=2`;
  const response = await openai.responses.create({ model: model(script), input: "Hello" });
  assert.equal(response.status, "completed");
}

export async function server_error({ openai, model }) {
  const request = { model: model("text:status=500"), input: "Hello" };
  const error = await getFailure(
    OpenAI.InternalServerError,
    openai.responses.create(request, { maxRetries: 0 }),
  );
  assert.ok(error.status >= 500, `status ${error.status}`);
}

/** A stream that broke never looks finished. */
export async function cut_stream({ openai, model }) {
  const events = [];
  const stream = await openai.responses.create({
    model: model("text:cut_events=6"),
    input: "Hello",
    stream: true,
  });
  const thrown = await (async () => {
    for await (const event of stream) events.push(event);
  })().catch((error) => error);
  const types = events.map(({ type }) => type);
  assert.ok(!types.includes("response.completed"), types.join());
  assert.ok(thrown !== undefined || types.at(-1) === "response.failed", types.join());
  const { id } = events[0].response;
  const stored = await openai.responses.retrieve(id);
  assert.equal(stored.status, "failed");
  assert.ok(stored.error.message.length > 0);
}
