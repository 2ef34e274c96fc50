import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { rawPost } from "./raw-post.ts";
import {
  ask,
  lastResponse,
  type ParsedEvent,
  parseEvents,
  post,
  stream,
  textOf,
  useSimulator,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

/** A request for a model with these options. */
function request(options: string, changes: object = {}): { model: string; input: string; stream: boolean } {
  return { model: `sim-text:${options}`, input: "Hello 🧭", stream: true, ...changes };
}

const getTypes = (events: readonly ParsedEvent[]): string[] => events.map((event) => event.type);

describe("status", () => {
  it.each([
    [400, null],
    [401, "invalid_api_key"],
    [403, "unsupported_country_region_territory"],
    [404, "model_not_found"],
    [409, null],
    [429, "rate_limit_exceeded"],
    [500, "server_error"],
    [503, "server_is_overloaded"],
    [529, null],
  ])("%d has the matching error body", async (status, code) => {
    const response = await post(simulator(), request(`status=${status}`));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { code, message: expect.any(String) as string, type: expect.any(String) as string },
    });
  });

  it("takes its message from the code", async () => {
    const response = await post(simulator(), request("status=429,code=insufficient_quota"));
    expect(await response.json()).toMatchObject({
      error: { code: "insufficient_quota", type: "insufficient_quota" },
    });
  });

  it("reports when to retry", async () => {
    const { headers } = await post(simulator(), request("status=429,retry_after=1.5,retry_after_ms=1400"));
    expect(headers.get("retry-after")).toBe("1.5");
    expect(headers.get("retry-after-ms")).toBe("1400");
    expect(headers.get("x-ratelimit-reset-tokens")).toBe("1.4s");
  });

  it.each([
    ["html", "text/html", /^<html>/],
    ["empty", "application/json", /^$/],
  ])("can have a body that is %s", async (kind, contentType, body) => {
    const response = await post(simulator(), request(`status=502,error_body=${kind}`));
    expect(response.headers.get("content-type")).toBe(contentType);
    expect(await response.text()).toMatch(body);
  });

  it("ends after the given number of times, and starts again once the requests are cleared", async () => {
    const body = request("status=500,times=2");
    const statuses = async (): Promise<number[]> => {
      const seen: number[] = [];
      for (let each = 0; each < 3; each += 1) seen.push((await post(simulator(), body)).status);
      return seen;
    };
    expect(await statuses()).toEqual([500, 500, 200]);
    simulator().clearRequests();
    expect(await statuses()).toEqual([500, 500, 200]);
  });
});

describe("pace", () => {
  it("delay_ms waits before the headers", async () => {
    const before = performance.now();
    await post(simulator(), request("delay_ms=80"));
    expect(performance.now() - before).toBeGreaterThanOrEqual(78);
  });

  it.each([true, false])("rate limits the tokens per second (stream: %s)", async (streams) => {
    const before = performance.now();
    const answer = await post(simulator(), {
      model: "sim-long:tokens=100,rate=1000",
      input: "x",
      stream: streams,
    });
    await answer.text();
    expect(performance.now() - before).toBeGreaterThanOrEqual(95);
  });

  it("rate includes the time of hidden reasoning", async () => {
    const before = performance.now();
    const body = { model: "sim-reasoning:rate=1000", input: "x", reasoning: { effort: "low" } };
    const { usage } = lastResponse(await stream(simulator(), body));
    expect(performance.now() - before).toBeGreaterThanOrEqual(usage.output_tokens - 5);
  });

  it("trickle_ms writes a few bytes at a time", async () => {
    const { chunks, complete, body } = await rawPost(simulator(), request("trickle_ms=1,trickle_bytes=400"));
    expect(complete).toBe(true);
    expect(chunks.length).toBeGreaterThan(10);
    expect(chunks.slice(0, 5).map((chunk) => chunk.length)).toEqual([400, 400, 400, 400, 400]);
    expect(parseEvents(body).at(-1)?.type).toBe("response.completed");
  });
});

describe("drop", () => {
  it("closes the socket without a byte", async () => {
    expect(await rawPost(simulator(), request("drop=1"))).toMatchObject({
      status: 0,
      bodyBytes: 0,
      closed: true,
    });
  });
});

describe("stall_after", () => {
  it.each([0, 2, 5])("stops sending after %d events and keeps the socket open", async (events) => {
    const answer = await rawPost(simulator(), request(`stall_after=${events}`), { quietMs: 500 });
    expect(answer).toMatchObject({ status: 200, closed: false, complete: false });
    expect(parseEvents(answer.body)).toHaveLength(events);
  });

  it("stops sending after the last event, too", async () => {
    const whole = await stream(simulator(), request("rate=1000000"));
    const answer = await rawPost(simulator(), request(`stall_after=${whole.length}`), { quietMs: 500 });
    expect(answer).toMatchObject({ closed: false, complete: false });
    expect(parseEvents(answer.body)).toHaveLength(whole.length);
  });

  it("sends half of a whole answer", async () => {
    const answer = await rawPost(simulator(), request("stall_after=1", { stream: false }), { quietMs: 500 });
    expect(answer).toMatchObject({ status: 200, closed: false, complete: false });
    expect(() => JSON.parse(answer.body) as unknown).toThrow(SyntaxError);
  });

  it("ends when the caller disconnects", async () => {
    const body = request("stall_after=3");
    await rawPost(simulator(), body, { quietMs: 500 });
    const seen = await simulator().waitForClose({
      where: (each) => (each.body as { model: string }).model === body.model,
    });
    expect(seen).toMatchObject({ aborted: true, events: 3 });
  });
});

