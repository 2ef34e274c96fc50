/** Requests read from a body in memory: how long the reader waits for bytes, and what it accounts for. */
import { PassThrough } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, it, vi } from "vitest";
import { RequestSchema } from "../../../../src/gen/outrigger/v1/request_pb.ts";
import { DEFAULT_LIMITS } from "../../../../src/server/base/limits.ts";
import { binaryCodec } from "../../../../src/server/requests/codec.ts";
import { createIntake } from "../../../../src/server/requests/intake.ts";
import { FrameReader } from "../../../../src/server/rpc/grpc/frames.ts";
import {
  RequestMessages,
  type RequestOptions,
  SingleRequest,
} from "../../../../src/server/rpc/grpc/request.ts";
import { frame } from "../../support/raw-http2.ts";

const LIMITS = { ...DEFAULT_LIMITS, requestTimeoutMs: 60_000, stallTimeoutMs: 10_000 };

const MESSAGE = frame(toBinary(RequestSchema, create(RequestSchema, { model: "m".repeat(200_000) })));

function createOptions(): RequestOptions {
  const intake = createIntake(LIMITS);
  const share = intake.memory.begin();
  const { maxMessageBytes } = LIMITS;
  return {
    frames: new FrameReader({ maxMessageBytes, strictFlags: true, share }),
    compression: undefined,
    codec: binaryCodec(RequestSchema),
    intake,
    share,
  };
}

it("A reader of several messages waits as long as the client wants, but not in the middle of one", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const body = new PassThrough();
    const requests = new RequestMessages(body, createOptions());
    body.write(MESSAGE);
    await requests.next();
    const second = requests.next();
    vi.advanceTimersByTime(600_000);
    for (const piece of [MESSAGE.subarray(0, 7), MESSAGE.subarray(7, 8), MESSAGE.subarray(8)]) {
      body.write(piece);
      await nextTurn();
      vi.advanceTimersByTime(8000);
    }
    expect((await second).done).toBe(false);
    const third = requests.next();
    body.write(MESSAGE.subarray(0, 7));
    await nextTurn();
    vi.advanceTimersByTime(12_000);
    await expect(third).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  } finally {
    vi.useRealTimers();
  }
});

it("A reader of several messages gets the failure of a message over the limit, and frees what came before", async () => {
  const body = new PassThrough();
  const options = createOptions();
  const requests = new RequestMessages(body, options);
  body.write(Buffer.concat([MESSAGE, frame(Buffer.alloc(0), 0, LIMITS.maxMessageBytes + 1)]));
  await expect(requests.next()).rejects.toMatchObject({ code: Code.ResourceExhausted });
  expect(options.intake.memory.usedBytes).toBe(0);
});

it("A message is accounted for until the next one is read", async () => {
  const body = new PassThrough();
  const options = createOptions();
  const requests = new RequestMessages(body, options);
  body.end(MESSAGE);
  await requests.next();
  expect(options.intake.memory.usedBytes).toBeGreaterThan(100_000);
  expect((await requests.next()).done).toBe(true);
  expect(options.intake.memory.usedBytes).toBe(0);
});

it("A request that has arrived is accounted for until its call ends, although the client goes away", async () => {
  const body = new PassThrough();
  const options = createOptions();
  const request = new SingleRequest(body, options);
  body.end(MESSAGE);
  await request.message;
  const { usedBytes } = options.intake.memory;
  expect(usedBytes).toBeGreaterThan(100_000);
  request.fail(new Error("gone"));
  expect(options.intake.memory.usedBytes).toBe(usedBytes);
});
