/** Requests and answers that go through unchanged, since the provider speaks the API of the caller. */
import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import {
  AnthropicAdapter,
  createCache,
  createFallback,
  createRetry,
  type Middleware,
  OpenAIAdapter,
  OpenAIChatAdapter,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { encodeReasoning } from "../../../src/endpoints/responses/provider-state.ts";
import { createPart } from "../../../src/endpoints/responses/read-content.ts";
import { ProviderStateSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { type ApiServer, type ApiServerOptions, startApi } from "../support/api-server.ts";
import { startWireServer, type WireAnswer, type WireServer } from "../support/wire-server.ts";

const KEY = "sk-test-0123456789/abcdef";

const servers = useTestServers();

const JSON_TYPE = { "content-type": "application/json" };
const EVENT_TYPE = { "content-type": "text/event-stream" };

type Body = Readonly<Record<string, unknown>>;

/** An API that is also a wire API. */
interface RelayedApi {
  readonly path: string;
  /** Folder of its recordings. */
  readonly folder: string;
  readonly body: Body & { readonly model: string };
  /** Settings with which a stream has all events. */
  readonly streamed: Body;
  /** The same model of another account. */
  readonly other: string;
  /** A whole answer, with fields that nobody knows. */
  readonly whole: string;
  /** A stream, with fields and events that nobody knows. */
  readonly stream: readonly string[];
  /** The failure of a stream, as the provider writes it. */
  readonly failure: string;
  /** A text that every error event has. */
  readonly errorEvent: string;
}

const messages = [{ role: "user", content: "Hi" }];

const MESSAGES: RelayedApi = {
  path: "/v1/messages",
  folder: "anthropic-messages",
  body: { model: "anthropic/claude-x", max_tokens: 100, messages },
  streamed: {},
  other: "second/claude-x",
  whole:
    '{ "id":"msg_1", "type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"Gr\\u00fc\\u00dfe","tint":1.0}],"stop_reason":"end_turn","mood":[1e2],"usage":{"input_tokens":3,"output_tokens":7}}\n',
  stream: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"usage":{"input_tokens":3,"output_tokens":1},"mood":[1.0]}}\n\n',
    'event: ping\ndata: {"type": "ping"}\n\n',
    'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße 👋"}}\n\n',
    'event: hologram\ndata: {"type":"hologram","shape":{"edges":12}}\n\n',
    'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n',
    'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}\n\n',
    'event: message_stop\ndata: {"type":"message_stop"}\n\n',
  ],
  failure:
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"mood":1}\n\n',
  errorEvent: '"type":"api_error"',
};

const CHUNK = '"id":"c1","object":"chat.completion.chunk","model":"m"';

const CHAT: RelayedApi = {
  path: "/v1/chat/completions",
  folder: "openai-chat",
  body: { model: "compatible/m", max_tokens: 100, messages },
  streamed: { stream_options: { include_usage: true } },
  other: "other/m",
  whole:
    '{"id":"c1", "object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Gr\\u00fc\\u00dfe","tint":1.0},"finish_reason":"stop"}],"mood":[1e2],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}}\n',
  stream: [
    `data: {${CHUNK},"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"mood":1e2}\r\n\r\n`,
    ": still here\n\n",
    `data: {${CHUNK},"choices":[{"index":0,"delta":{"content":"Grüße 👋"}}]}\n\n`,
    'event: hologram\ndata: {"id":"c1","object":"hologram","choices":[]}\n\n',
    `data: {${CHUNK},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n`,
    `data: {${CHUNK},"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10}}\n\n`,
    "data: [DONE]\n\n",
  ],
  failure: 'data: {"error":{"message":"Overloaded","type":"server_error","code":503,"mood":1}}\n\n',
  errorEvent: 'data: {"error":',
};

const APIS = [MESSAGES, CHAT];