describe("keepalive_ms", () => {
  it("sends keep-alives while the stream is silent, numbered like all events", async () => {
    const { body } = await rawPost(simulator(), request("stall_after=2,keepalive_ms=20"), {
      isEnough: (text) => text.split('"type":"keepalive"').length > 3,
    });
    const events = parseEvents(body);
    expect(getTypes(events).slice(0, 4)).toEqual([
      "response.created",
      "response.in_progress",
      "keepalive",
      "keepalive",
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });

  it("sends keep-alives between slow tokens, too", async () => {
    const events = await stream(simulator(), {
      model: "sim-long:tokens=3,rate=10,keepalive_ms=20",
      input: "x",
    });
    expect(getTypes(events).filter((type) => type === "keepalive").length).toBeGreaterThan(4);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
  });

  it("sends comments if the option asks for them", async () => {
    const model = "sim-long:tokens=3,rate=10,keepalive_ms=20,keepalive_style=comment";
    const { body, complete } = await rawPost(simulator(), { model, input: "x", stream: true });
    expect(complete).toBe(true);
    expect(body.split(": keepalive\n\n").length).toBeGreaterThan(4);
    expect(parseEvents(body).at(-1)?.type).toBe("response.completed");
  });
});

describe("cuts", () => {
  it.each([0, 1, 777])("cut_bytes=%d destroys the socket after the given number of bytes", async (bytes) => {
    const answer = await rawPost(simulator(), request(`cut_bytes=${bytes}`));
    expect(answer).toMatchObject({ status: 200, bodyBytes: bytes, complete: false, closed: true });
  });

  it("cut_bytes cuts a whole answer, too", async () => {
    const answer = await rawPost(simulator(), request("cut_bytes=100", { stream: false }));
    expect(answer).toMatchObject({ status: 200, bodyBytes: 100, complete: false, closed: true });
  });

  it.each([0, 1, 6])("cut_events=%d destroys the socket after the given number of events", async (events) => {
    const answer = await rawPost(simulator(), request(`cut_events=${events}`));
    expect(answer).toMatchObject({ complete: false, closed: true });
    expect(parseEvents(answer.body)).toHaveLength(events);
  });

  it("are distinguished from callers that disconnect", async () => {
    const body = request("cut_events=2,chunk=random:1");
    await rawPost(simulator(), body);
    const seen = await simulator().waitForClose({
      where: (each) => (each.body as { model: string }).model === body.model,
    });
    expect(seen.aborted).toBe(false);
  });
});

describe("error_after", () => {
  it("reports the failure as OpenAI's event and ends the stream", async () => {
    const events = await stream(simulator(), request("error_after=3,error_code=rate_limit_exceeded"));
    expect(getTypes(events)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "error",
    ]);
    expect(Object.keys(events.at(-1) ?? {}).sort()).toEqual([
      "code",
      "message",
      "param",
      "sequence_number",
      "type",
    ]);
    expect(events.at(-1)).toMatchObject({ code: "rate_limit_exceeded", sequence_number: 3 });
  });

  it("reports it as a failed response", async () => {
    const events = await stream(simulator(), request("error_after=2,error_style=failed"));
    expect(getTypes(events)).toEqual(["response.created", "response.in_progress", "response.failed"]);
    expect(events.at(-1)?.response).toMatchObject({ status: "failed", error: { code: "server_error" } });
  });

  it("makes a whole answer report the failure", async () => {
    const response = await ask(
      simulator(),
      request("error_after=0,error_code=invalid_prompt", { stream: false }),
    );
    expect(response).toMatchObject({ status: "failed", error: { code: "invalid_prompt" }, output: [] });
  });
});

describe("broken streams", () => {
  it("malformed_after breaks the JSON of one event", async () => {
    const { body, complete } = await rawPost(simulator(), request("malformed_after=4"));
    expect(complete).toBe(true);
    const frames = body.split("\n\n").filter(Boolean);
    const broken = frames.map((frame) => {
      try {
        return JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? "") === undefined;
      } catch {
        return true;
      }
    });
    expect(broken.indexOf(true)).toBe(4);
    expect(broken.filter(Boolean)).toHaveLength(1);
    expect(frames[4]).toMatch(/^event: response\.output_text\.delta\ndata: \{/);
  });

  it("malformed_after breaks a whole answer", async () => {
    const { body, complete } = await rawPost(simulator(), request("malformed_after=0", { stream: false }));
    expect(complete).toBe(true);
    expect(() => JSON.parse(body) as unknown).toThrow(SyntaxError);
  });

  it("repeat_start sends the first event twice", async () => {
    const events = await stream(simulator(), request("repeat_start=1"));
    expect(getTypes(events).slice(0, 3)).toEqual([
      "response.created",
      "response.created",
      "response.in_progress",
    ]);
  });

  it("end_without_terminal ends cleanly without the last event", async () => {
    const { body, complete } = await rawPost(simulator(), request("end_without_terminal=1"));
    expect(complete).toBe(true);
    expect(parseEvents(body).at(-1)?.type).toBe("response.output_item.done");
  });
});

describe("splitting", () => {
  it("chunk=random splits inside characters, the same way for the same seed", async () => {
    const first = await rawPost(simulator(), request("chunk=random:42"));
    const second = await rawPost(simulator(), request("chunk=random:42"));
    const other = await rawPost(simulator(), request("chunk=random:43"));
    const sizes = (answer: typeof first): number[] => answer.chunks.map((chunk) => chunk.length);
    expect(sizes(first).slice(0, 50)).toEqual(sizes(second).slice(0, 50));
    expect(sizes(first).slice(0, 50)).not.toEqual(sizes(other).slice(0, 50));
    expect(first.chunks.some((chunk) => chunk.toString("utf8").includes("\ufffd"))).toBe(true);
    expect(parseEvents(first.body).at(-1)?.type).toBe("response.completed");
  });

  it("half_surrogates splits the surrogates of an emoji across two deltas", async () => {
    const answer = await rawPost(simulator(), request("half_surrogates=1"));
    expect(answer.body).toMatch(/"delta":"\\ud83e"[\s\S]*"delta":"\\udded"/);
    const events = parseEvents(answer.body);
    const deltas = events
      .filter((event) => event.type === "response.output_text.delta")
      .map((event) => event.delta);
    expect(deltas).toContain("\ud83e");
    expect(deltas.join("")).toBe(textOf(lastResponse(events)));
  });

  it("frame_bytes makes the first delta large", async () => {
    const events = await stream(simulator(), request("frame_bytes=300000"));
    const [first = ""] = events
      .filter((event) => event.type === "response.output_text.delta")
      .map((event) => String(event.delta));
    expect(first.length).toBeGreaterThanOrEqual(300_000);
    expect(textOf(lastResponse(events)).startsWith(first)).toBe(true);
  });

  it("frame_bytes keeps arguments valid", async () => {
    const { output } = await ask(simulator(), {
      model: "sim-tools:frame_bytes=70000",
      input: "In Oslo?",
      tools: [weatherTool],
    });
    expect(output[0]?.arguments?.length).toBeGreaterThan(70_000);
    expect(JSON.parse(output[0]?.arguments ?? "")).toMatchObject({ city: "Oslo" });
  });
});

describe("ids", () => {
  const collectIds = async (option: string): Promise<(string | undefined)[]> => {
    const { output } = await ask(simulator(), {
      model: `sim-tools:calls=3${option}`,
      input: "x",
      tools: [weatherTool],
    });
    return output.map((item) => item.call_id);
  };

  it("are unique, repeated or empty", async () => {
    expect(new Set(await collectIds("")).size).toBe(3);
    const repeated = await collectIds(",repeat_ids=1");
    expect(repeated[0]).toMatch(/^call_/);
    expect(new Set(repeated).size).toBe(1);
    expect(await collectIds(",no_ids=1")).toEqual(["", "", ""]);
  });
});

describe("stop", () => {
  it.each([
    ["length", "max_output_tokens"],
    ["content_filter", "content_filter"],
  ])("%s stops the answer halfway", async (stop, reason) => {
    const whole = await ask(simulator(), { model: "sim-text", input: "Hello" });
    const cut = await ask(simulator(), { model: `sim-text:stop=${stop}`, input: "Hello" });
    expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason } });
    expect(cut.output[0]?.status).toBe("incomplete");
    expect(textOf(whole).startsWith(textOf(cut))).toBe(true);
    expect(cut.usage.output_tokens).toBe(Math.ceil(whole.usage.output_tokens / 2));
  });
});

describe("a caller that stops reading", () => {
  it("pauses the stream, with little memory", async () => {
    const body = { model: "sim-long:tokens=200000,rate=1000000", input: "x", stream: true };
    const answer = await post(simulator(), body);
    const where = (each: { body: unknown }): boolean => (each.body as { model: string }).model === body.model;
    const seen = await simulator().waitForRequest({ where });
    let before = -1;
    while (before <= 0 || seen.events !== before) {
      before = seen.events;
      await sleep(100);
    }
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(200_000);
    await answer.body?.cancel();
    expect(await simulator().waitForClose({ where })).toMatchObject({ aborted: true });
  });
});
