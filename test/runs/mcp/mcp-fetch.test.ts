import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { NetworkError } from "../../../src/core/errors.ts";
import { McpServerSchema } from "../../../src/gen/outrigger/v1/run_pb.ts";
import type { HttpAnswer, HttpTransport } from "../../../src/kit/http/transport.ts";
import { McpCall } from "../../../src/runs/mcp/current-call.ts";
import { createMcpFetch } from "../../../src/runs/mcp/mcp-fetch.ts";
import { DEFAULT_MCP_LIMITS } from "../../../src/runs/mcp/settings.ts";

const url = new URL("https://mcp.example.com/mcp");

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  readonly body?: unknown;
}

/** An answer with some chunks, which notes its end. */
function createAnswer(status: number, chunks: readonly string[], failure?: Error) {
  const calls: string[] = [];
  async function* read() {
    for (const chunk of chunks) yield Buffer.from(chunk);
    if (failure !== undefined) throw failure;
  }
  const answer = {
    status,
    headers: [["content-type", "text/plain"]],
    body: read(),
    destroy: () => void calls.push("destroy"),
    release: () => void calls.push("release"),
  };
  return { answer: answer as unknown as HttpAnswer, calls };
}

/** The fetch of a connection whose server gives one answer. */
function connect({ answer }: { answer: HttpAnswer }, limits = {}, session?: { onAnswerEnd(): void }) {
  const sent: Sent[] = [];
  const send = (method: string) => async (path: string, options: Omit<Sent, "method" | "path">) => {
    sent.push({ method, path, ...options });
    return answer;
  };
  const transport = { get: send("GET"), post: send("POST"), delete: send("DELETE") };
  const endpoint = { server: create(McpServerSchema), url, headers: { "x-key": "k" } };
  const bounds = { ...DEFAULT_MCP_LIMITS, ...limits };
  const fetch = createMcpFetch(transport as unknown as HttpTransport, endpoint, bounds, session);
  return { fetch, sent };
}

/** Runs a fetch inside of a call, and keeps the call open until the returned function is called. */
function openCall(): {
  readonly call: McpCall;
  readonly within: <Value>(work: () => Promise<Value>) => Promise<Value>;
} {
  const call = new McpCall(undefined, { ms: 60_000, what: "the call" });
  return { call, within: (work) => call.run(work) };
}

describe("the requests to an MCP server", () => {
  it("go to the path of the address, with the server's headers and those of the protocol", async () => {
    const { fetch, sent } = connect(createAnswer(200, ["ok"]));
    const init = { method: "POST", headers: { "Mcp-Session-Id": "s" }, body: "{}" };
    const response = await fetch("https://mcp.example.com/mcp?x=1", init);
    expect([response.status, await response.text()]).toEqual([200, "ok"]);
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(sent).toEqual([
      {
        method: "POST",
        path: "/mcp?x=1",
        headers: { "x-key": "k", "mcp-session-id": "s" },
        signal: undefined,
        body: "{}",
      },
    ]);
  });

  it("go to no other origin", async () => {
    const { fetch, sent } = connect(createAnswer(200, []));
    for (const address of [
      "https://mcp.example.com:444/",
      "http://mcp.example.com/",
      "https://evil.example.net/",
    ])
      await expect(fetch(address, { method: "POST" })).rejects.toThrow("refers to another address");
    expect(sent).toEqual([]);
  });

  it("end with the call that they belong to, and count for it", async () => {
    const { fetch, sent } = connect(createAnswer(200, ["ok"]));
    const { call, within } = openCall();
    await within(() => fetch(url, { method: "POST" }));
    expect(sent[0]?.signal).toBe(call.signal);
    const cancelled = openCall();
    await cancelled
      .within(async () => {
        cancelled.call.stop(new Error("cancelled"));
        await fetch(url, { method: "POST" });
      })
      .catch(() => {});
    // The server is notified of the cancellation.
    expect(sent[1]?.signal).toBeUndefined();
    const many = openCall();
    await expect(
      many.within(async () => {
        for (let count = 0; count < 257; count += 1) await fetch(url, { method: "POST" });
      }),
    ).rejects.toThrow("more than 256 HTTP exchanges");
    expect(sent).toHaveLength(2 + 256);
  });

  it("may delete the session, and resume an answer", async () => {
    const { fetch, sent } = connect(createAnswer(200, []));
    await fetch(url, { method: "DELETE" });
    await fetch(url, { headers: { "last-event-id": "7" } });
    expect(sent.map(({ method, body }) => [method, body])).toEqual([
      ["DELETE", undefined],
      ["GET", undefined],
    ]);
  });

  it("open a stream of the session only for the transport of the first revision, outside of calls", async () => {
    const modern = connect(createAnswer(200, []));
    expect((await modern.fetch(url)).status).toBe(405);
    expect(modern.sent).toEqual([]);
    const older = connect(createAnswer(200, []), {}, { onAnswerEnd: () => {} });
    const { call, within } = openCall();
    await within(() => older.fetch(url, { headers: { "last-event-id": "7" } }));
    expect(older.sent[0]?.signal).not.toBe(call.signal);
  });
});

