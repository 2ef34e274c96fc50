/** The routes of responses without an SDK: the answers to unofficial and to faulty clients. */
import { describe, expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { expectValid } from "../schemas/validate.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";
import { eventsIn } from "../support/events-in.ts";

const servers = useTestServers();

const JSON_TYPE = { "content-type": "application/json" };

async function post(
  { fetch }: ApiServer,
  body: object | string,
  headers: Record<string, string> = JSON_TYPE,
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch("/v1/responses", { method: "POST", headers, body: text });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  };
}

describe("POST /v1/responses", () => {
  it.each([
    ["JSON that breaks off", '{"model":', JSON_TYPE, { code: expect.any(String) }],
    ["a list", "[]", JSON_TYPE, { code: "invalid_type" }],
    ["a form", "model=a", { "content-type": "application/x-www-form-urlencoded" }, { code: "invalid_value" }],
    ["a model that is a number", '{"model":1,"input":"a"}', JSON_TYPE, { param: "model" }],
    [
      "a part without its text",
      '{"model":"sim-text","input":[{"role":"user","content":[{"type":"input_text"}]}]}',
      JSON_TYPE,
      { param: "input[0].content[0].text" },
    ],
  ])("refuses %s with 400 and OpenAI's error object", async (_what, body, headers, error) => {
    const api = await startApi(servers);
    const answer = await post(api, body, headers);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({
      error: {
        message: expect.stringMatching(/./),
        type: "invalid_request_error",
        param: null,
        ...(answer.body.error as object),
      },
    });
    expect(answer.body.error).toMatchObject(error);
    expect(answer.headers.get("x-request-id")).not.toBeNull();
  });

  it("takes fields with the names of inherited properties like any unknown field", async () => {
    const api = await startApi(servers);
    for (const name of ["constructor", "__proto__", "toString"])
      for (const model of ["anthropic/sim-text", "openai/sim-text"]) {
        const { status } = await post(api, `{"model":"${model}","input":"hi","${name}":{"a":1}}`);
        // OpenAI gets unknown fields, and refuses them.
        const expected = model === "openai/sim-text" ? 400 : 200;
        expect([name, model, status]).toEqual([name, model, expected]);
      }
  });

  it("refuses a body in an unknown encoding with 415, and names the supported ones", async () => {
    const api = await startApi(servers);
    const headers = { ...JSON_TYPE, "content-encoding": "zstd" };
    expect(await post(api, { model: "openai/sim-text", input: "hi" }, headers)).toMatchObject({
      status: 415,
      body: {
        error: {
          message: 'the header content-encoding is "zstd"; expected gzip, br or identity',
          type: "invalid_request_error",
          code: "unsupported_content_encoding",
        },
      },
    });
  });

  it("names the field of the body if the provider's adapter finds the mistake", async () => {
    const api = await startApi(servers);
    const { status, body } = await post(api, {
      model: "gemini/sim-text",
      input: [
        { role: "user", content: "a" },
        { type: "function_call_output", call_id: "call_unknown", output: "b" },
      ],
    });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param: expect.stringMatching(/^input/) });
  });

  it("reports a missing previous response as OpenAI does", async () => {
    const api = await startApi(servers);
    const previous_response_id = `resp_${"0".repeat(32)}`;
    const { status, body } = await post(api, { model: "sim-text", input: "a", previous_response_id });
    expect([status, body.error]).toEqual([
      400,
      {
        message: `Previous response with id '${previous_response_id}' not found.`,
        type: "invalid_request_error",
        param: "previous_response_id",
        code: "previous_response_not_found",
      },
    ]);
  });

  it.each([
    ["status=401", 401, "provider_key_refused", null],
    ["status=503", 503, "server_error", null],
    ["status=500", 502, "server_error", null],
    ["status=429,code=insufficient_quota", 429, "insufficient_quota", "false"],
  ])("answers a provider's %s with %i", async (fault, status, code, retry) => {
    const api = await startApi(servers);
    const answer = await post(api, {
      model: `openai/sim-text:${fault},retry_after_ms=5`,
      input: "a",
    });
    expect([answer.status, (answer.body.error as { code: string }).code]).toEqual([status, code]);
    expect(answer.headers.get("x-should-retry")).toBe(retry);
  });

  it.each(["openai", "anthropic", "gemini", "compatible"])(
    "reports a model that %s does not know in the same form",
    async (provider) => {
      const api = await startApi(servers);
      const { status, body } = await post(api, { model: `${provider}/sim-text:status=404`, input: "a" });
      expect([status, body.error]).toMatchObject([404, { code: "model_not_found" }]);
    },
  );

  it("forks a conversation that two responses continue", async () => {
    const api = await startApi(servers);
    const model = "anthropic/sim-echo";
    const first = await post(api, { model, input: "One" });
    const previous_response_id = first.body.id;
    const [left, right] = await Promise.all(
      ["Left", "Right"].map((input) => post(api, { model, input, previous_response_id })),
    );
    expect(left?.body).toMatchObject({ output: [{ content: [{ text: "Left" }] }] });
    expect(right?.body).toMatchObject({ output: [{ content: [{ text: "Right" }] }] });
    const bodies = api.simulator.requests.slice(1).map(({ body }) => JSON.stringify(body));
    expect(bodies.filter((body) => body.includes("Left") && body.includes("Right"))).toEqual([]);
  });

  it("keeps a silent stream alive with comments", async () => {
    const api = await startApi(servers, { keepAliveMs: 20 });
    const body = JSON.stringify({ model: "openai/sim-long:tokens=4,rate=10", input: "a", stream: true });
    const response = await api.fetch("/v1/responses", { method: "POST", headers: JSON_TYPE, body });
    const text = await response.text();
    expect(text).toContain("\n\n: keep-alive\n\n");
    expect(eventsIn(text).at(-1)?.type).toBe("response.completed");
  });
});

