import type { IncomingMessage, ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { accumulate } from "../../../src/core/accumulator.ts";
import { RateLimitError, ServerError } from "../../../src/core/errors.ts";
import { textOf, toolCallsOf } from "../../../src/core/message.ts";
import type { ToolCall } from "../../../src/gen/outrigger/v1/message_pb.ts";
import { LossPolicy } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { Response } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { FinishReason_Reason } from "../../../src/gen/outrigger/v1/response_pb.ts";
import { DEFAULT_ANSWER_LIMITS } from "../../../src/kit/call/answer-limits.ts";
import { getRecordings, toBytes } from "../../support/recordings.ts";
import { serveHttp, type TestServer, waitUntil } from "../http/servers.ts";
import { ask, getCases, KEY, openAdapter, read, relayTo, settle, useSimulator } from "./adapter-calls.ts";

const simulator = useSimulator();

/** A server that answers every request with one body, whatever was asked. */
function answering(body: string | Uint8Array, headers: Record<string, string>): Promise<TestServer> {
  return serveHttp((request, response) => {
    request.resume();
    response.writeHead(200, headers).end(body);
  });
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

describe("complete() and stream()", () => {
  it("send the same request but for the streaming, with the adapter's headers", async () => {
    const adapter = openAdapter(simulator(), { organization: "org-1", defaultHeaders: { "x-team": "hens" } });
    await adapter.complete(ask("sim-text"));
    await accumulate(adapter.stream(ask("sim-text")));
    const [whole, streamed] = simulator().requests;
    const shared = { authorization: `Bearer ${KEY}`, "openai-organization": "org-1", "x-team": "hens" };
    expect(whole?.headers).toMatchObject({ ...shared, accept: "application/json" });
    expect(streamed?.headers).toMatchObject({ ...shared, accept: "text/event-stream" });
    expect(streamed?.body).toMatchObject({ ...Object(whole?.body), stream: true });
  });

  it.each(["sim-text", "sim-tools:calls=2", "sim-refusal", "sim-text:stop=length"])(
    "give the same answer for %s",
    async (model) => {
      const adapter = openAdapter(simulator());
      const whole = await adapter.complete(ask(model), { inferenceId: "inf_1" });
      const streamed = await accumulate(adapter.stream(ask(model), { inferenceId: "inf_1" }));
      expect(textOf(streamed)).toBe(textOf(whole));
      const facts = ({ name, input }: ToolCall) => [name, input];
      expect(toolCallsOf(streamed).map(facts)).toEqual(toolCallsOf(whole).map(facts));
      expect([streamed.usage, streamed.finishReason]).toEqual([whole.usage, whole.finishReason]);
    },
  );

  it("have the facts of the call: run, provider, limits and the provider's id of the exchange", async () => {
    const adapter = openAdapter(simulator(), { name: "main" });
    for (const call of [
      adapter.complete(ask("sim-text"), { inferenceId: "inf_1" }),
      accumulate(adapter.stream(ask("sim-text"), { inferenceId: "inf_1" })),
    ]) {
      const response = await call;
      expect(response).toMatchObject({ provider: "main", inferenceId: "inf_1", model: "sim-text" });
      expect(response.rateLimit?.requestsLimit).toBeGreaterThan(0);
      expect(response.providerRequestId).toBe(simulator().requests.at(-1)?.requestId);
    }
  });

  it("create an inference id for each call if none is given", async () => {
    const adapter = openAdapter(simulator());
    const ids = [
      (await adapter.complete(ask("sim-text"))).inferenceId,
      (await accumulate(adapter.stream(ask("sim-text")))).inferenceId,
    ];
    expect(ids).toEqual([
      expect.stringMatching(/^inf_[0-9a-f]{32}$/),
      expect.stringMatching(/^inf_[0-9a-f]{32}$/),
    ]);
    expect(ids[0]).not.toBe(ids[1]);
  });

  it("report changes to the request, in the first event and in the answer", async () => {
    const adapter = openAdapter(simulator());
    const request = ask("sim-text", { stopSequences: ["END"] });
    const warnings = [{ field: "stop_sequences", code: "unsupported_setting" }];
    expect(await adapter.complete(request)).toMatchObject({ warnings });
    const { events } = await read(adapter.stream(request));
    expect(events[0]?.event.value).toMatchObject({ warnings });
    expect(events.at(-1)?.event.value).toMatchObject({ response: { warnings } });
  });

  it("send nothing of a strict request that they cannot honour, nor before the first event is asked for", async () => {
    const adapter = openAdapter(simulator());
    const request = ask("sim-text", { stopSequences: ["END"], lossPolicy: LossPolicy.REFUSE });
    await expect(adapter.complete(request)).rejects.toThrow("stop_sequences");
    expect(getCases((await read(adapter.stream(request))).events)).toEqual([]);
    adapter.stream(ask("sim-text"));
    await settle();
    expect(simulator().requests).toEqual([]);
  });

  it.each(["chunk=random:1", "chunk=random:2", "half_surrogates=1", "trickle_ms=1,trickle_bytes=100"])(
    "read a stream the same however its bytes come (%s)",
    async (fault) => {
      const adapter = openAdapter(simulator());
      const want = await accumulate(adapter.stream(ask("sim-tools:preamble=1")));
      const got = await accumulate(adapter.stream(ask(`sim-tools:preamble=1,${fault}`)));
      expect(textOf(got)).toBe(textOf(want));
      expect(got.message?.content.map(({ part }) => part.case)).toEqual(["text", "toolCall"]);
      expect(toolCallsOf(got)[0]?.input.value).toBe(toolCallsOf(want)[0]?.input.value);
    },
  );

  it.each(["repeat_ids=1", "no_ids=1"])("give every tool call a unique id (%s)", async (fault) => {
    const adapter = openAdapter(simulator());
    const model = `sim-tools:calls=3,${fault}`;
    for (const response of [
      await adapter.complete(ask(model)),
      await accumulate(adapter.stream(ask(model))),
    ]) {
      const ids = toolCallsOf(response).map(({ id }) => id);
      expect([ids.length, new Set(ids).size, ids.includes("")]).toEqual([3, 3, false]);
      expect(response.finishReason?.reason).toBe(FinishReason_Reason.TOOL_CALLS);
    }
  });
});

describe("include_raw", () => {
  it("off omits all raw data", async () => {
    const adapter = openAdapter(simulator());
    const whole = await adapter.complete(ask("sim-text"));
    expect([whole.rawJson, whole.usage?.rawJson]).toEqual(["", ""]);
    const { events } = await read(adapter.stream(ask("sim-text")));
    expect(events.at(-1)?.event.value).toMatchObject({ response: { rawJson: "", usage: { rawJson: "" } } });
    expect(getCases(events)).not.toContain("providerEvent");
  });

  it("on keeps the provider's body letter by letter, and its usage", async () => {
    const body =
      '{ "id": "resp_1", "model": "m", "status": "completed",\n "output": [], "usage": {"input_tokens": 1, "x": 1.0} }';
    const adapter = openAdapter(await answering(body, JSON_TYPE));
    const { rawJson, usage } = await adapter.complete(ask("m", { includeRaw: true }));
    expect(rawJson).toBe(body);
    expect(JSON.parse(usage?.rawJson ?? "")).toEqual({ input_tokens: 1, x: 1 });
  });

  it("on keeps every event of a stream that has no unified form, and the provider's answer", async () => {
    const adapter = openAdapter(simulator());
    const { events } = await read(adapter.stream(ask("sim-text", { includeRaw: true })));
    const kept = events.flatMap(({ event }) => (event.case === "providerEvent" ? [event.value] : []));
    expect(kept.map(({ type }) => type)).toContain("response.in_progress");
    for (const { type, dataJson } of kept) expect(JSON.parse(dataJson)).toMatchObject({ type });
    const last = events.at(-1)?.event;
    const response = last?.case === "finish" ? last.value.response : undefined;
    expect(JSON.parse(response?.rawJson ?? "")).toMatchObject({ id: response?.id, status: "completed" });
    expect(JSON.parse(response?.usage?.rawJson ?? "")).toHaveProperty("input_tokens");
  });
});

describe("a whole answer to a request for a stream", () => {
  const recordings = getRecordings("openai-responses", ".json").filter(({ status }) => status === 200);

  it("becomes the events of the same answer, for every recorded one", async () => {
    const bodies = new Map(recordings.map((recording) => [recording.file, toBytes(recording)]));
    const server = await serveHttp(async (request: IncomingMessage, response: ServerResponse) => {
      const { model } = (await json(request)) as { model: string };
      response.writeHead(200, JSON_TYPE).end(bodies.get(model));
    });
    const adapter = openAdapter(server);
    expect(recordings.length).toBeGreaterThan(20);
    for (const { file } of recordings) {
      const request = ask(file);
      const whole = await adapter
        .complete(request, { inferenceId: "inf_1" })
        .catch((error: unknown) => error);
      const { events, error } = await read(adapter.stream(request, { inferenceId: "inf_1" }));
      if (whole instanceof Error) expect([events, error], file).toEqual([[], whole]);
      else {
        const response = { ...(whole as Response), createdAt: expect.anything() };
        expect(events.at(-1)?.event, file).toMatchObject({ case: "finish", value: { response } });
      }
    }
  });

  it("that reports a failure throws it before the first event", async () => {
    const body = '{"error":{"message":"slow down","code":"rate_limit_exceeded"}}';
    const { events, error } = await read(openAdapter(await answering(body, JSON_TYPE)).stream(ask("m")));
    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(RateLimitError);
  });

  it.each(["", "{", "[]", "<html>"])("that is no answer (%j) is the provider's failure", async (body) => {
    const adapter = openAdapter(await answering(body, JSON_TYPE));
    const { events, error } = await read(adapter.stream(ask("m")));
    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(ServerError);
    await expect(adapter.complete(ask("m"))).rejects.toThrow(ServerError);
  });

  it("that is too large is refused by its length, and its connection closed", async () => {
    const server = await serveHttp((request, response) => {
      request.resume();
      response
        .writeHead(200, { ...JSON_TYPE, "content-length": DEFAULT_ANSWER_LIMITS.maxBytes + 1 })
        .write("{");
    });
    const { events, error } = await read(openAdapter(server).stream(ask("m")));
    expect(events).toEqual([]);
    expect(error).toMatchObject({ name: "StreamError", retryable: false });
    await expect(openAdapter(server).complete(ask("m"))).rejects.toThrow("is larger than 67108864 bytes");
  });
});

describe("the connection", () => {
  it("serves one stream after the other, and whole answers between them", async () => {
    const relay = await relayTo(simulator());
    const adapter = openAdapter(relay);
    for (const model of ["sim-text", "sim-tools", "sim-long:tokens=50,rate=10000", "sim-text:status=429"]) {
      await read(adapter.stream(ask(model)));
      await settle();
      await adapter.complete(ask("sim-text"));
      await settle();
    }
    expect(simulator().requests.map(({ aborted }) => aborted)).toEqual(Array(8).fill(false));
    expect(relay.sockets.map(({ destroyed }) => destroyed)).toEqual([false]);
  });

  it("serves again although the answer ends later than its end marker", async () => {
    const [recording] = getRecordings("openai-responses", ".sse");
    if (recording === undefined) throw new Error("there is no recorded stream");
    const ended: number[] = [];
    let end = () => {};
    const server = await serveHttp((request, response) => {
      request.resume();
      response.writeHead(200, { "content-type": "text/event-stream" }).write(toBytes(recording));
      end = () => response.end(": late\n\n", () => ended.push(server.sockets.length));
    });
    const adapter = openAdapter(server);
    for (let call = 1; call <= 3; call += 1) {
      const { events, error } = await read(adapter.stream(ask("m")));
      expect([getCases(events).at(-1), error]).toEqual(["finish", undefined]);
      end();
      await waitUntil(() => ended.length === call);
      await settle();
    }
    expect([ended, server.sockets.length]).toEqual([[1, 1, 1], 1]);
  });

  it("serves concurrent streams independently", async () => {
    const relay = await relayTo(simulator());
    const adapter = openAdapter(relay);
    const calls = Array.from({ length: 5 }, () =>
      accumulate(adapter.stream(ask("sim-long:tokens=20,rate=1000"))),
    );
    const texts = (await Promise.all(calls)).map(textOf);
    expect(new Set(texts).size).toBe(1);
    expect(relay.sockets.length).toBeLessThanOrEqual(5);
  });

  it("ends with the adapter", async () => {
    const relay = await relayTo(simulator());
    const adapter = openAdapter(relay);
    await accumulate(adapter.stream(ask("sim-text")));
    await adapter.close();
    await settle();
    expect(relay.sockets.every(({ destroyed }) => destroyed)).toBe(true);
    await expect(adapter.complete(ask("sim-text"))).rejects.toThrow(
      "the connections to the provider were closed",
    );
  });
});