/** The sidecar, with several accounts at one server. */
async function start({ url }: WireServer, options: ApiServerOptions = {}): Promise<ApiServer> {
  const account = { apiKey: KEY, baseUrl: url };
  const compatible = { apiKey: KEY, baseUrl: `${url}/v1` };
  const adapters = [
    new AnthropicAdapter(account),
    new AnthropicAdapter({ ...account, name: "second", defaultHeaders: { "anthropic-beta": "ours-1" } }),
    new OpenAIAdapter(compatible),
    new OpenAIChatAdapter(compatible),
    new OpenAIChatAdapter({ ...compatible, name: "other" }),
    new OpenAIChatAdapter({
      ...compatible,
      name: "wide",
      profile: { maxTokensField: "max_completion_tokens" },
    }),
    new OpenAIChatAdapter({ ...compatible, name: "storing", profile: { supportsStore: true } }),
  ];
  return startApi(servers, { adapters, ...options });
}

async function post({ fetch }: ApiServer, path: string, body: Body | string, headers = {}) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(path, { method: "POST", headers: { ...JSON_TYPE, ...headers }, body: text });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, bytes, text: bytes.toString() };
}

function getRequest({ file }: Recording): Body | undefined {
  const name = file.replace(/\.(sse|json)$/, ".request.json");
  try {
    return JSON.parse(readFileSync(new URL(`../../recordings/${name}`, import.meta.url), "utf8"));
  } catch {
    return undefined;
  }
}

/** The model that takes a recorded request: the limit has two names. */
function getModel({ body }: RelayedApi, request: Body | undefined): string {
  return request?.max_completion_tokens === undefined ? body.model : "wide/m";
}

function getBody(provider: WireServer, index = -1): Body {
  return JSON.parse(provider.requests.at(index)?.text ?? "{}");
}

function toStream(body: readonly (string | Uint8Array)[], isCut = false): WireAnswer {
  return { body, headers: EVENT_TYPE, isCut };
}

/** The recordings whose answers are errors to every caller, who gets the error alone. */
const NOT_RELAYED: readonly string[] = [
  // The provider refuses the key of the sidecar.
  "anthropic-messages/error-identity-auth-rejection-carries-identity.json",
  "openai-chat/llamacpp-error-missing-api-key-is-401.json",
  // The stream fails before it begins, so that the caller gets a status.
  "anthropic-messages/overloaded-error-first-event.sse",
  "openai-chat/groq-error-mid-stream.sse",
  // The stream breaks the protocol.
  "anthropic-messages/spliced-message-start.sse",
  "openai-chat/unparsable-chunk.sse",
];

