/** Requests and answers of the Gemini API that go through unchanged, since the provider speaks it as well. */
import { readFileSync } from "node:fs";
import { GeminiAdapter } from "outrigger";
import { describe, expect, it } from "vitest";
import { useTestServers } from "../../server/support/test-server.ts";
import { getRecordings, type Recording, toBytes } from "../../support/recordings.ts";
import { startApi } from "../support/api-server.ts";
import { startWireServer, type WireAnswer } from "../support/wire-server.ts";

const KEY = "AIza-test-0123456789";

const servers = useTestServers();

const JSON_TYPE = { "content-type": "application/json" };
const EVENT_TYPE = { "content-type": "text/event-stream" };

const BODY = { contents: [{ role: "user", parts: [{ text: "Hi", tint: 1 }] }], mood: { deep: [1] } };

const STREAM = [
  'data: {"candidates": [{"content": {"parts": [{"text": "Grüße","tint": 1.0}],"role": "model"},"index": 0}],"mood": 1e2}\r\n\r\n',
  'data: {"candidates": [{"content": {"parts": [{"text": " 👋"}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 3,"candidatesTokenCount": 7,"totalTokenCount": 10}}\r\n\r\n',
];

/** The recordings whose answers are errors to every caller, who gets the error alone. */
const NOT_RELAYED: readonly string[] = [
  // The provider refuses the key of the sidecar.
  "gemini/googleai-unary-failure-api-key.json",
  "gemini/vertex-streaming-failure-api-key.json",
  "gemini/vertex-unary-failure-api-key.json",
  // There is no answer, or it breaks off.
  "gemini/vertex-unary-failure-malformed-content.json",
  "gemini/vertex-streaming-failure-empty-content.sse",
  "gemini/vertex-streaming-failure-error-mid-stream.sse",
  "gemini/vertex-streaming-failure-invalid-json.sse",
  "gemini/vertex-streaming-failure-malformed-content.sse",
  "gemini/vertex-streaming-success-quotes-escaped.sse",
];

type Method = "generateContent" | "streamGenerateContent?alt=sse" | "streamGenerateContent";

async function start() {
  const provider = await startWireServer(servers);
  const adapters = [new GeminiAdapter({ apiKey: KEY, baseUrl: provider.url })];
  const sidecar = await startApi(servers, { adapters });
  const call = async (method: Method, body: object, answer: WireAnswer) => {
    provider.answers = [answer];
    const response = await sidecar.fetch(`/v1beta/models/gemini-2.5-flash:${method}`, {
      method: "POST",
      headers: JSON_TYPE,
      body: JSON.stringify(body),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    const sent = provider.requests.at(-1);
    return { status: response.status, bytes, text: bytes.toString(), sent };
  };
  return { call };
}

function getRequest({ file }: Recording): object | undefined {
  const name = file.replace(/\.(sse|json)$/, ".request.json");
  try {
    return JSON.parse(readFileSync(new URL(`../../recordings/${name}`, import.meta.url), "utf8"));
  } catch {
    return undefined;
  }
}

describe("A call of the Gemini API to a provider with that API", () => {
  it.each([".json", ".sse"] as const)(
    "goes through unchanged, for every recording: %s",
    async (ending) => {
      const { call } = await start();
      const odd: string[] = [];
      for (const recording of getRecordings("gemini", ending)) {
        const bytes = toBytes(recording);
        const body = getRequest(recording) ?? BODY;
        const isStream = ending === ".sse";
        const method = isStream ? "streamGenerateContent?alt=sse" : "generateContent";
        const headers = isStream ? EVENT_TYPE : JSON_TYPE;
        const answer = await call(method, body, { status: recording.status, body: [bytes], headers });
        expect(JSON.parse(answer.sent?.text ?? ""), recording.file).toEqual(body);
        expect(answer.sent?.path).toBe(`/v1beta/models/gemini-2.5-flash:${method}`);
        if (!answer.bytes.equals(bytes) || answer.status !== recording.status) {
          odd.push(recording.file);
          expect(answer.text).toContain('"error":{');
        }
      }
      expect(odd.filter((file) => !NOT_RELAYED.includes(file))).toEqual([]);
    },
    60_000,
  );

  it("is translated for a caller who asks for a list", async () => {
    const { call } = await start();
    const { text, sent } = await call("streamGenerateContent", BODY, { body: STREAM, headers: EVENT_TYPE });
    expect(sent?.path).toContain("alt=sse");
    expect(JSON.parse(text)).toBeInstanceOf(Array);
  });

  it("ends with an error if the stream is cut", async () => {
    const { call } = await start();
    const [first = ""] = STREAM;
    const answer = { body: [first, "data: {"], headers: EVENT_TYPE, isCut: true };
    const { text } = await call("streamGenerateContent?alt=sse", BODY, answer);
    expect(text.startsWith(first)).toBe(true);
    expect(text.slice(first.length)).toMatch(/^data: \{"error":\{/);
  });

  it("adds an error that is not an event to the failure that the provider reports", async () => {
    const { call } = await start();
    const [first = ""] = STREAM;
    const failure =
      'data: {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE", "mood": 1}}\n\n';
    const answer = { body: [first, failure], headers: EVENT_TYPE };
    const { text } = await call("streamGenerateContent?alt=sse", BODY, answer);
    expect(text.startsWith(first + failure)).toBe(true);
    const [event, bare = "", ...rest] = text.slice((first + failure).length).split("\r\n\r\n");
    expect(event).toBe(`data: ${bare}`);
    expect(JSON.parse(bare)).toMatchObject({ error: { code: 502, status: "UNAVAILABLE" } });
    expect(rest).toEqual([]);
  });

  it("lets the provider decide what it accepts, and passes its refusal without the key", async () => {
    const { call } = await start();
    const refusal = (key: string) =>
      `{"error": {"code": 400, "message": "no ${key}", "status": "ODD", "mood": 1}}`;
    const strange = {
      contents: [{ role: "oracle", parts: [{ text: "Hi" }] }],
      generationConfig: { temperature: -5 },
    };
    const answer = await call("generateContent", strange, {
      status: 400,
      body: [refusal(KEY)],
      headers: JSON_TYPE,
    });
    expect(JSON.parse(answer.sent?.text ?? "")).toEqual(strange);
    expect([answer.status, answer.text]).toEqual([400, refusal("(key)")]);
  });

  it("takes its model from the path", async () => {
    const { call } = await start();
    const { sent } = await call(
      "generateContent",
      { model: "models/costly", ...BODY },
      {
        body: ['{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}'],
        headers: JSON_TYPE,
      },
    );
    expect(JSON.parse(sent?.text ?? "")).toEqual(BODY);
  });
});