describe("the answer of an MCP server", () => {
  it.each([300, 301, 399])("is not followed if it is a redirect (%i)", async (status) => {
    const made = createAnswer(status, []);
    await expect(connect(made).fetch(url, { method: "POST" })).rejects.toMatchObject({
      name: "NetworkError",
      retryable: false,
      message: `the MCP server sent a redirect (status ${status}), which is not followed`,
    });
    expect(made.calls).toEqual(["destroy"]);
  });

  it.each([204, 205])("has no body with status %i", async (status) => {
    const made = createAnswer(status, []);
    const response = await connect(made).fetch(url, { method: "POST" });
    expect([response.status, response.body]).toEqual([status, null]);
    expect(made.calls).toEqual(["release"]);
  });

  it("is limited as configured if it is a success", async () => {
    const read = async (status: number, length: number) => {
      const { fetch } = connect(createAnswer(status, ["x".repeat(length)]), { maxAnswerBytes: 200_000 });
      return (await (await fetch(url, { method: "POST" })).text()).length;
    };
    for (const status of [200, 299]) {
      expect(await read(status, 200_000)).toBe(200_000);
      await expect(read(status, 200_001)).rejects.toThrow("more than 200000 bytes");
    }
  });

  it("is limited to 64 KiB otherwise", async () => {
    const read = async (status: number, length: number) => {
      const { fetch } = connect(createAnswer(status, ["x".repeat(length)]));
      return (await (await fetch(url, { method: "POST" })).text()).length;
    };
    for (const status of [400, 500]) {
      expect(await read(status, 65_536)).toBe(65_536);
      await expect(read(status, 65_537)).rejects.toThrow("more than 65536 bytes");
    }
  });

  it("arrives in slices of 4 KiB without losses between them", async () => {
    const text = Array.from({ length: 2000 }, (_, index) => `word ${index}`).join(" ");
    const { fetch } = connect(createAnswer(200, [text, "end"]));
    const { body } = await fetch(url, { method: "POST" });
    const slices: Buffer[] = [];
    for await (const slice of body ?? []) slices.push(Buffer.from(slice));
    expect(Buffer.concat(slices).toString()).toBe(`${text}end`);
    const full = Math.floor(text.length / 4096);
    expect(slices.map(({ length }) => length)).toEqual([
      ...Array.from({ length: full }, () => 4096),
      text.length % 4096,
      3,
    ]);
  });

  it("is closed if its reader leaves", async () => {
    const made = createAnswer(200, ["a", "b"]);
    const { body } = await connect(made).fetch(url, { method: "POST" });
    await body?.cancel();
    expect(made.calls).toEqual(["destroy"]);
  });

  it("reports its end to the session that has one stream", async () => {
    const ends: unknown[] = [];
    const session = { onAnswerEnd: (failure?: unknown) => void ends.push(failure) };
    const whole = connect(createAnswer(200, ["a"]), {}, session);
    await (await whole.fetch(url)).text();
    expect(ends).toMatchObject([{ message: "the MCP server ended its answer without a result" }]);
    const lost = new NetworkError("lost");
    const made = createAnswer(200, ["a"], lost);
    const broken = connect(made, {}, session);
    await expect((await broken.fetch(url)).text()).rejects.toThrow();
    expect(ends.slice(1)).toEqual([lost]);
    expect(made.calls).toEqual(["destroy"]);
  });

  it("reports its end to its call otherwise", async () => {
    const { fetch } = connect(createAnswer(200, ["a"]), {}, { onAnswerEnd: () => expect.fail() });
    const { call, within } = openCall();
    const ends: unknown[] = [];
    call.onAnswerEnd = (failure) => void ends.push(failure);
    await within(async () => (await fetch(url, { method: "POST" })).text());
    expect(ends).toHaveLength(1);
  });
});