describe.each(APIS)("A call of $path to a provider with that API", (api) => {
  const { path, folder, body, streamed, other, whole, stream, failure, errorEvent } = api;

  it.each([".json", ".sse"] as const)(
    "goes through unchanged, for every recording: %s",
    async (ending) => {
      const provider = await startWireServer(servers);
      const sidecar = await start(provider);
      for (const recording of getRecordings(folder, ending)) {
        const { file, status } = recording;
        const bytes = toBytes(recording);
        const settings = ending === ".sse" ? { stream: true, ...streamed } : { stream: false };
        const request = getRequest(recording);
        const sent = { ...(request ?? body), ...settings, model: getModel(api, request) };
        provider.answers = [
          ending === ".sse" ? toStream([bytes]) : { status, body: [bytes], headers: JSON_TYPE },
        ];
        const answer = await post(sidecar, path, sent);
        const [, model] = sent.model.split("/");
        expect(getBody(provider), file).toEqual({ ...sent, model });
        const isSame = answer.status === status && answer.bytes.equals(bytes);
        expect(isSame ? "relayed" : file).toBe(NOT_RELAYED.includes(file) ? file : "relayed");
        if (!isSame) expect(answer.text).toContain('"error":{');
      }
    },
    60_000,
  );

  it("passes fields and events that nobody knows yet, as they are spelled", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const odd = `{ "mood" : [1.0, 12345678901234567890], "model":${JSON.stringify(body.model)}, "max_tokens": 10, "messages":[{"role":"user","content":"Hi","tint":1E2}] }`;
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    const answer = await post(sidecar, path, odd);
    expect(answer.text).toBe(whole);
    expect(provider.requests[0]?.text).toContain('"mood":[1.0, 12345678901234567890]');
    expect(provider.requests[0]?.text).toContain('"tint":1E2');
    expect(answer.headers.get("outrigger-warnings")).toBeNull();
    provider.answers = [toStream(stream)];
    expect((await post(sidecar, path, { ...body, ...streamed, stream: true })).text).toBe(stream.join(""));
    // Every byte is a separate read.
    const pieces = stream
      .slice(0, 3)
      .flatMap((event) => [...Buffer.from(event)].map((byte) => Buffer.of(byte)));
    provider.answers = [toStream([...pieces, stream.slice(3).join("")])];
    expect((await post(sidecar, path, { ...body, ...streamed, stream: true })).text).toBe(stream.join(""));
  });

  it("lets the provider decide what it accepts, and translates nothing of that for another one", async () => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: "openai", model: "gpt-x" }], on: ["SERVER"] });
    const sidecar = await start(provider, { middleware: [fallback] });
    const strange = {
      ...body,
      temperature: -5,
      tool_choice: { type: "perhaps" },
      messages: [{ role: "oracle" }],
    };
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    expect((await post(sidecar, path, strange)).text).toBe(whole);
    expect(getBody(provider)).toMatchObject({ temperature: -5, messages: [{ role: "oracle" }] });
    provider.answers = [{ status: 500, body: ["{}"], headers: JSON_TYPE }];
    const answer = await post(sidecar, path, strange);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("messages[0].role")]);
  });

  it("refuses a second name of a model", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const answer = await post(sidecar, path, { ...body, Model: "costly" });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("Model")]);
    expect(provider.requests).toEqual([]);
  });

  it.each([
    ["between events", (events: readonly string[]) => events.slice(0, 4)],
    [
      "within an event",
      (events: readonly string[]) => [...events.slice(0, 3), (events[3] ?? "").slice(0, 20)],
    ],
  ])("ends with an error event if the stream is cut %s", async (_, cut) => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    for (const isCut of [true, false]) {
      provider.answers = [toStream(cut(stream), isCut)];
      const { text } = await post(sidecar, path, { ...body, ...streamed, stream: true });
      const whole = cut(stream)
        .filter((event) => /\n\r?\n$/.test(event))
        .join("");
      expect(text.startsWith(whole)).toBe(true);
      expect(text.slice(whole.length)).toContain(errorEvent);
      expect(text.slice(whole.length).split("\n\n")).toHaveLength(2);
    }
  });

  it("passes the provider's report of a failure, and adds none", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const failed = [...stream.slice(0, 4), failure];
    for (const pieces of [failed, [failed.join("")]]) {
      provider.answers = [toStream([...pieces, "data: late\n\n"])];
      const { text } = await post(sidecar, path, { ...body, ...streamed, stream: true });
      expect(text).toBe(failed.join(""));
    }
    expect(sidecar.server.log.at(-1)).toMatchObject({ error_kind: "SERVER" });
  });

  it("passes the answer of another account, and nothing of the one that failed", async () => {
    const provider = await startWireServer(servers);
    const [target = "", model] = other.split("/");
    const fallback = createFallback({ targets: [{ provider: target, model }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    const first = stream.slice(0, 2).join("");
    for (const failed of [toStream([first + failure]), { status: 503, body: ["{}"], headers: JSON_TYPE }]) {
      provider.answers = [failed, toStream(stream)];
      const { text } = await post(sidecar, path, { ...body, ...streamed, stream: true });
      expect(text).toBe(stream.join(""));
    }
    expect(getBody(provider)).toEqual({ ...body, ...streamed, stream: true, model });
  });

  it("is translated if a fallback has another API", async () => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: "openai", model: "gpt-x" }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    const response = {
      id: "r",
      object: "response",
      status: "completed",
      model: "gpt-x",
      output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }],
    };
    provider.answers = [
      { status: 503, body: ['{"error":{"message":"no"}}'], headers: JSON_TYPE },
      { body: [JSON.stringify(response)], headers: JSON_TYPE },
    ];
    const answer = await post(sidecar, path, { ...body, mood: 1 });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("Hello");
    expect(answer.text).not.toContain("output_text");
    expect(getBody(provider)).not.toHaveProperty("mood");
    expect(getBody(provider)).toHaveProperty("input");
  });

  it("is translated if middleware changes more than the model", async () => {
    const provider = await startWireServer(servers);
    const routes: Middleware = (request, next) => next({ ...request, model: "routed" });
    const rules: Middleware = (request, next) => {
      request.messages[0]?.content.pop();
      request.messages[0]?.content.push({
        ...request.messages[0].content[0],
        part: { case: "text", value: "Bye" },
      } as never);
      return next(request);
    };
    for (const [middleware, isChanged] of [
      [routes, false],
      [rules, true],
    ] as const) {
      const sidecar = await start(provider, { middleware: [middleware] });
      provider.answers = [{ body: [whole], headers: JSON_TYPE }];
      const { text } = await post(sidecar, path, body);
      expect(text === whole).toBe(!isChanged);
      expect(JSON.stringify(getBody(provider))).toContain(isChanged ? "Bye" : '"routed"');
    }
  });

  it("is translated if it returns state of another provider, in the form that only the sidecar understands", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    const state = create(ProviderStateSchema, { provider: "openai", model: "x", dataJson: '{"item":{}}' });
    const data = encodeReasoning(
      createPart({ part: { case: "reasoning", value: { text: "Hm" } }, providerState: state }),
    );
    const content = [
      { type: "thinking", thinking: "Hm", signature: data },
      { type: "text", text: "Ho" },
    ];
    const answer =
      path === MESSAGES.path
        ? { role: "assistant", content }
        : { role: "assistant", content: "Ho", reasoning_details: [{ type: "reasoning.encrypted", data }] };
    const { status } = await post(sidecar, path, { ...body, messages: [...messages, answer, ...messages] });
    expect(status).toBe(200);
    expect(provider.requests[0]?.text).toContain("Ho");
    expect(provider.requests[0]?.text).not.toContain(data);
  });

  it("passes failed answers with their status, and without the key", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider, { middleware: [createRetry({ maxRetries: 0 })] });
    const escaped = KEY.replace("/", "\\/");
    const failed = (key: string) =>
      `{"type":"error","error":{"type":"odd","message":"not with ${key}","mood":1}}`;
    provider.answers = [{ status: 429, body: [failed(KEY)], headers: { ...JSON_TYPE, "retry-after": "7" } }];
    const answer = await post(sidecar, path, body);
    expect([answer.status, answer.text]).toEqual([429, failed("(key)")]);
    expect(answer.headers.get("retry-after")).toBe("7");
    provider.answers = [
      toStream([...stream.slice(0, 4), `event: odd\ndata: {"a":"${escaped}"}\n\n`, ...stream.slice(4)]),
    ];
    const streamedAnswer = await post(sidecar, path, { ...body, ...streamed, stream: true });
    expect(streamedAnswer.text).toContain('{"a":"(key)"}');
    provider.answers = [{ status: 401, body: [failed(KEY)], headers: JSON_TYPE }];
    const refused = await post(sidecar, path, body);
    expect([refused.status, refused.text]).toEqual([401, expect.stringContaining("not with (key)")]);
    expect(refused.text).not.toContain("mood");
  });

  it("is counted like every other call", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [toStream(stream)];
    await post(sidecar, path, { ...body, stream: true });
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    await post(sidecar, path, body);
    const calls = sidecar.server.log.filter(({ input_tokens }) => input_tokens !== undefined);
    expect(calls).toMatchObject([
      { input_tokens: 3, output_tokens: 7 },
      { input_tokens: 3, output_tokens: 7 },
    ]);
  });

  it("is cached by its whole body", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider, { middleware: [createCache()] });
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    for (const mood of [1, 2, 2])
      await post(sidecar, path, { ...body, messages: [{ ...messages[0], mood }] });
    expect(provider.requests).toHaveLength(2);
  });
});

