import { describe, expect, it } from "vitest";
import { type ParsedEvent, parseEvents, useSimulator } from "../support.ts";
import { ask, hello, post, raw, stream, textOf, weatherTool } from "./support.ts";

const simulator = useSimulator();

const asking = (options: string, changes: object = {}): object => ({
  ...hello,
  model: `sim-text:${options}`,
  stream: true,
  ...changes,
});

const getTypes = (events: readonly ParsedEvent[]): string[] => events.map(({ type }) => type);

describe("status", () => {
  it.each([
    [400, "invalid_request_error"],
    [401, "authentication_error"],
    [402, "billing_error"],
    [403, "permission_error"],
    [404, "not_found_error"],
    [409, "conflict_error"],
    [413, "request_too_large"],
    [418, "invalid_request_error"],
    [429, "rate_limit_error"],
    [500, "api_error"],
    [502, "api_error"],
    [503, "overloaded_error"],
    [504, "timeout_error"],
    [529, "overloaded_error"],
  ])("%d has the error body that goes with it", async (status, type) => {
    const response = await post(simulator(), asking(`status=${status}`));
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({
      type: "error",
      error: { type, message: expect.stringMatching(/./) as string },
      request_id: response.headers.get("request-id"),
    });
  });

  it.each([
    [
      "enforced_spend_limit_reached",
      429,
      { type: "rate_limit_error", details: { error_code: "enforced_spend_limit_reached" } },
    ],
    ["context_length_exceeded", 400, { message: "prompt is too long: 1000001 tokens > 1000000 maximum" }],
    ["insufficient_quota", 400, { message: expect.stringContaining("credit balance is too low") as string }],
    ["overloaded_error", 500, { type: "overloaded_error", message: "Overloaded" }],
  ])("has the error of the code %s", async (code, status, error) => {
    const response = await post(simulator(), asking(`status=${status},code=${code}`));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error });
  });

  it("has a retry-after header", async () => {
    const { headers } = await post(simulator(), asking("status=429,retry_after=30"));
    expect(headers.get("retry-after")).toBe("30");
    const wait = Date.parse(headers.get("anthropic-ratelimit-tokens-reset") ?? "") - Date.now();
    expect(wait).toBeGreaterThan(25_000);
    expect(wait).toBeLessThan(32_000);
  });
});

describe("error_after", () => {
  it("reports the failure as an event and ends the stream", async () => {
    const events = await stream(simulator(), asking("error_after=3,error_code=overloaded_error"));
    expect(getTypes(events)).toEqual(["message_start", "content_block_start", "ping", "error"]);
    expect(events.at(-1)).toEqual({
      type: "error",
      error: { details: null, type: "overloaded_error", message: "Overloaded" },
    });
  });

  it("can be the first event", async () => {
    expect(getTypes(await stream(simulator(), asking("error_after=0")))).toEqual(["error"]);
  });

  it.each([
    ["", 500, "api_error"],
    [",error_code=overloaded_error", 529, "overloaded_error"],
    [",error_code=rate_limit_exceeded", 429, "rate_limit_error"],
  ])("makes a whole answer fail (code%s)", async (code, status, type) => {
    const response = await post(simulator(), asking(`error_after=0${code}`, { stream: false }));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: "error", error: { type } });
  });
});

describe("keepalive_ms", () => {
  it("sends pings", async () => {
    const { body } = await raw(simulator(), asking("stall_after=1,keepalive_ms=20"), {
      isEnough: (text) => text.split("event: ping").length > 3,
    });
    expect(getTypes(parseEvents(body)).slice(0, 3)).toEqual(["message_start", "ping", "ping"]);
  });
});

describe("broken streams", () => {
  it.each([0, 1, 777])("are cut after %d bytes", async (bytes) => {
    const answer = await raw(simulator(), asking(`cut_bytes=${bytes}`));
    expect(answer).toMatchObject({ status: 200, bodyBytes: bytes, complete: false, closed: true });
  });

  it("stall and stay open", async () => {
    const answer = await raw(simulator(), asking("stall_after=4"), { quietMs: 500 });
    expect(answer).toMatchObject({ closed: false, complete: false });
    expect(parseEvents(answer.body)).toHaveLength(4);
  });

  it("trickle", async () => {
    const { chunks, complete } = await raw(simulator(), asking("trickle_ms=1,trickle_bytes=300"));
    expect(complete).toBe(true);
    expect(chunks.slice(0, 5).map((chunk) => chunk.length)).toEqual([300, 300, 300, 300, 300]);
  });

  it("contain one event with invalid JSON", async () => {
    const { body } = await raw(simulator(), asking("malformed_after=4"));
    const frames = body.split("\n\n").filter(Boolean);
    expect(frames[4]).toMatch(/^event: content_block_delta\ndata: \{[^}]*$/);
    expect(parseEvents(frames.toSpliced(4, 1).join("\n\n")).at(-1)?.type).toBe("message_stop");
  });

  it("end normally without their last event", async () => {
    const { body, complete } = await raw(simulator(), asking("end_without_terminal=1"));
    expect(complete).toBe(true);
    expect(parseEvents(body).at(-1)?.type).toBe("message_delta");
  });

  it("start twice", async () => {
    const events = await stream(simulator(), asking("repeat_start=1"));
    expect(getTypes(events).slice(0, 3)).toEqual(["message_start", "message_start", "content_block_start"]);
    expect(events[0]).toEqual(events[1]);
  });

  it("split the surrogates of an emoji", async () => {
    const { body } = await raw(simulator(), asking("half_surrogates=1"));
    expect(body).toMatch(/"text":"\\ud83e"[\s\S]*"text":"\\udded"/);
  });

  it("start with a large delta", async () => {
    const events = await stream(simulator(), asking("frame_bytes=300000"));
    const sizes = events.map(({ delta }) => (delta as { text?: string } | undefined)?.text?.length ?? 0);
    expect(Math.max(...sizes)).toBeGreaterThanOrEqual(300_000);
  });

  it("are split inside characters", async () => {
    const messages = [{ role: "user", content: "東京".repeat(90) }];
    const { chunks, body } = await raw(simulator(), asking("chunk=random:42", { messages }));
    expect(chunks.some((chunk) => chunk.toString("utf8").includes("\ufffd"))).toBe(true);
    expect(parseEvents(body).at(-1)?.type).toBe("message_stop");
  });
});

describe("ids", () => {
  const collectIds = async (option: string): Promise<(string | undefined)[]> => {
    const { content } = await ask(simulator(), { model: `sim-tools:calls=3${option}`, tools: [weatherTool] });
    return content.map(({ id }) => id);
  };

  it("are unique, repeated or empty", async () => {
    expect(new Set(await collectIds("")).size).toBe(3);
    const repeated = await collectIds(",repeat_ids=1");
    expect(repeated[0]).toMatch(/^toolu_/);
    expect(new Set(repeated).size).toBe(1);
    expect(await collectIds(",no_ids=1")).toEqual(["", "", ""]);
  });
});

describe("stop=length", () => {
  it("cuts the answer off in the middle", async () => {
    const whole = await ask(simulator(), {});
    const cut = await ask(simulator(), { model: "sim-text:stop=length" });
    expect(cut.stop_reason).toBe("max_tokens");
    expect(textOf(whole).startsWith(textOf(cut))).toBe(true);
    expect(cut.usage.output_tokens).toBe(Math.ceil(whole.usage.output_tokens / 2));
  });
});
