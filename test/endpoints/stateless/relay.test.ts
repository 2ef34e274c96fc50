/** Requests and answers that go through unchanged, since the provider speaks the API of the caller. */
import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import {
  AnthropicAdapter,
  createAliasRouting,
  createCache,
  createFallback,
  createHedge,
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
  /** The field with the conversation. */
  readonly input: "messages" | "input";
  /** The failure of its first message, if its role is unknown. */
  readonly wrongRole: string;
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
  /** A model of a provider with another API, and its answer. */
  readonly foreign: { readonly provider: string; readonly answer: object; readonly input: string };
}

const messages = [{ role: "user", content: "Hi" }];

const OPENAI = {
  provider: "openai",
  answer: {
    id: "r",
    object: "response",
    status: "completed",
    model: "gpt-x",
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }],
  },
  input: "input",
};

const MESSAGES: RelayedApi = {
  path: "/v1/messages",
  folder: "anthropic-messages",
  body: { model: "anthropic/claude-x", max_tokens: 100, messages },
  input: "messages",
  wrongRole: "messages[0].role",
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
  foreign: OPENAI,
};

const CHUNK = '"id":"c1","object":"chat.completion.chunk","model":"m"';

const CHAT: RelayedApi = {
  path: "/v1/chat/completions",
  folder: "openai-chat",
  body: { model: "compatible/m", max_tokens: 100, messages },
  input: "messages",
  wrongRole: "messages[0].role",
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
  foreign: OPENAI,
};

const ITEM = '"id":"msg_1","type":"message","role":"assistant"';
const RESPONSE = '"id":"resp_1","object":"response","model":"m","mood":[1.0]';

const RESPONSES: RelayedApi = {
  path: "/v1/responses",
  folder: "openai-responses",
  body: { model: "openai/gpt-4.1", max_output_tokens: 100, store: false, input: messages },
  input: "input",
  wrongRole: "input[0].role",
  streamed: {},
  other: "azure/gpt-4.1",
  whole: `{ ${RESPONSE},"status":"completed","output":[{${ITEM},"status":"completed","content":[{"type":"output_text","text":"Gr\\u00fc\\u00dfe","tint":1.0}]}],"usage":{"input_tokens":3,"output_tokens":7,"total_tokens":10}}\n`,
  stream: [
    `event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{${RESPONSE},"status":"in_progress","output":[]}}\n\n`,
    `event: response.in_progress\ndata: {"type":"response.in_progress","sequence_number":1}\n\n`,
    `event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{${ITEM},"status":"in_progress","content":[]}}\n\n`,
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Grüße 👋"}\n\n',
    'event: hologram\ndata: {"type":"hologram","shape":{"edges":12}}\n\n',
    `event: response.output_item.done\ndata: {"type":"response.output_item.done","sequence_number":5,"output_index":0,"item":{${ITEM},"status":"completed","content":[{"type":"output_text","text":"Grüße 👋"}]}}\n\n`,
    `event: response.completed\ndata: {"type":"response.completed","sequence_number":6,"response":{${RESPONSE},"status":"completed","output":[{${ITEM},"status":"completed","content":[{"type":"output_text","text":"Grüße 👋"}]}],"usage":{"input_tokens":3,"output_tokens":7,"total_tokens":10}}}\n\n`,
  ],
  failure:
    'event: error\ndata: {"type":"error","sequence_number":4,"error":{"type":"server_error","code":"server_error","message":"Overloaded","param":null},"mood":1}\n\n',
  errorEvent: 'event: error\ndata: {"type":"error",',
  foreign: {
    provider: "compatible",
    answer: {
      id: "c",
      object: "chat.completion",
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
    },
    input: "messages",
  },
};

const APIS = [MESSAGES, CHAT, RESPONSES];