describe("Headers", () => {
  it("of Anthropic's API pass by a list", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const limits = { "anthropic-ratelimit-requests-remaining": "7", "request-id": "req_1" };
    const others = { "anthropic-organization-id": "org", "set-cookie": "a=b" };
    provider.answers = [{ body: [MESSAGES.whole], headers: { ...JSON_TYPE, ...limits, ...others } }];
    const { headers } = await post(
      sidecar,
      MESSAGES.path,
      { ...MESSAGES.body, model: "second/claude-x" },
      {
        "anthropic-version": "2027-01-01",
        "anthropic-beta": "a-1, ours-1",
        "x-api-key": "of the caller",
        "x-other": "1",
      },
    );
    expect(Object.fromEntries(headers)).toMatchObject(limits);
    for (const name of Object.keys(others)) expect(headers.get(name)).toBeNull();
    const got = provider.requests[0]?.headers;
    expect(got).toMatchObject({
      "anthropic-version": "2027-01-01",
      "anthropic-beta": "ours-1,a-1",
      "x-api-key": KEY,
    });
    expect(got).not.toHaveProperty("x-other");
  });

  it("of OpenAI's API pass by a list", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const facts = { "x-ratelimit-remaining-requests": "7", "openai-processing-ms": "12" };
    const others = { "openai-organization": "org" };
    provider.answers = [toStream(CHAT.stream)].map((answer) => ({
      ...answer,
      headers: { ...EVENT_TYPE, ...facts, ...others },
    }));
    const { headers } = await post(
      sidecar,
      CHAT.path,
      { ...CHAT.body, stream: true },
      {
        "idempotency-key": "i-1",
        "openai-organization": "of the caller",
        authorization: "Bearer of the caller",
      },
    );
    expect(Object.fromEntries(headers)).toMatchObject(facts);
    expect(headers.get("openai-organization")).toBeNull();
    const got = provider.requests[0]?.headers;
    expect(got).toMatchObject({ "idempotency-key": "i-1", authorization: `Bearer ${KEY}` });
    expect(got).not.toHaveProperty("openai-organization");
  });
});