describe("The paths of responses", () => {
  it("say which methods they have", async () => {
    const { fetch } = await startApi(servers);
    const wrong = await fetch("/v1/responses", { method: "PUT" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
    expect(await wrong.json()).toMatchObject({ error: { code: "method_not_allowed" } });
    const options = await fetch("/v1/responses/resp_1", { method: "OPTIONS" });
    expect([options.status, options.headers.get("allow")]).toEqual([204, "GET, HEAD, DELETE"]);
  });

  it("answer HEAD as GET, without the body", async () => {
    const api = await startApi(servers);
    const { body } = await post(api, { model: "sim-text", input: "a" });
    const head = await api.fetch(`/v1/responses/${body.id}`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await api.fetch("/v1/responses/resp_0", { method: "HEAD" })).status).toBe(404);
  });

  it.each(["resp_0", `resp_${"f".repeat(32)}`, "a%2Fb"])("have no response %s", async (id) => {
    const { fetch } = await startApi(servers);
    for (const [method, path] of [
      ["GET", id],
      ["GET", `${id}?stream=true`],
      ["DELETE", id],
      ["POST", `${id}/cancel`],
      ["GET", `${id}/input_items`],
    ]) {
      const response = await fetch(`/v1/responses/${path}`, { method: method ?? "" });
      expect([method, path, response.status]).toEqual([method, path, 404]);
      expect(await response.json()).toMatchObject({ error: { type: "invalid_request_error" } });
    }
  });

  it("do not cancel a response in the foreground", async () => {
    const api = await startApi(servers);
    const { body } = await post(api, { model: "sim-text", input: "a" });
    const response = await api.fetch(`/v1/responses/${body.id}/cancel`, { method: "POST" });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining("synchronous") },
    });
  });

  it("list the input in pages of any size, in both orders", async () => {
    const api = await startApi(servers);
    const input = ["one", "two", "three", "four", "five"].map((content) => ({ role: "user", content }));
    const { body } = await post(api, { model: "sim-text", input });
    const path = `/v1/responses/${body.id}/input_items`;
    const whole = (await (await api.fetch(`${path}?order=asc`)).json()) as { data: { id: string }[] };
    expectValid("ResponseItemList", whole);
    expect(whole.data).toHaveLength(5);
    for (const [order, expected] of [
      ["asc", whole.data],
      ["desc", whole.data.toReversed()],
    ] as const) {
      const found: { id: string }[] = [];
      for (let after = "", hasMore = true; hasMore; after = `&after=${found.at(-1)?.id}`) {
        const page = (await (await api.fetch(`${path}?order=${order}&limit=2${after}`)).json()) as {
          data: { id: string }[];
          has_more: boolean;
        };
        found.push(...page.data);
        hasMore = page.has_more;
      }
      expect(found).toEqual(expected);
    }
    expect((await api.fetch(`${path}?limit=0`)).status).toBe(400);
    expect((await api.fetch(`${path}?order=up`)).status).toBe(400);
  });

  it("reject a cursor without a stream, and a cursor that is not a number", async () => {
    const api = await startApi(servers);
    const { body } = await post(api, { model: "sim-text", input: "a" });
    for (const [query, param] of [
      ["starting_after=1", "starting_after"],
      ["stream=true&starting_after=x", "starting_after"],
      ["stream=maybe", "stream"],
      ["include_obfuscation=maybe", "include_obfuscation"],
    ]) {
      const answer = await api.fetch(`/v1/responses/${body.id}?${query}`);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { param } });
    }
  });
});
