/** Checks that all implementations return the same answers; otherwise they cannot be compared. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { clone, fromBinary, toJson } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { InferenceService } from "../src/gen/outrigger/v1/inference_service_pb.ts";
import { RequestSchema } from "../src/gen/outrigger/v1/request_pb.ts";
import { type Response, ResponseSchema } from "../src/gen/outrigger/v1/response_pb.ts";
import { type StreamEvent, StreamEventSchema } from "../src/gen/outrigger/v1/stream_event_pb.ts";
import { EVENTS_AROUND_DELTAS, writeExchange } from "./exchange.ts";
import { type Implementation, startImplementation } from "./implementations/implementation.ts";
import { startUpstream } from "./load/load.ts";

const DELTAS = 20;

/** The answers to a caller: the answer of Complete and the events of Stream, as JSON. */
interface Answers {
  readonly response: unknown;
  readonly events: readonly unknown[];
}

/** Starts an upstream that answers with the script in a file. */
export type StartUpstream = (options: { readonly script: string }) => Promise<
  AsyncDisposable & {
    /** Host and port. */
    readonly address: string;
  }
>;

/**
 * Calls each implementation once with Complete and once with Stream.
 * @param start Default: the upstream of the load generator.
 * @throws Error with the difference, if one answers differently from the first.
 */
export async function checkAnswers(
  implementations: readonly Implementation[],
  start: StartUpstream = startUpstream,
): Promise<void> {
  const files = await writeExchange({ deltas: DELTAS, clocked: false });
  await using upstream = await start({ script: files.script });
  let expected: Answers | undefined;
  for (const implementation of implementations) {
    const answers = await callImplementation(implementation, upstream.address, files.binaryRequest);
    expected ??= answers;
    deepStrictEqual(answers.events.length, DELTAS + EVENTS_AROUND_DELTAS, `events of ${implementation.name}`);
    compare(implementation, answers, expected);
  }
}

function compare({ name }: Implementation, answers: Answers, expected: Answers): void {
  try {
    deepStrictEqual(answers, expected);
  } catch (difference) {
    const text = difference instanceof Error ? difference.message : String(difference);
    throw new Error(`${name} answers differently from the first implementation:\n${text}`);
  }
}

async function callImplementation(
  implementation: Implementation,
  upstream: string,
  requestFile: string,
): Promise<Answers> {
  const running = await startImplementation(implementation, upstream);
  try {
    const transport = createGrpcTransport({ baseUrl: `http://${running.address}` });
    const client = createClient(InferenceService, transport);
    const request = fromBinary(RequestSchema, await readFile(requestFile));
    const options = { timeoutMs: 10_000 };
    const events: unknown[] = [];
    for await (const event of client.stream(request, options)) events.push(comparableEvent(event));
    return { response: comparableResponse(await client.complete(request, options)), events };
  } finally {
    await running.stop();
  }
}

function comparableEvent(original: StreamEvent): unknown {
  const event = clone(StreamEventSchema, original);
  event.elapsedMs = 0;
  if (event.event.case === "streamStart") {
    const start = event.event.value;
    start.inferenceId = getShape(start.inferenceId);
    ok(start.startedAt !== undefined, "stream_start.started_at is not set");
    delete start.startedAt;
  }
  if (event.event.case === "finish") blankOut(event.event.value.response);
  return toJson(StreamEventSchema, event);
}

function comparableResponse(original: Response): unknown {
  const response = clone(ResponseSchema, original);
  blankOut(response);
  return toJson(ResponseSchema, response);
}

/** Removes values that differ from call to call; fails if one is missing. */
function blankOut(response: Response | undefined): void {
  ok(response?.rateLimit?.resetAt !== undefined, "rate_limit.reset_at is not set");
  delete response.rateLimit.resetAt;
  ok(response.createdAt !== undefined, "created_at is not set");
  delete response.createdAt;
  response.inferenceId = getShape(response.inferenceId);
}

/** An id with its hexadecimal digits replaced by zeros. */
function getShape(id: string): string {
  return id.replace(/[0-9a-f]/g, "0");
}
