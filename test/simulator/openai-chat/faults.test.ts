import { describe, expect, it } from "vitest";
import { type RawAnswer, rawPost } from "../raw-post.ts";
import { useSimulator } from "../support.ts";
import {
  ask,
  askMessage,
  callPieces,
  joined,
  openStream,
  parseChunks,
  path,
  post,
  say,
  splitDeltas,
  stream,
  streamText,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

function raw(options: string): Promise<RawAnswer> {
  return rawPost(simulator(), say(`sim-text:${options}`, "Hello", { stream: true }), { path });
}

describe("error_after in a stream", () => {
  const events = async (style: string): Promise<string[]> =>
    (await streamText(simulator(), say(`sim-text:error_after=2,${style}`, "Hello")))
      .split("\n\n")
      .filter(Boolean);

  it("is an event with the error alone, and the end marker", async () => {
    const [, second, failure, end, ...rest] = await events("error_style=event");
    expect(JSON.parse(second?.slice(6) ?? "")).toMatchObject({ object: "chat.completion.chunk" });
    expect(JSON.parse(failure?.slice(6) ?? "")).toEqual({
      error: {
        message: "The server had an error while processing your request. Sorry about that!",
        type: "server_error",
        param: null,
        code: "server_error",
      },
    });
    expect([end, rest]).toEqual(["data: [DONE]", []]);
  });

  it("is a chunk with the error alongside its choices", async () => {
    const failure = (await events("error_style=failed,error_shape=numeric"))[2];
    expect(JSON.parse(failure?.slice(6) ?? "")).toMatchObject({
      object: "chat.completion.chunk",
      error: { code: 500, message: expect.any(String) as string },
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    });
  });

  it("is a choice with the error in it", async () => {
    const failure = (await events("error_style=nested,error_code=slow_down"))[2];
    expect(JSON.parse(failure?.slice(6) ?? "")).toMatchObject({
      choices: [{ index: 0, finish_reason: "error", error: { code: "slow_down" } }],
    });
  });

  it("may lack the end marker", async () => {
    expect(await events("no_done=1")).toHaveLength(3);
  });
});

describe("error_after in a whole answer", () => {
  it.each([
    ["error_code=server_error", 500],
    ["error_code=rate_limit_exceeded", 429],
    ["error_code=insufficient_quota", 429],
    ["error_code=context_length_exceeded", 400],
    ["error_code=slow_down,error_shape=numeric", 429],
  ])("is OpenAI's error with the status of the code: %s", async (options, status) => {
    const response = await post(simulator(), say(`sim-text:error_after=0,${options}`, "Hello"));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) as string } });
  });

  it("is an answer with an error", async () => {
    const failed = await ask(simulator(), say("sim-text:error_after=0,error_style=failed", "Hello"));
    expect(failed).toMatchObject({ error: { code: "server_error" }, choices: [{ finish_reason: "error" }] });
    const nested = await ask(
      simulator(),
      say("sim-text:error_after=0,error_style=nested,error_shape=numeric", "Hello"),
    );
    expect(nested.choices[0]).toMatchObject({ finish_reason: "error", error: { code: 500 } });
  });
});

describe("keep-alives", () => {
  it("are empty chunks", async () => {
    const stalled = await openStream(simulator(), say("sim-text:stall_after=1,keepalive_ms=20", "Hello"));
    const chunks = parseChunks(await stalled.readUntil((text) => parseChunks(text).length === 4));
    expect(splitDeltas(chunks).slice(1)).toEqual([{}, {}, {}]);
    stalled.close();
  });

  it("are comments with the option for them", async () => {
    const model = "sim-text:stall_after=1,keepalive_ms=20,keepalive_style=comment";
    const stalled = await openStream(simulator(), say(model, "Hello"));
    const text = await stalled.readUntil((each) => each.split(": keepalive\n\n").length > 3);
    expect(parseChunks(text)).toHaveLength(1);
    stalled.close();
  });
});

