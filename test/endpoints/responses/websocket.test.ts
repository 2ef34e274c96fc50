/** The WebSocket mode through OpenAI's official SDK, with a simulator of each provider behind it. */

import { create } from "@bufbuild/protobuf";
import type {
  ResponseInput,
  ResponsesClientEvent,
  ResponsesServerEvent,
} from "openai/resources/responses/responses";
import { ResponsesWS } from "openai/resources/responses/ws";
import { describe, expect, it } from "vitest";
import { MemoryAccount } from "../../../src/core/memory-account.ts";
import { RunStatus } from "../../../src/gen/outrigger/v1/run_pb.ts";
import { ListRunsRequestSchema } from "../../../src/gen/outrigger/v1/run_service_pb.ts";
import { columns } from "../../providers/support/columns.ts";
import { useTestServers } from "../../server/support/test-server.ts";
import { type ApiServer, startApi } from "../support/api-server.ts";

const servers = useTestServers();

type Request = Omit<ResponsesClientEvent.ResponseCreate, "type">;

/** A connection of the SDK that collects its events. */
class Connection {
  readonly socket: ResponsesWS;
  readonly #events: ResponsesServerEvent[] = [];
  #wake: (() => void) | undefined;

  constructor({ openai }: ApiServer) {
    this.socket = new ResponsesWS(openai);
    this.socket.on("event", (event) => {
      this.#events.push(event);
      this.#wake?.();
    });
    this.socket.on("error", () => {});
    servers.onEnd(() => this.socket.close());
  }

  /** Sends a request and waits for its last event. */
  create(request: Request): Promise<ResponsesServerEvent[]> {
    return this.sendRaw(JSON.stringify({ type: "response.create", ...request }));
  }