/** The sidecar, with several accounts at one server. */
async function start({ url }: WireServer, options: ApiServerOptions = {}): Promise<ApiServer> {
  const account = { apiKey: KEY, baseUrl: url };
  const compatible = { apiKey: KEY, baseUrl: `${url}/v1` };
  const adapters = [
    new AnthropicAdapter(account),
    new AnthropicAdapter({ ...account, name: "second", defaultHeaders: { "anthropic-beta": "ours-1" } }),
    new OpenAIAdapter(compatible),
    new OpenAIAdapter({ ...compatible, name: "azure" }),
    new OpenAIAdapter({ ...compatible, name: "keeping", store: true }),
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
    const text = readFileSync(new URL(`../../recordings/${name}`, import.meta.url), "utf8");
    // Nobody could find reasoning without its content.
    return /"type": "reasoning"/.test(text) && !text.includes("encrypted_content")
      ? undefined
      : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The members of a recorded request that the sidecar must know: the limit of Chat Completions has two names. */
function getFixed({ body, path }: RelayedApi, request: Body | undefined) {
  const model = request?.max_completion_tokens === undefined ? body.model : "wide/m";
  // A response that is stored, or continues a stored one, is made by the sidecar.
  return path === RESPONSES.path ? { model, store: false, previous_response_id: undefined } : { model };
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
  "openai-responses/chatgpt-http-errors-nonstreaming-unauthorized-preserves-status-and-body.json",
  "openai-responses/error-identity-auth-rejection-carries-identity.json",
  // The stream fails before it begins, so that the caller gets a status.
  "anthropic-messages/overloaded-error-first-event.sse",
  "openai-chat/groq-error-mid-stream.sse",
  "openai-responses/error.1.sse",
  "openai-responses/stream-rate-limited-1.sse",
  "openai-responses/stream-unknown-error-responses-1.sse",
  // The stream breaks the protocol.
  "anthropic-messages/spliced-message-start.sse",
  "openai-chat/unparsable-chunk.sse",
];

describe.each(APIS)("A call of $path to a provider with that API", (api) => {
  const {
    path,
    folder,
    body,
    input,
    wrongRole,
    streamed,
    other,
    whole,
    stream,
    failure,
    errorEvent,
    foreign,
  } = api;

  it.each([".json", ".sse"] as const)(
    "goes through unchanged, for every recording: %s",
    async (ending) => {
      const provider = await startWireServer(servers);
      const sidecar = await start(provider);
      const odd: string[] = [];
      for (const recording of getRecordings(folder, ending)) {
        const { file, status } = recording;
        const bytes = toBytes(recording);
        const settings = ending === ".sse" ? { stream: true, ...streamed } : { stream: false };
        const request = getRequest(recording);
        const sent = { ...(request ?? body), ...settings, ...getFixed(api, request) };
        provider.answers = [
          ending === ".sse" ? toStream([bytes]) : { status, body: [bytes], headers: JSON_TYPE },
        ];
        const answer = await post(sidecar, path, sent);
        const [, model] = sent.model.split("/");
        expect(getBody(provider), file).toEqual({ ...sent, model });
        const isSame = answer.status === status && answer.bytes.equals(bytes);
        if (isSame) continue;
        odd.push(file);
        expect(answer.text).toContain('"error":{');
      }
      const expected = NOT_RELAYED.filter((file) => file.startsWith(`${folder}/`) && file.endsWith(ending));
      expect(odd.toSorted()).toEqual(expected.toSorted());
    },
    60_000,
  );

  it("passes fields and events that nobody knows yet, as they are spelled", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const storage = body.store === undefined ? "" : `"store": ${body.store}, `;
    const odd = `{ "mood" : [1.0, 12345678901234567890], "model":${JSON.stringify(body.model)}, ${storage}"max_tokens": 10, ${JSON.stringify(input)}:[{"role":"user","content":"Hi","tint":1E2}] }`;
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
    const targets = [{ provider: foreign.provider, model: "x" }];
    const fallback = createFallback({ targets, on: ["SERVER"] });
    const sidecar = await start(provider, { middleware: [fallback] });
    const strange = {
      ...body,
      temperature: -5,
      tool_choice: { type: "perhaps" },
      [input]: [{ role: "oracle" }],
    };
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    expect((await post(sidecar, path, strange)).text).toBe(whole);
    expect(getBody(provider)).toMatchObject({ temperature: -5, [input]: [{ role: "oracle" }] });
    provider.answers = [{ status: 500, body: ["{}"], headers: JSON_TYPE }];
    const answer = await post(sidecar, path, strange);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(wrongRole)]);
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

  it.each([
    ["an event", "data: late\n\n"],
    ["an incomplete event", 'data: {"late'],
    ["events with other line ends", ": ping\r\n\r\nevent: late\r\ndata: late\r\n\r\ndata: l"],
  ])("ends with the last event of the stream, although %s follows", async (_, late) => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const whole = stream.join("");
    const end = whole.length - 10;
    for (const pieces of [[whole + late], [whole.slice(0, end), whole.slice(end) + late]]) {
      provider.answers = [toStream(pieces)];
      const { text } = await post(sidecar, path, { ...body, ...streamed, stream: true });
      expect(text).toBe(whole);
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

  it("passes the events that came together with one that cannot be read, and ends with an error event", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const whole = stream.slice(0, 4).join("");
    provider.answers = [toStream([`${whole}data: {unreadable\n\n`])];
    const { text } = await post(sidecar, path, { ...body, ...streamed, stream: true });
    expect(text.startsWith(whole)).toBe(true);
    expect(text.slice(whole.length)).toContain(errorEvent);
    expect(text.slice(whole.length).split("\n\n")).toHaveLength(2);
  });

  it("gets a stream if the provider sends a whole answer as one", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [{ headers: EVENT_TYPE, body: [whole] }];
    const { text } = await post(sidecar, path, { ...body, ...streamed, stream: true });
    expect(text).toMatch(/^(?:event|data): /);
    expect(text).toContain("Grüße");
    expect(text).not.toContain(errorEvent);
  });

  it("gets a whole answer if the provider sends a stream as one", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [toStream(stream)];
    const { status, headers, text } = await post(sidecar, path, body);
    expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(JSON.parse(text)).toMatchObject({ model: expect.anything() });
    expect(text).toContain("Grüße 👋");
  });

  it("passes the answer of another account, and nothing from the failed one", async () => {
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

  it("passes the answer of whichever target of an alias speaks the API, and translates for the others", async () => {
    const provider = await startWireServer(servers);
    const targets = [{ model: body.model }, { provider: foreign.provider, model: "x" }];
    const modelAliases = { fast: { targets } };
    const sidecar = await start(provider, { modelAliases, middleware: [createAliasRouting(modelAliases)] });
    provider.answers = [
      { body: [whole], headers: JSON_TYPE },
      { body: [JSON.stringify(foreign.answer)], headers: JSON_TYPE },
    ];
    const sent = { ...body, model: "fast", mood: 1 };
    expect((await post(sidecar, path, sent)).text).toBe(whole);
    expect(getBody(provider)).toEqual({ ...sent, model: body.model.split("/")[1] });
    expect((await post(sidecar, path, sent)).text).toContain("Hello");
    expect(getBody(provider)).toHaveProperty(foreign.input);
    const listed: unknown = await (await sidecar.fetch("/v1/models/fast")).json();
    expect(listed).toMatchObject({ id: "fast" });
  });

  it("passes the answer of a hedged request that is sooner, and nothing of the other one", async () => {
    const provider = await startWireServer(servers);
    const [target = "", model] = other.split("/");
    const fallback = createFallback({ targets: [{ provider: target, model }] });
    const sidecar = await start(provider, {
      middleware: [fallback, createHedge({ after: 0.05, budget: 1 })],
    });
    provider.answers = [{ ...toStream(stream.slice(0, 2)), isHeld: true }, toStream(stream)];
    const { text } = await post(sidecar, path, { ...body, ...streamed, stream: true });
    expect(text).toBe(stream.join(""));
    provider.answers = [
      { body: [whole.slice(0, 9)], headers: JSON_TYPE, isHeld: true },
      { body: [whole], headers: JSON_TYPE },
    ];
    expect((await post(sidecar, path, body)).text).toBe(whole);
    expect(getBody(provider)).toEqual({ ...body, model });
    expect(provider.requests).toHaveLength(4);
  });

  it("is translated if a fallback has another API", async () => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: foreign.provider, model: "x" }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    provider.answers = [
      { status: 503, body: ['{"error":{"message":"no"}}'], headers: JSON_TYPE },
      { body: [JSON.stringify(foreign.answer)], headers: JSON_TYPE },
    ];
    const answer = await post(sidecar, path, { ...body, mood: 1 });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("Hello");
    expect(answer.text.includes("output_text")).toBe(path === RESPONSES.path);
    expect(getBody(provider)).not.toHaveProperty("mood");
    expect(getBody(provider)).toHaveProperty(foreign.input);
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
    const answers: Readonly<Record<string, readonly object[]>> = {
      [MESSAGES.path]: [{ role: "assistant", content }],
      [CHAT.path]: [
        { role: "assistant", content: "Ho", reasoning_details: [{ type: "reasoning.encrypted", data }] },
      ],
      [RESPONSES.path]: [
        { type: "reasoning", summary: [], encrypted_content: data },
        { role: "assistant", content: "Ho" },
      ],
    };
    const items = [...messages, ...(answers[path] ?? []), ...messages];
    const { status } = await post(sidecar, path, { ...body, [input]: items });
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
    const reported = sidecar.server.log
      .map(({ error_kind }) => error_kind)
      .filter((kind) => kind !== undefined);
    expect(reported).toEqual(["RATE_LIMIT"]);
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

  it.each([
    ["the page of a proxy", 502, "<html><title>Bad Gateway</title></html>", "text/html"],
    ["a text", 503, "no healthy upstream", "text/plain"],
    ["JSON that was cut", 500, '{"error":{"message":"cut', "application/json"],
    ["a status that is none", 600, '{"error":{"message":"no"}}', "application/json"],
  ])("answers with an error of its own instead of %s", async (_name, status, failed, type) => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider, { middleware: [createRetry({ maxRetries: 0 })] });
    provider.answers = [{ status, body: [failed], headers: { "content-type": type } }];
    const answer = await post(sidecar, path, body);
    expect([502, 503, 529]).toContain(answer.status);
    const message = expect.stringContaining(`answered ${status}`);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { message } });
  });

  it("passes as many headers as clients read", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const names = Array.from(
      { length: 1500 },
      (_, index) => `${folder === "anthropic-messages" ? "anthropic" : "x"}-ratelimit-${index}`,
    );
    const many = Object.fromEntries(names.map((name) => [name, "1"]));
    provider.answers = [{ body: [whole], headers: { ...JSON_TYPE, "retry-after": "7", ...many } }];
    const { status, headers } = await post(sidecar, path, body);
    expect(status).toBe(200);
    const passed = names.filter((name) => headers.has(name)).length;
    expect(passed).toBeGreaterThan(100);
    expect(passed).toBeLessThan(500);
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
    for (const mood of [1, 2, 2]) await post(sidecar, path, { ...body, [input]: [{ ...messages[0], mood }] });
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

  it.each([CHAT, RESPONSES])("of OpenAI's API pass by a list: $path", async ({ path, body, stream }) => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const facts = { "x-ratelimit-remaining-requests": "7", "openai-processing-ms": "12" };
    // Listed headers with values that cannot be sent on.
    const invalid = { "openai-version": "é", "x-codex-long": "x".repeat(4097) };
    const others = { "openai-organization": "org", ...invalid };
    provider.answers = [toStream(stream)].map((answer) => ({
      ...answer,
      headers: { ...EVENT_TYPE, ...facts, ...others },
    }));
    const { headers } = await post(
      sidecar,
      path,
      { ...body, stream: true },
      {
        "idempotency-key": "i-1",
        "openai-organization": "of the caller",
        authorization: "Bearer of the caller",
      },
    );
    expect(Object.fromEntries(headers)).toMatchObject(facts);
    for (const name of Object.keys(others)) expect(headers.get(name)).toBeNull();
    const got = provider.requests[0]?.headers;
    expect(got).toMatchObject({ "idempotency-key": "i-1", authorization: `Bearer ${KEY}` });
    expect(got).not.toHaveProperty("openai-organization");
  });
});