describe("streams that break", () => {
  it("close normally without a finish reason", async () => {
    const { body, complete } = await raw("end_without_terminal=1");
    expect(complete).toBe(true);
    expect(body).not.toContain("[DONE]");
    expect(
      parseChunks(body)
        .map(({ choices }) => choices?.[0]?.finish_reason)
        .filter(Boolean),
    ).toEqual([]);
  });

  it("close without the end marker if only that would complete them", async () => {
    const { body, complete } = await raw("end_without_terminal=1,no_finish=1");
    expect(complete).toBe(true);
    expect(body).not.toContain("[DONE]");
  });

  it.each([0, 1, 6])("are cut after %d chunks", async (events) => {
    const answer = await raw(`cut_events=${events}`);
    expect(answer).toMatchObject({ status: 200, complete: false, closed: true });
    expect(parseChunks(answer.body)).toHaveLength(events);
  });

  it("are cut after a number of bytes", async () => {
    expect(await raw("cut_bytes=300")).toMatchObject({ bodyBytes: 300, complete: false, closed: true });
  });

  it("count the end marker as an event", async () => {
    const whole = parseChunks(await streamText(simulator(), say("sim-text", "Hello"))).length;
    expect((await raw(`cut_events=${whole}`)).body).not.toContain("[DONE]");
    expect((await raw(`cut_events=${whole + 1}`)).body).toContain("[DONE]");
  });

  it("stop sending", async () => {
    const stalled = await openStream(simulator(), say("sim-text:stall_after=3", "Hello"));
    const chunks = parseChunks(await stalled.readUntil((text) => parseChunks(text).length >= 3));
    expect(chunks).toHaveLength(3);
    expect(await stalled.isSilentFor(100)).toBe(true);
    stalled.close();
  });

  it("hold invalid JSON", async () => {
    const { body, complete } = await raw("malformed_after=2");
    const [, , broken = ""] = body.split("\n\n");
    expect(complete).toBe(true);
    expect(() => JSON.parse(broken.slice(6)) as unknown).toThrow(SyntaxError);
  });
});

describe("unusual streams", () => {
  it("repeat their first chunk", async () => {
    const once = splitDeltas(await stream(simulator(), say("sim-text", "Hello")));
    const twice = splitDeltas(await stream(simulator(), say("sim-text:repeat_start=1", "Hello")));
    expect(twice).toEqual([once[0], ...once]);
  });

  it("split surrogate pairs", async () => {
    const deltas = splitDeltas(await stream(simulator(), say("sim-text:half_surrogates=1", "Hello")));
    const whole = await askMessage(simulator(), say("sim-text", "Hello"));
    const halves = deltas.map(({ content }) => String(content ?? "")).filter((text) => !text.isWellFormed());
    expect(halves.length).toBeGreaterThan(1);
    expect(deltas.map(({ content }) => content ?? "").join("")).toBe(whole.content);
  });

  it("have a large first delta", async () => {
    const chunks = await stream(simulator(), say("sim-text:frame_bytes=300000", "Hello"));
    const sizes = splitDeltas(chunks).map(({ content }) => String(content ?? "").length);
    expect(Math.max(...sizes)).toBeGreaterThanOrEqual(300_000);
    expect(joined(chunks, "content")).toContain("“Hello”");
  });
});

describe("ids of tool calls", () => {
  const collectIds = async (option: string): Promise<(string | undefined)[]> => {
    const request = say(`sim-tools:calls=3${option}`, "In Oslo?", { tools: [weatherTool] });
    const whole = ((await askMessage(simulator(), request)).tool_calls ?? []).map(({ id }) => id);
    const pieces = callPieces(await stream(simulator(), request)).filter(({ id }) => id !== undefined);
    expect(pieces).toHaveLength(whole.length);
    return whole;
  };

  it("are unique, repeated or empty", async () => {
    expect(new Set(await collectIds("")).size).toBe(3);
    expect(new Set(await collectIds(",repeat_ids=1")).size).toBe(1);
    expect(await collectIds(",no_ids=1")).toEqual(["", "", ""]);
  });
});