describe("A chat completion", () => {
  it("asks for the usage, and keeps the chunk with it from a caller who did not", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [toStream([CHAT.stream.join("")])];
    const { text } = await post(sidecar, CHAT.path, {
      ...CHAT.body,
      stream: true,
      stream_options: { odd: 1 },
    });
    expect(getBody(provider).stream_options).toEqual({ odd: 1, include_usage: true });
    expect(text).toBe(CHAT.stream.filter((event) => !event.includes("usage")).join(""));
  });

  it("is not stored unless its caller asks for that", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [{ body: [CHAT.whole], headers: JSON_TYPE }];
    await post(sidecar, CHAT.path, { ...CHAT.body, model: "storing/m" });
    await post(sidecar, CHAT.path, { ...CHAT.body, model: "storing/m", store: true });
    expect([getBody(provider, 0).store, getBody(provider, 1).store]).toEqual([false, true]);
  });

  it("may ask for several answers if they can be relayed", async () => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: "openai", model: "gpt-x" }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    provider.answers = [{ body: [CHAT.whole], headers: JSON_TYPE }];
    expect((await post(sidecar, CHAT.path, { ...CHAT.body, n: 2 })).text).toBe(CHAT.whole);
    expect(getBody(provider).n).toBe(2);
    provider.answers = [{ status: 503, body: ["{}"], headers: JSON_TYPE }];
    const answer = await post(sidecar, CHAT.path, { ...CHAT.body, n: 2 });
    expect([answer.status, JSON.parse(answer.text).error.param]).toEqual([400, "n"]);
  });

  it.each([
    [
      "a role",
      { messages: [{ role: "developer", content: "Be brief." }, ...messages] },
      { messages: [{ role: "system" }, {}] },
    ],
    ["a limit", { max_tokens: undefined, max_completion_tokens: 9 }, { max_tokens: 9 }],
    ["a setting", { store: true, metadata: { a: "b" } }, {}],
  ])("is translated if the server is known to refuse %s", async (_, change, expected) => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [{ body: [CHAT.whole], headers: JSON_TYPE }];
    const { status, text } = await post(sidecar, CHAT.path, { ...CHAT.body, ...change });
    expect([status, text === CHAT.whole]).toEqual([200, false]);
    expect(getBody(provider)).toMatchObject(expected);
  });
});