describe("A request that only its provider may accept", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const item = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const block = { type: "tool_use", id: "c", name: "f", input: {} };

  it.each([
    ["messages[1].tool_calls[0]", CHAT, "messages", { role: "assistant", tool_calls: [call] }],
    ["messages[1].content[0]", MESSAGES, "messages", { role: "assistant", content: [block] }],
    ["input[1]", RESPONSES, "input", item],
  ])("names %s of its body if a fallback has another API", async (param, api, list, unanswered) => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: api.foreign.provider, model: "x" }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    provider.answers = [{ status: 503, body: ["{}"], headers: JSON_TYPE }];
    const user = { role: "user", content: "Hi" };
    const { status, text } = await post(sidecar, api.path, { ...api.body, [list]: [user, unanswered, user] });
    expect([status, provider.requests.length]).toEqual([400, 1]);
    expect(text).toContain(`${param}: `);
    expect(text).not.toContain("tool_call:");
  });
});

describe("A message", () => {
  it("is translated if it asks for structured output by the name of the beta", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [{ body: [MESSAGES.whole], headers: JSON_TYPE }];
    const schema = { type: "object", properties: {}, additionalProperties: false };
    const output_format = { type: "json_schema", schema };
    await post(sidecar, MESSAGES.path, { ...MESSAGES.body, output_format });
    expect(getBody(provider)).toMatchObject({ output_config: { format: output_format } });
    expect(getBody(provider)).not.toHaveProperty("output_format");
  });

  const unsupported = { error_code: "thread_unsupported_request", unsupported: ["thread"] };
  const result = { type: "tool_result", tool_use_id: "toolu_earlier", content: "18 degrees" };
  const continuation = {
    thread: { type: "continue", previous_message_id: "msg_1" },
    messages: [{ role: "user", content: [result] }],
  };

  it("continues a conversation that Anthropic keeps there only", async () => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: "openai", model: "gpt-x" }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    const body = { ...MESSAGES.body, ...continuation };
    provider.answers = [{ body: [MESSAGES.whole], headers: JSON_TYPE }];
    expect((await post(sidecar, MESSAGES.path, body)).text).toBe(MESSAGES.whole);
    expect(getBody(provider)).toMatchObject(continuation);
    provider.answers = [{ status: 503, body: ["{}"], headers: JSON_TYPE }];
    const answer = await post(sidecar, MESSAGES.path, body);
    expect([answer.status, JSON.parse(answer.text).error.details]).toEqual([400, unsupported]);
  });

  it("begins a conversation that Anthropic keeps, and may be answered by a fallback", async () => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: "openai", model: "gpt-x" }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    const body = { ...MESSAGES.body, thread: { type: "create" } };
    provider.answers = [
      { status: 503, body: ["{}"], headers: JSON_TYPE },
      { body: [RESPONSES.whole], headers: JSON_TYPE },
    ];
    expect((await post(sidecar, MESSAGES.path, body)).status).toBe(200);
    expect(getBody(provider, 0)).toHaveProperty("thread");
    expect(getBody(provider, 1)).not.toHaveProperty("thread");
  });

  it.each([{ type: "create" }, continuation.thread])(
    "tells the SDK to send the whole conversation if another provider would get %j",
    async (thread) => {
      const provider = await startWireServer(servers);
      const sidecar = await start(provider);
      const body = { ...MESSAGES.body, ...continuation, model: "openai/m", thread };
      const { status, text } = await post(sidecar, MESSAGES.path, body);
      expect([status, provider.requests.length]).toEqual([400, 0]);
      expect(JSON.parse(text).error).toMatchObject({ type: "invalid_request_error", details: unsupported });
    },
  );
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

  it("continues after a chunk whose error has no content", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const chunk = (delta: object, finish_reason: string | null) =>
      `data: ${JSON.stringify({ id: "c", model: "m", error: "", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    const stream = [chunk({ content: "a" }, null), chunk({ content: "b" }, "stop"), "data: [DONE]\n\n"];
    provider.answers = [toStream(stream)];
    const { text } = await post(sidecar, CHAT.path, { ...CHAT.body, stream: true });
    expect(text).toBe(stream.join(""));
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
    const { choices, ...head } = JSON.parse(CHAT.whole);
    const whole = JSON.stringify({ ...head, choices: [choices[0], { ...choices[0], index: 1 }] });
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    const both = await post(sidecar, CHAT.path, { ...CHAT.body, n: 2 });
    // The caller gets both, so that there is nothing to warn of.
    expect([both.text, both.headers.get("outrigger-warnings")]).toEqual([whole, null]);
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

describe("A response", () => {
  const { path, body, whole, stream } = RESPONSES;
  const call = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };
  const result = { type: "function_call_output", call_id: "call_1", output: "done" };
  const reasoning = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA=" };

  async function send(more: Body, answer = whole) {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    provider.answers = [{ body: [answer], headers: JSON_TYPE }];
    const { status, text } = await post(sidecar, path, { ...body, ...more });
    expect(status).toBe(200);
    return { provider, sidecar, text, isRelayed: text === answer, sent: getBody(provider) };
  }

  it("that answers a request for approval is relayed, and no fallback with another API can have it", async () => {
    const provider = await startWireServer(servers);
    const fallback = createFallback({ targets: [{ provider: RESPONSES.foreign.provider, model: "x" }] });
    const sidecar = await start(provider, { middleware: [fallback] });
    const asked = {
      type: "mcp_approval_request",
      id: "mcpr_1",
      server_label: "d",
      name: "f",
      arguments: "{}",
    };
    const approval = { type: "mcp_approval_response", approval_request_id: "mcpr_1", approve: true };
    const input = [{ role: "user", content: "Hi" }, asked, approval];
    provider.answers = [{ body: [whole], headers: JSON_TYPE }];
    const relayed = await post(sidecar, path, { ...body, input });
    expect([relayed.status, relayed.text, getBody(provider).input]).toEqual([200, whole, input]);
    provider.answers = [{ status: 503, body: ["{}"], headers: JSON_TYPE }];
    const failed = await post(sidecar, path, { ...body, input });
    expect([failed.status, JSON.parse(failed.text).error.param]).toEqual([400, "input"]);
    expect(provider.requests).toHaveLength(2);
  });

  it("asks models that reason for their encrypted reasoning, which nobody stores", async () => {
    const model = "openai/gpt-5";
    const include = ["message.output_text.logprobs"];
    expect((await send({ model, include })).sent.include).toEqual([
      ...include,
      "reasoning.encrypted_content",
    ]);
    expect((await send({ include })).sent.include).toEqual(include);
  });

  it.each([
    ["is stored", { store: undefined }],
    ["is kept by the provider", { model: "keeping/gpt-4.1" }],
    [
      "returns items of an earlier response",
      {
        input: [
          { type: "message", id: `msg_${"a".repeat(39)}`, role: "assistant", content: "Ho" },
          ...messages,
        ],
      },
    ],
    [
      "returns reasoning that cannot be found",
      { input: [...messages, { ...reasoning, encrypted_content: undefined }, call, result] },
    ],
    [
      "returns a call with an id that the API does not take",
      { input: [...messages, { ...call, call_id: "c".repeat(65) }, { ...result, call_id: "c".repeat(65) }] },
    ],
  ])("is translated if it %s", async (_, change) => {
    expect((await send(change)).isRelayed).toBe(false);
  });

  it("continues with its items, unchanged, and with another model in a form that it reads", async () => {
    const output = [
      { ...reasoning, status: null },
      { ...call, id: "fc_1", status: "completed" },
    ];
    const input = [...messages, ...output, result];
    const { isRelayed, sent, sidecar, provider } = await send({ input });
    expect([isRelayed, sent.input]).toEqual([true, input]);
    provider.answers = [{ body: [JSON.stringify(RESPONSES.foreign.answer)], headers: JSON_TYPE }];
    const answer = await post(sidecar, path, { ...body, model: "compatible/m", input });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("Hello")]);
    expect(getBody(provider)).toMatchObject({
      messages: [{}, { tool_calls: [{ id: "call_1" }] }, { content: "done" }],
    });
  });

  it("loses only those ids of its items that the API refuses", async () => {
    const message = {
      type: "message",
      id: "5b0c",
      role: "user",
      content: [{ type: "input_text", text: "Hi" }],
    };
    const { isRelayed, sent } = await send({
      input: [message, { ...call, id: "x" }, { ...result, id: "y" }],
    });
    expect([isRelayed, sent.input]).toEqual([
      true,
      [{ ...message, id: undefined }, call, { ...result, id: "y" }],
    ]);
  });

  it("gets reasoning back that its client left out, by a translation", async () => {
    const item = { ...call, id: "fc_1", status: "completed" };
    const answer = `{${RESPONSE},"status":"completed","output":${JSON.stringify([reasoning, item])}}`;
    const { isRelayed, sidecar, provider } = await send({}, answer);
    expect(isRelayed).toBe(true);
    await post(sidecar, path, { ...body, input: [...messages, call, result] });
    expect(JSON.stringify(getBody(provider).input)).toContain("gAAAA=");
  });

  it.each([
    'event: error\ndata: {"type":"error","code":"server_error","message":"Overloaded","param":null,"mood":1}\n\n',
    `event: response.failed\ndata: {"type":"response.failed","response":{${RESPONSE},"status":"failed","error":{"code":"server_error","message":"Overloaded"}}}\n\n`,
  ])("adds an error that the SDKs throw to a report that they do not: %s", async (report) => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const begin = [...stream.slice(0, 4), report];
    provider.answers = [toStream(begin)];
    const { text } = await post(sidecar, path, { ...body, stream: true });
    expect(text.startsWith(begin.join(""))).toBe(true);
    const [event = ""] = text.slice(begin.join("").length).split("\n\n");
    expect(JSON.parse(event.split("data: ")[1] ?? "")).toMatchObject({
      type: "error",
      error: { code: "server_error", message: expect.stringContaining("Overloaded") },
    });
  });

  it("passes comments without delay", async () => {
    const provider = await startWireServer(servers);
    const sidecar = await start(provider);
    const silence = Array.from({ length: 40 }, () => ": wait\n\n");
    provider.answers = [toStream([...stream.slice(0, 2), ...silence, ...stream.slice(2)])];
    const response = await sidecar.fetch(path, {
      method: "POST",
      headers: JSON_TYPE,
      body: JSON.stringify({ ...body, stream: true }),
    });
    const chunks: string[] = [];
    for await (const chunk of response.body ?? []) chunks.push(Buffer.from(chunk).toString());
    expect(chunks.join("")).toBe([...stream.slice(0, 2), ...silence, ...stream.slice(2)].join(""));
    expect(chunks.length).toBeGreaterThan(8);
  });
});