  /** Waits for an event. */
  async waitFor(isWanted: (event: ResponsesServerEvent) => boolean): Promise<ResponsesServerEvent> {
    for (;;) {
      const found = this.#events.find(isWanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Sends a message and waits for the last event of its answer. */
  async sendRaw(text: string): Promise<ResponsesServerEvent[]> {
    this.#events.length = 0;
    this.socket.sendRaw(text);
    const isLast = ({ type }: ResponsesServerEvent) =>
      ["response.completed", "response.incomplete", "response.failed", "error"].includes(type ?? "");
    while (!this.#events.some(isLast)) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return [...this.#events];
  }
}

/** The final response of a stream. */
function createResponse(events: readonly ResponsesServerEvent[]) {
  const last = events.at(-1);
  if (last?.type !== "response.completed")
    throw new Error(`expected a response, found ${JSON.stringify(last)}`);
  return last.response;
}

function textOf(events: readonly ResponsesServerEvent[]): string {
  return createResponse(events)
    .output.flatMap((item) => (item.type === "message" ? item.content : []))
    .map((part) => (part.type === "output_text" ? part.text : ""))
    .join("");
}

describe.each(columns)("With $title behind it, a WebSocket of the API", ({ name }) => {
  const model = `${name}/sim-echo`;

  it("gives the events of a stream over HTTP, for one response after the other", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const http: string[] = [];
    const stream = await api.openai.responses.create({ model, input: "Grüße 👋", stream: true });
    for await (const { type } of stream) http.push(type);
    for (const input of ["Grüße 👋", "again"]) {
      const events = await connection.create({ model, input });
      expect(textOf(events)).toBe(input);
      expect(events.map((event) => ("sequence_number" in event ? event.sequence_number : -1))).toEqual(
        events.map((_, index) => index),
      );
      if (input !== "again") expect(events.map(({ type }) => type)).toEqual(http);
    }
  });

  it("continues a stored response of another connection", async () => {
    const api = await startApi(servers);
    const first = createResponse(await new Connection(api).create({ model, input: "one" }));
    const second = createResponse(
      await new Connection(api).create({ model, input: "two", previous_response_id: first.id }),
    );
    expect(second.previous_response_id).toBe(first.id);
    expect(await api.openai.responses.retrieve(second.id)).toMatchObject({
      id: second.id,
      status: "completed",
    });
  });

  it("continues its latest response if that was not stored, and only on the same connection", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const first = createResponse(await connection.create({ model, input: "one", store: false }));
    const seen = () => JSON.stringify(api.simulator.requests.at(-1)?.body);
    const request = { model, input: "two", store: false, previous_response_id: first.id } satisfies Request;
    const other = await new Connection(api).create(request);
    expect(other).toMatchObject([{ type: "error", status: 400 }]);
    const second = createResponse(await connection.create(request));
    expect(seen()).toMatch(/one.*one.*two/s);
    createResponse(await connection.create({ ...request, input: "three", previous_response_id: second.id }));
    expect(seen()).toMatch(/one.*one.*two.*two.*three/s);
    const stale = await connection.create({ ...request, input: "late" });
    expect(stale).toMatchObject([{ type: "error", status: 400 }]);
    await expect(api.openai.responses.retrieve(first.id)).rejects.toThrow("404");
  });

  it("takes the result of a function that the response before called, without storing either", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const tools: Request["tools"] = [
      {
        type: "function",
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
    const asked = { model: `${name}/sim-tools`, store: false } satisfies Request;
    const first = createResponse(await connection.create({ ...asked, tools, input: "Weather in Paris?" }));
    const call = first.output.find((item) => item.type === "function_call");
    expect(call).toMatchObject({ name: "get_weather" });
    const output: ResponseInput = [
      {
        type: "function_call_output",
        call_id: call?.type === "function_call" ? call.call_id : "",
        output: "sunny",
      },
    ];
    const second = await connection.create({ ...asked, input: output, previous_response_id: first.id });
    expect(createResponse(second).status).toBe("completed");
    expect(JSON.stringify(api.simulator.requests.at(-1)?.body)).toMatch(/get_weather.*sunny/s);
  });
});

describe("The lanes of a WebSocket", () => {
  const model = "openai/sim-echo";
  const seen = (api: ApiServer) => JSON.stringify(api.simulator.requests.at(-1)?.body);

  it("keep a response each, which a request of any lane continues", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const ask = async (input: string, stream_id: string | undefined, previous?: string) => {
      const events = await connection.create({
        model,
        input,
        store: false,
        ...(stream_id !== undefined && { stream_id }),
        ...(previous !== undefined && { previous_response_id: previous }),
      });
      for (const event of events) expect((event as { stream_id?: string }).stream_id).toBe(stream_id);
      return createResponse(events);
    };
    const main = await ask("one", undefined);
    const left = await ask("left", "a".repeat(256), main.id);
    expect(left.previous_response_id).toBe(main.id);
    const right = await ask("right", "right.1", main.id);
    expect(seen(api)).toMatch(/one.*one.*right/s);
    expect(seen(api)).not.toContain("left");
    await ask("left again", "a".repeat(256), left.id);
    expect(seen(api)).toMatch(/one.*one.*left.*left.*left again/s);
    await ask("fork", "third", right.id);
    expect(seen(api)).toMatch(/one.*one.*right.*right.*fork/s);
  });

  it("are answered at once, and the requests of one lane in their order", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const ask = (stream_id: string, asked: string, input: string) =>
      connection.socket.sendRaw(
        JSON.stringify({ type: "response.create", stream_id, model: asked, input, store: false }),
      );
    ask("slow", "openai/sim-long:tokens=5000,rate=50", "slow");
    await connection.waitFor(({ type }) => type === "response.output_text.delta");
    ask("slow", model, "after slow");
    ask("fast", model, "fast");
    const done = await connection.waitFor(({ type }) => type === "response.completed");
    expect(done).toMatchObject({ stream_id: "fast" });
    const inputs = api.simulator.requests.map(({ body }) => JSON.stringify(body));
    expect(inputs).toHaveLength(2);
    expect(inputs.join()).not.toContain("after slow");
  });

  it.each([
    ["has no characters", ""],
    ["is longer than 256 characters", "a".repeat(257)],
    ["has other characters", "a b"],
    ["is a number", 7],
  ])("are refused if their name %s", async (_what, stream_id) => {
    const connection = new Connection(await startApi(servers));
    const events = await connection.sendRaw(
      JSON.stringify({ type: "response.create", model, input: "x", stream_id }),
    );
    expect(events).toMatchObject([
      { type: "error", status: 400, error: { code: "invalid_stream_id", param: "stream_id" } },
    ]);
  });

  it("have at most 32 names", async () => {
    const connection = new Connection(await startApi(servers));
    for (let lane = 0; lane < 32; lane += 1)
      createResponse(await connection.create({ model, input: "x", stream_id: `lane-${lane}` }));
    const refused = await connection.create({ model, input: "x", stream_id: "lane-32" });
    expect(refused).toMatchObject([{ type: "error", error: { code: "invalid_stream_id" } }]);
    createResponse(await connection.create({ model, input: "x", stream_id: "lane-0" }));
  });

  it("forget a response that a request failed to continue", async () => {
    const connection = new Connection(await startApi(servers));
    const first = createResponse(await connection.create({ model, input: "one", store: false }));
    const next = { model, input: "two", store: false, previous_response_id: first.id } satisfies Request;
    expect(await connection.create({ ...next, temperature: 9 })).toMatchObject([
      { type: "error", status: 400 },
    ]);
    expect(await connection.create(next)).toMatchObject([
      {
        type: "error",
        status: 400,
        error: { code: "previous_response_not_found", param: "previous_response_id" },
      },
    ]);
  });

  it("forget a response that the provider failed to continue, whichever lane asked for that", async () => {
    const connection = new Connection(await startApi(servers));
    const first = createResponse(
      await connection.create({ model, input: "one", store: false, stream_id: "a" }),
    );
    const next = { model, input: "two", store: false, previous_response_id: first.id } satisfies Request;
    const failing = { ...next, model: "openai/sim-text:status=400", stream_id: "b" };
    expect((await connection.create(failing)).at(-1)).toMatchObject({ type: "response.failed" });
    expect(await connection.create(next)).toMatchObject([
      { type: "error", error: { code: "previous_response_not_found" } },
    ]);
  });

  it("keep at most 16 MiB together: the least recently used lanes drop their responses", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const input = "x".repeat(6 * 1024 * 1024);
    const keep = async (stream_id: string) =>
      createResponse(await connection.create({ model, input, store: false, generate: false, stream_id })).id;
    const oldest = await keep("a");
    await keep("b");
    const newest = await keep("c");
    const next = (previous: string) =>
      connection.create({
        model: "openai/sim-text",
        input: "Go on.",
        store: false,
        previous_response_id: previous,
      });
    expect(await next(oldest)).toMatchObject([
      { type: "error", error: { code: "previous_response_not_found" } },
    ]);
    createResponse(await next(newest));
  });

