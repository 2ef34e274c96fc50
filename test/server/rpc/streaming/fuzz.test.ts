/**
 * Bytes that no well-behaved client sends, in every protocol of streams. Each call must end as its protocol says,
 * release its resources, and not affect the next call.
 */
import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Base64Decoder } from "../../../../src/server/http/grpc-web-text.ts";
import { frame, openStream, type RawAnswer, readAnswer, splitFrames } from "../../support/raw-http2.ts";
import { useTestServers } from "../../support/test-server.ts";
import { type RunningTestService, startTestService } from "../../support/test-service.ts";

const servers = useTestServers();

const MAX_MESSAGE_BYTES = 2000;

async function start(): Promise<RunningTestService> {
  const service = await startTestService(
    {
      async *streamingOutputCall({ responseParameters }) {
        for (const _ of responseParameters) yield { payload: { body: new Uint8Array(3) } };
      },
      async *fullDuplexCall(requests) {
        for await (const _ of requests) yield {};
      },
    },
    { maxMessageBytes: MAX_MESSAGE_BYTES },
  );
  servers.onEnd(() => service.close());
  return service;
}

const jsonText = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.constantFrom(
    "{}",
    '{"responseParameters":[{"size":1},{}]}',
    '{"responseParameters":5}',
    '{"a":1}',
    "{",
    "",
  ),
);

const payload = fc.oneof(
  fc.uint8Array({ maxLength: 60 }),
  jsonText.map((text) => new Uint8Array(Buffer.from(text))),
  jsonText.map((text) => new Uint8Array(gzipSync(text))),
  fc.constantFrom(Uint8Array.of(0x12, 2, 0xc3, 0x28), Uint8Array.of(0x1a, 0x7f, 1), new Uint8Array(3000)),
  fc.constant(new Uint8Array(gzipSync(new Uint8Array(100_000)))),
);

const lyingFrame = fc
  .tuple(payload, fc.constantFrom(0, 0, 0, 1, 2, 128, 255), fc.constantFrom(0, 0, 0, -1, 1, 100, 2 ** 31))
  .map(([bytes, flags, lie]) => frame(bytes, flags, Math.max(0, bytes.byteLength + lie)));

const frames = fc.array(lyingFrame, { maxLength: 3 }).map((list) => Buffer.concat(list));

const text = fc.oneof(
  frames.map((bytes) => Buffer.from(bytes.toString("base64"))),
  fc.string({ maxLength: 40 }).map((value) => Buffer.from(value)),
);

const whole = payload.map((bytes) => Buffer.from(bytes));

const headers = fc.record(
  {
    "grpc-encoding": fc.constantFrom("gzip", "identity", "br", "zip"),
    "connect-content-encoding": fc.constantFrom("gzip", "identity", "br", "zip"),
    "content-encoding": fc.constantFrom("gzip", "identity", "br", "zip"),
    "connect-accept-encoding": fc.constantFrom("gzip", ",,,", "br;q=0"),
    "grpc-timeout": fc.constantFrom("5S", "soon", "99999999H", "-1S"),
    "connect-timeout-ms": fc.constantFrom("5000", "soon", "9999999999", "-1", "1".repeat(50)),
    "trace-bin": fc.constantFrom("AAE=", "%%%", "\u00ff\u00fe"),
  },
  { requiredKeys: [] },
);

/** A protocol: its headers, what is sent in it, and the check of how the answer ended. */
interface Form {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: fc.Arbitrary<Buffer>;
  readonly methods: readonly string[];
  readonly expectEnd: (answer: RawAnswer) => void;
}

function expectConnectEnd({ headers: received, body }: RawAnswer): void {
  expect(received[":status"]).toBe(200);
  const list = splitFrames(body);
  expect(list.map(({ flags }) => flags)).toEqual([...Array(list.length - 1).fill(0), 2]);
  const { error } = JSON.parse(String(list.at(-1)?.message));
  if (error !== undefined) expect(CONNECT_CODES).toContain(error.code);
}

function expectWebEnd({ headers: received, body }: RawAnswer): void {
  expect(received[":status"]).toBe(200);
  const list = splitFrames(body);
  expect(list.map(({ flags }) => flags)).toEqual([...Array(list.length - 1).fill(0), 0x80]);
  expect(String(list.at(-1)?.message)).toMatch(/^grpc-status: (?:0|3|8|12|13)\r\n/m);
}

function expectWebTextEnd({ headers: received, body }: RawAnswer): void {
  const decoder = new Base64Decoder();
  const bytes = decoder.decode(body);
  decoder.end();
  expectWebEnd({ headers: received, trailers: {}, body: bytes });
}

function expectLinesEnd({ headers: received, body }: RawAnswer): void {
  if (Number(received[":status"]) === 200) {
    for (const line of String(body).split("\n").slice(0, -1)) JSON.parse(line);
  } else expect(CONNECT_CODES).toContain(JSON.parse(String(body)).code);
}

const CONNECT_CODES = ["invalid_argument", "resource_exhausted", "unimplemented", "internal"];
const BOTH = ["StreamingOutputCall", "FullDuplexCall"];

const FORMS: Readonly<Record<string, Form>> = {
  "Connect's binary form": {
    headers: { "content-type": "application/connect+proto" },
    body: frames,
    methods: BOTH,
    expectEnd: expectConnectEnd,
  },
  "Connect JSON": {
    headers: { "content-type": "application/connect+json" },
    body: frames,
    methods: BOTH,
    expectEnd: expectConnectEnd,
  },
  "gRPC-Web": {
    headers: { "content-type": "application/grpc-web+proto" },
    body: frames,
    methods: BOTH,
    expectEnd: expectWebEnd,
  },
  "gRPC-Web as text": {
    headers: { "content-type": "application/grpc-web-text" },
    body: text,
    methods: BOTH,
    expectEnd: expectWebTextEnd,
  },
  "JSON lines": {
    headers: { "content-type": "application/json", accept: "application/x-ndjson" },
    body: whole,
    methods: ["StreamingOutputCall"],
    expectEnd: expectLinesEnd,
  },
};

/** Splits bytes at the given places. */
function splitAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...cuts.map((cut) => cut % (bytes.byteLength + 1)), bytes.byteLength].sort((a, b) => a - b);
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}

describe.each(Object.entries(FORMS))("a request of any bytes as %s", (_name, form) => {
  it("ends as its protocol says, however it is split", async () => {
    const service = await start();
    const session = http2.connect(service.url);
    servers.onEnd(() => session.destroy());
    const exchange = async (method: string, fields: Record<string, string>, chunks: readonly Buffer[]) => {
      const stream = openStream(session, `/grpc.testing.TestService/${method}`, {
        ...fields,
        ...form.headers,
      });
      for (const chunk of chunks) stream.write(chunk);
      stream.end();
      return readAnswer(stream);
    };
    const cutPlaces = fc.array(fc.nat(), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...form.methods),
        headers,
        form.body,
        cutPlaces,
        async (method, fields, bytes, cuts) => {
          form.expectEnd(await exchange(method, fields as Record<string, string>, splitAt(bytes, cuts)));
        },
      ),
      { numRuns: 150 },
    );
    await expect.poll(() => service.metrics.render()).toContain("outrigger_inflight 0");
    expect(service.log.filter((line) => "fault" in line)).toEqual([]);
  });
});
