import { describe, expect, it } from "vitest";
import { useSimulator } from "../support.ts";
import {
  ask,
  getParts,
  hello,
  parseObjects,
  post,
  raw,
  refusal,
  stream,
  textOf,
  user,
  weatherTool,
} from "./support.ts";

const simulator = useSimulator();

describe("status", () => {
  it.each([
    [400, "INVALID_ARGUMENT"],
    [401, "UNAUTHENTICATED"],
    [403, "PERMISSION_DENIED"],
    [404, "NOT_FOUND"],
    [409, "ABORTED"],
    [418, "INVALID_ARGUMENT"],
    [429, "RESOURCE_EXHAUSTED"],
    [499, "CANCELLED"],
    [500, "INTERNAL"],
    [501, "UNIMPLEMENTED"],
    [503, "UNAVAILABLE"],
    [504, "DEADLINE_EXCEEDED"],
    [529, "INTERNAL"],
  ])("returns the error body of %d", async (code, status) => {
    expect(await refusal(simulator(), hello, { model: `sim-text:status=${code}` })).toMatchObject({
      code,
      status,
      message: expect.stringMatching(/./) as string,
    });
  });

  it("returns the retry delay and the exceeded quota", async () => {
    const model = "sim-text:status=429,retry_after_ms=34400";
    const response = await post(simulator(), hello, { model });
    expect(response.headers.get("retry-after-ms")).toBe("34400");
    const { error } = (await response.json()) as { error: { message: string; details: object[] } };
    expect(error.message).toMatch(/\nPlease retry in 34\.4s\.$/);
    expect(error.details).toMatchObject([
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel", quotaValue: "10" }],
      },
      { "@type": "type.googleapis.com/google.rpc.Help" },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.4s" },
    ]);
  });

  it.each<[string, object]>([
    ["status=400,code=API_KEY_INVALID", { code: 400, details: [{ reason: "API_KEY_INVALID" }, {}] }],
    ["status=400,code=FAILED_PRECONDITION", { code: 400, status: "FAILED_PRECONDITION" }],
    [
      "status=400,code=context_length_exceeded",
      { message: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)." },
    ],
    [
      "status=429,code=insufficient_quota",
      {
        details: [{ violations: [{ quotaId: "GenerateRequestsPerDayPerProjectPerModel-FreeTier" }] }, {}, {}],
      },
    ],
    [
      "status=403,code=SERVICE_DISABLED",
      { status: "PERMISSION_DENIED", details: [{ reason: "SERVICE_DISABLED" }] },
    ],
  ])("takes the error of %s from the code", async (fault, error) => {
    expect(await refusal(simulator(), hello, { model: `sim-text:${fault}` })).toMatchObject(error);
  });
});

describe("error_after", () => {
  it("reports the failure as an event and ends the stream", async () => {
    const objects = await stream(simulator(), "sim-text:error_after=3,error_code=UNAVAILABLE");
    expect(objects).toHaveLength(4);
    expect(objects.at(-1)).toEqual({
      error: {
        code: 503,
        message: "The model is overloaded. Please try again later.",
        status: "UNAVAILABLE",
      },
    });
  });

  it("reports it as plain JSON after the events in the other styles", async () => {
    const { body, complete } = await raw(simulator(), "sim-text:error_after=2,error_style=failed");
    expect(complete).toBe(true);
    const frames = body.split("\r\n\r\n");
    expect(frames).toHaveLength(3);
    expect(JSON.parse(frames[2] ?? "")).toMatchObject({ error: { code: 500, status: "INTERNAL" } });
  });

  it.each([
    ["", 500, "INTERNAL"],
    [",error_code=server_is_overloaded", 503, "UNAVAILABLE"],
  ])("fails a whole answer (code%s)", async (code, status, canonical) => {
    const error = await refusal(simulator(), hello, { model: `sim-text:error_after=0${code}` });
    expect(error).toMatchObject({ code: status, status: canonical });
  });
});

describe("broken streams", () => {
  it("send only comments as keep-alives", async () => {
    const silent = await raw(simulator(), "sim-text:stall_after=2,keepalive_ms=20", {}, { quietMs: 500 });
    expect(parseObjects(silent.body)).toHaveLength(2);
    const isEnough = (text: string) => text.includes(": keepalive\n\n");
    const comments = "sim-text:stall_after=2,keepalive_ms=20,keepalive_style=comment";
    expect((await raw(simulator(), comments, {}, { isEnough })).body).toContain(": keepalive\n\n");
  });

  it.each([0, 1, 777])("are cut after %d bytes", async (bytes) => {
    const answer = await raw(simulator(), `sim-text:cut_bytes=${bytes}`);
    expect(answer).toMatchObject({ status: 200, bodyBytes: bytes, complete: false, closed: true });
  });

  it("are cut after events, and stall", async () => {
    const cut = await raw(simulator(), "sim-text:cut_events=4");
    expect(cut).toMatchObject({ complete: false, closed: true });
    expect(parseObjects(cut.body)).toHaveLength(4);
    const stalled = await raw(simulator(), "sim-text:stall_after=4", {}, { quietMs: 500 });
    expect(stalled).toMatchObject({ complete: false, closed: false });
    expect(parseObjects(stalled.body)).toHaveLength(4);
  });

  it("have one event with invalid JSON", async () => {
    const { body } = await raw(simulator(), "sim-text:malformed_after=2");
    const frames = body.split("\r\n\r\n").filter(Boolean);
    expect(frames[2]).toMatch(/^data: \{/);
    expect(() => JSON.parse((frames[2] ?? "").slice(6)) as unknown).toThrow(SyntaxError);
    expect(parseObjects(frames.toSpliced(2, 1).join("\r\n\r\n")).at(-1)?.candidates?.[0]?.finishReason).toBe(
      "STOP",
    );
  });

  it("end normally without their last event", async () => {
    const { body, complete } = await raw(simulator(), "sim-text:end_without_terminal=1");
    expect(complete).toBe(true);
    expect(body).not.toContain("finishReason");
    expect(parseObjects(body).length).toBeGreaterThan(5);
  });

  it("split an emoji between its surrogates", async () => {
    const { body } = await raw(simulator(), "sim-text:half_surrogates=1");
    expect(body).toMatch(/"text":"\\ud83e"[\s\S]*"text":"\\udded"/);
  });

  it("are split inside characters", async () => {
    const changes = { contents: [user("東京".repeat(90))] };
    const { chunks, body } = await raw(simulator(), "sim-text:chunk=random:42", changes);
    expect(chunks.some((chunk) => chunk.toString("utf8").includes("\ufffd"))).toBe(true);
    expect(textOf(...parseObjects(body))).toContain("東京");
  });

  it("begin with a large delta, or have a large call", async () => {
    const objects = await stream(simulator(), "sim-text:frame_bytes=300000");
    expect(
      getParts(objects[0] ?? (await ask(simulator(), "sim-text")))[0]?.text?.length,
    ).toBeGreaterThanOrEqual(300_000);
    const tools = [{ functionDeclarations: [weatherTool] }];
    const { body } = await raw(simulator(), "sim-tools:frame_bytes=300000", { tools });
    expect(body.length).toBeGreaterThan(300_000);
    expect(parseObjects(body).flatMap(getParts)[0]?.functionCall?.name).toBe("get_weather");
  });
});