  it.each([true, false])("prepare a request without calling the model, with store: %s", async (store) => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const first = createResponse(
      await connection.create({ model, input: "one", store, generate: false, instructions: "Be brief." }),
    );
    expect(first).toMatchObject({ status: "completed", output: [] });
    expect(api.simulator.requests).toHaveLength(0);
    const second = createResponse(
      await connection.create({ model, input: "two", store, previous_response_id: first.id }),
    );
    expect(second.previous_response_id).toBe(first.id);
    expect(seen(api)).toMatch(/one.*two/s);
  });
});

describe("A WebSocket of the API", () => {
  it("answers an invalid message with an error and stays open", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    const wrong = await connection.create({ model: "openai/sim-echo", input: "x", temperature: 9 });
    expect(wrong).toMatchObject([{ type: "error", status: 400, error: { type: "invalid_request_error" } }]);
    for (const text of ["{", "[]", '{"type":"response.stop"}', '{"type":"response.create"}']) {
      expect(await connection.sendRaw(text)).toMatchObject([{ type: "error", status: 400 }]);
    }
    expect(textOf(await connection.create({ model: "openai/sim-echo", input: "still here" }))).toBe(
      "still here",
    );
  });

  it("returns input for a response in progress, which no provider accepts", async () => {
    const connection = new Connection(await startApi(servers));
    const steer = { previous_response_id: "resp_1", input: "Be brief." };
    connection.socket.sendRaw(JSON.stringify({ type: "response.steer", ...steer }));
    expect(await connection.waitFor(({ type }) => type === "response.steer.failed")).toMatchObject({
      error: { code: "steering_not_supported", type: "invalid_request_error" },
      steer,
    });
  });

  it.each([
    ["input[0]", [{ type: "function_call_output", call_id: "none", output: "" }]],
    [
      "input[1].role",
      [
        { role: "user", content: "Go on." },
        { role: "robot", content: "Go on." },
      ],
    ],
  ])("names %s as the client sent it, without the items of the response before", async (param, input) => {
    const connection = new Connection(await startApi(servers));
    const model = "openai/sim-text";
    const { id } = createResponse(await connection.create({ model, input: "One", store: false }));
    const request = { model, store: false, previous_response_id: id, input: input as ResponseInput };
    const [failure] = await connection.create(request);
    expect(failure).toMatchObject({ type: "error", status: 400, error: { param } });
    expect(failure).toMatchObject({ error: { message: expect.stringContaining(`${param}: `) } });
  });

  it("takes memory for the response that a request continues, and refuses it if there is none", async () => {
    const limits = { maxRequestMemoryBytes: 1280 * 1024 };
    const connection = new Connection(await startApi(servers, { limits }));
    const request = {
      model: "openai/sim-text",
      input: "x".repeat(512 * 1024),
      store: false,
      generate: false,
    } satisfies Request;
    let last = createResponse(await connection.create(request));
    const next = () => connection.create({ ...request, previous_response_id: last.id });
    last = createResponse(await next());
    expect(await next()).toMatchObject([
      { type: "error", error: { message: expect.stringContaining("max_request_memory") } },
    ]);
  });

  it("is logged as a failed call if the model fails", async () => {
    const { server, ...api } = await startApi(servers);
    const connection = new Connection({ server, ...api });
    const events = await connection.create({ model: "openai/sim-text:status=500", input: "One" });
    expect(events.at(-1)?.type).toBe("response.failed");
    connection.socket.close();
    const getCodes = () => server.log.flatMap(({ rpc, code }) => (rpc === "* /v1/responses" ? [code] : []));
    await expect.poll(getCodes).toEqual(["UNAVAILABLE"]);
  });

  it("gives the memory of its latest responses back when it is closed", async () => {
    const account = new MemoryAccount();
    const connection = new Connection(await startApi(servers, { account }));
    const request = { model: "openai/sim-text", input: "One", store: false } satisfies Request;
    createResponse(await connection.create(request));
    expect(account.kept.usedBytes).toBeGreaterThan(0);
    connection.socket.close();
    await expect.poll(() => account.kept.usedBytes).toBe(0);
  });

  it("cancels the run of a client that leaves", async () => {
    const api = await startApi(servers);
    const connection = new Connection(api);
    connection.socket.send({
      type: "response.create",
      model: "openai/sim-long:tokens=5000,rate=50",
      input: "x",
    });
    await expect.poll(() => api.simulator.requests.length).toBe(1);
    connection.socket.close();
    const getStatus = async () => {
      const { runs } = await api.engine.listRuns("", create(ListRunsRequestSchema));
      return runs[0]?.status;
    };
    await expect.poll(getStatus).toBe(RunStatus.CANCELLED);
  });
});
