/** OpenAI's official SDK against the API over real sockets, with a simulator of each provider behind it. */
import { request } from "node:http";
import { connect } from "node:http2";
import { text } from "node:stream/consumers";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { columns } from "../../providers/support/columns.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { expectValid } from "../schemas/validate.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { eventsIn } from "../support/events-in.ts";
import { expectWholeStream } from "../support/expect-whole-stream.ts";

const servers = useTestServers();

const tools = [
  {
    type: "function" as const,
    name: "get_weather",
    description: "The weather in a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    strict: true,
  },
];

/** The body of a stream. */
async function streamed({ fetch }: ApiServer, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const response = await fetch("/v1/responses", {
    method: "POST",
    headers,
    body: JSON.stringify({ ...body, stream: true }),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  return await response.text();
}

describe.each(columns)("With $title behind it, the API", ({ name }) => {
  const model = (sim: string) => `${name}/${sim}`;

  it("answers a text, and the response can be read, listed and deleted", async () => {
    const { openai } = await startApi(servers);
    const { output_text: text, ...response } = await openai.responses.create({
      model: model("sim-echo"),
      input: "Grüße 👋",
      metadata: { a: "b" },
    });
    expect(text).toBe("Grüße 👋");
    expectValid("Response", withoutHelpers(response));
    expect(response).toMatchObject({ status: "completed", metadata: { a: "b" }, model: "sim-echo" });
    const { output_text: again, ...read } = await openai.responses.retrieve(response.id);
    expect(again).toBe(text);
    expect(read).toEqual(response);
    const { data } = await openai.responses.inputItems.list(response.id);
    expect(data).toMatchObject([{ role: "user", content: [{ type: "input_text", text: "Grüße 👋" }] }]);
    const deleted: unknown = await openai.responses.delete(response.id);
    expect(deleted).toEqual({ id: response.id, object: "response", deleted: true });
    await expect(openai.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
  });

  it("streams the same events that a later reader gets, byte by byte from any cursor on", async () => {
    const api = await startApi(servers);
    const body = await streamed(api, {
      model: model("sim-reasoning"),
      input: "Think about Paris",
      tools,
      reasoning: { effort: "high", summary: "auto" },
    });
    expect(body.endsWith("\n\ndata: [DONE]\n\n")).toBe(true);
    const events = eventsIn(body);
    const { id } = expectWholeStream(events);
    const each = body.split(/(?<=\n\n)/);
    const read = async (query: string) => (await api.fetch(`/v1/responses/${id}?stream=true${query}`)).text();
    expect(await read("")).toBe(body);
    for (const cursor of [0, 1, Math.floor(events.length / 2), events.length - 2, events.length - 1])
      expect(await read(`&starting_after=${cursor}`)).toBe(each.slice(cursor + 1).join(""));
    expect(await (await api.fetch(`/v1/responses/${id}`)).json()).toEqual(events.at(-1)?.response);
  });

  it("streams the events if a GET says so in its body, as OpenAI's SDK for Go does", async () => {
    const api = await startApi(servers);
    const body = await streamed(api, { model: model("sim-text"), input: "Hello" });
    const [, id = ""] = /"id":"(resp_\w+)"/.exec(body) ?? [];
    const rest = await getWithBody(
      `${api.server.url}/v1/responses/${id}?starting_after=3`,
      '{"stream":true}',
    );
    expect(rest).toBe(
      body
        .split(/(?<=\n\n)/)
        .slice(4)
        .join(""),
    );
    expect(await getWithBody(`${api.server.url}/v1/responses/${id}`, "no JSON")).toContain(
      '"object":"response"',
    );
  });

  it("names a conversation that does not exist as its caller does", async () => {
    const { openai } = await startApi(servers);
    const conversation = `conv_${"0".repeat(32)}`;
    const message = `404 Conversation with id '${conversation}' not found.`;
    const request = { model: model("sim-text"), input: "Hello", conversation };
    await expect(openai.responses.create(request)).rejects.toMatchObject({ message, param: "conversation" });
  });

  it("gives the SDK's accumulator the final response", async () => {
    const { openai } = await startApi(servers);
    const types: ResponseStreamEvent["type"][] = [];
    const stream = openai.responses.stream({ model: model("sim-text"), input: "Hello", store: false });
    for await (const event of stream) types.push(event.type);
    const { output_text: text, id } = await stream.finalResponse();
    expect(text.length).toBeGreaterThan(20);
    expect(types.slice(0, 2)).toEqual(["response.created", "response.in_progress"]);
    expect(types.at(-1)).toBe("response.completed");
    await expect(openai.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
  });

  it("continues with tool results by the id of the response", async () => {
    const { openai } = await startApi(servers);
    const first = await openai.responses.create({
      model: model("sim-tools:calls=2"),
      input: "Paris?",
      tools,
    });
    const calls = first.output.filter((item) => item.type === "function_call");
    expect(calls.map((call) => call.name)).toEqual(["get_weather", "get_weather"]);
    expect(first.status).toBe("completed");
    const second = await openai.responses.create({
      model: model("sim-tools:calls=2"),
      previous_response_id: first.id,
      input: calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "18 degrees" })),
    });
    expect(second.output_text).not.toBe("");
    expect(second.previous_response_id).toBe(first.id);
    const { output_text: _, ...again } = await openai.responses.retrieve(first.id);
    expect({ ...again, output_text: first.output_text }).toEqual(first);
  });

  it("answers a conversation that has the question already, and nothing else if it has nothing", async () => {
    const { openai } = await startApi(servers);
    const items = [{ role: "user" as const, content: "Grüße" }];
    const { id: conversation } = await openai.conversations.create({ items });
    const { output_text } = await openai.responses.create({ model: model("sim-echo"), conversation });
    expect(output_text).toBe("Grüße");
    const { id: empty } = await openai.conversations.create({});
    await expect(
      openai.responses.create({ model: model("sim-echo"), conversation: empty }),
    ).rejects.toMatchObject({ status: 400, param: "input" });
  });

  it("continues an answer without a further message, if the model can", async () => {
    const { openai } = await startApi(servers);
    const { id } = await openai.responses.create({ model: model("sim-echo"), input: "Grüße" });
    const next = { model: model("sim-echo"), previous_response_id: id, input: [] };
    if (name === "openai" || name === "compatible")
      expect((await openai.responses.create(next)).output_text).toBe("Grüße");
    else await expect(openai.responses.create(next)).rejects.toMatchObject({ status: 400 });
  });

  it("names what is continued if the model cannot continue it", async () => {
    const { openai } = await startApi(servers);
    const items = [
      { role: "user" as const, content: "Hi" },
      { role: "assistant" as const, content: "Hello" },
    ];
    const { id: conversation } = await openai.conversations.create({ items });
    const { id } = await openai.responses.create({ model: model("sim-echo"), input: "Hi" });
    const create = (from: object) => openai.responses.create({ model: "anthropic/claude-opus-5", ...from });
    const failure = (param: string) => ({ status: 400, param, error: { type: "invalid_request_error" } });
    await expect(create({ conversation })).rejects.toMatchObject(failure("conversation"));
    const previous = { previous_response_id: id };
    await expect(create(previous)).rejects.toMatchObject(failure("previous_response_id"));
  });

  it("continues if the caller sends all items back and nothing is stored", async () => {
    const { openai } = await startApi(servers);
    const request = { model: model("sim-reasoning"), tools, store: false } as const;
    const input = [{ role: "user" as const, content: "Weather in Paris?" }];
    const first = await openai.responses.create({
      ...request,
      input,
      include: ["reasoning.encrypted_content"],
    });
    const results = first.output.flatMap((item) =>
      item.type === "function_call"
        ? [{ type: "function_call_output" as const, call_id: item.call_id, output: "18 degrees" }]
        : [],
    );
    expect(results).toHaveLength(1);
    const second = await openai.responses.create({
      ...request,
      input: [...input, ...first.output, ...results] as never,
    });
    expect(second.output_text).not.toBe("");
    expect(second.output.some(({ type }) => type === "function_call")).toBe(false);
  });

  it("runs in the background, and can be polled, followed and cancelled", async () => {
    const { openai, simulator } = await startApi(servers);
    const slow = { model: model("sim-long:tokens=100000,rate=20"), input: "Write", background: true };
    const created = await openai.responses.create(slow);
    expect(created).toMatchObject({ status: "queued", background: true, output: [] });
    const follower = await openai.responses.retrieve(created.id, { stream: true });
    const seen: string[] = [];
    for await (const event of follower) {
      seen.push(event.type);
      if (
        event.type !== "response.output_text.delta" ||
        seen.filter((type) => type === event.type).length !== 3
      )
        continue;
      expect(await openai.responses.retrieve(created.id)).toMatchObject({ status: "in_progress" });
      const next = { ...slow, input: "More", previous_response_id: created.id };
      await expect(openai.responses.create(next)).rejects.toMatchObject({
        status: 400,
        error: {
          param: "previous_response_id",
          message: `previous_response_id: the response ${created.id} is in_progress, expected a response that has ended`,
        },
      });
      expect(await openai.responses.cancel(created.id)).toMatchObject({ status: "cancelled" });
    }
    expect(seen.slice(0, 3)).toEqual(["response.created", "response.queued", "response.in_progress"]);
    expect(seen.at(-1)).toBe("response.incomplete");
    expect(await simulator.waitForClose()).toMatchObject({ aborted: true });
  });

  it("says that an answer was cut, and which item", async () => {
    const { openai } = await startApi(servers);
    const response = await openai.responses.create({
      model: model("sim-long:tokens=50,stop=length"),
      input: "Write",
      max_output_tokens: 20,
    });
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      output: [{ type: "message", status: "incomplete" }],
    });
  });

  it("returns a provider's failure with its status", async () => {
    const { openai } = await startApi(servers);
    const limited = { model: model("sim-text:status=429,retry_after_ms=20"), input: "Hello" };
    const failure = { status: 429, code: "rate_limit_exceeded" };
    await expect(openai.responses.create(limited)).rejects.toMatchObject(failure);
    await expect(openai.responses.create({ ...limited, stream: true })).rejects.toMatchObject(failure);
  });

  it("never lets a stream that was cut look finished", async () => {
    const api = await startApi(servers);
    const body = await streamed(api, {
      model: model("sim-long:tokens=80,rate=2000,cut_events=12"),
      input: "Go",
    });
    const events = eventsIn(body);
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
    const { response } = events.at(-1) as unknown as { response: { id: string; status: string } };
    expect(response.status).toBe("failed");
    const logged = expect.objectContaining({ rpc: "POST /v1/responses", code: "UNAVAILABLE" });
    await expect.poll(() => api.server.log).toContainEqual(logged);
    expect(await (await api.fetch(`/v1/responses/${response.id}`)).json()).toEqual(response);
  });

  it.each([
    ["a stream", true],
    ["a whole answer", false],
  ])("closes the provider's connection when the caller of %s leaves", async (_what, stream) => {
    const { fetch, simulator } = await startApi(servers);
    const leaving = new AbortController();
    const left = fetch("/v1/responses", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: model("sim-long:tokens=100000,rate=50"), input: "Go", stream }),
      signal: leaving.signal,
    }).then((response) => response.text());
    left.catch(() => undefined);
    await simulator.waitForRequest();
    leaving.abort();
    expect(await simulator.waitForClose()).toMatchObject({ aborted: true });
    await expect(left).rejects.toThrow();
  });
});

it("The API is the same over HTTP/2.", async () => {
  const api = await startApi(servers);
  const session = connect(api.server.url);
  servers.onEnd(() => session.close());
  const headers = { ":method": "POST", ":path": "/v1/responses", "content-type": "application/json" };
  const request = session.request(headers);
  request.end(JSON.stringify({ model: "openai/sim-text", input: "Hello", stream: true }));
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const { id } = expectWholeStream(eventsIn(body));
  expect(await (await api.fetch(`/v1/responses/${id}?stream=true`)).text()).toBe(body);
});

/** The SDK adds these to what it reads. */
function withoutHelpers(response: object): object {
  return Object.fromEntries(Object.entries(response).filter(([name]) => !name.startsWith("_")));
}

/** `fetch` sends no body with a GET. */
function getWithBody(url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = request(url, { headers }, (response) => text(response).then(resolve, reject));
    sent.on("error", reject);
    sent.end(body);
  });
}
