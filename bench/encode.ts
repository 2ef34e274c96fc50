/**
 * The cost of encoding one event of a stream: `node bench/encode.ts`. Compares the encoder of the gRPC transport with
 * `toBinary` of protobuf-es, for the most frequent event and for the largest. Both alternate in one process; the table
 * shows nanoseconds per event, the median of all rounds. "separate" is a chunk for each event, "shared" one chunk for
 * all that are ready.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { toMessageEncoder } from "../src/core/message-encoder.ts";
import { ByteSink } from "../src/core/scalar-formats.ts";
import { Role } from "../src/gen/outrigger/v1/message_pb.ts";
import { FinishReason_Reason as Reason } from "../src/gen/outrigger/v1/response_pb.ts";
import {
  FinishSchema,
  type StreamEvent,
  StreamEventSchema,
} from "../src/gen/outrigger/v1/stream_event_pb.ts";

const ROUNDS = 1_000;

/** Events per round, few enough that most rounds are not interrupted. */
const EVENTS = 100;

/** Encodes the events. @returns The number of bytes, so that the work cannot be optimised away. */
type Implementation = (events: readonly StreamEvent[]) => number;

const sink = new ByteSink();
const encode = toMessageEncoder(StreamEventSchema);

const implementations: Readonly<Record<string, Implementation>> = {
  toBinary(events) {
    let bytes = 0;
    for (const event of events) bytes += toBinary(StreamEventSchema, event).length;
    return bytes;
  },
  separate(events) {
    let bytes = 0;
    for (const event of events) {
      sink.start();
      encode(event, sink);
      bytes += sink.take().length;
    }
    return bytes;
  },
  shared(events) {
    sink.start();
    for (const event of events) encode(event, sink);
    return sink.take().length;
  },
};

/** The stream writer creates deltas as literals, and everything else with `create`. */
function delta(sequence: number): StreamEvent {
  return {
    $typeName: "outrigger.v1.StreamEvent",
    sequence,
    elapsedMs: 20 * sequence,
    event: { case: "textDelta", value: { $typeName: "outrigger.v1.TextDelta", partIndex: 0, delta: " the" } },
  };
}

function finish(sequence: number): StreamEvent {
  const finishReason = { reason: Reason.STOP, raw: "stop" };
  const usage = { inputTokens: 1234, outputTokens: 456, totalTokens: 1690, cacheReadTokens: 1024 };
  const text = "The quick brown fox jumps over the lazy dog. ".repeat(42);
  const value = create(FinishSchema, {
    finishReason,
    usage,
    response: {
      id: "resp_68c0a1d2b3f4819e",
      model: "gpt-5",
      provider: "openai",
      message: { role: Role.ASSISTANT, content: [{ part: { case: "text", value: text } }] },
      finishReason,
      usage,
      inferenceId: "inf_0d5c6f7e8a9b",
      providerRequestId: "req_9f8e7d6c5b4a",
    },
  });
  return { ...delta(sequence), event: { case: "finish", value } };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[values.length >> 1] ?? 0;
}

/** Nanoseconds per event of each implementation. */
function measure(events: readonly StreamEvent[]): Record<string, number> {
  const rounds = Object.entries(implementations).map(([name, run]) => ({ name, run, nanos: [] as number[] }));
  const expected = implementations.toBinary?.(events);
  for (let round = 0; round < 2 * ROUNDS; round++) {
    for (const { name, run, nanos } of rounds) {
      const start = process.hrtime.bigint();
      const bytes = run(events);
      const taken = Number(process.hrtime.bigint() - start) / events.length;
      if (bytes !== expected) throw new Error(`${name} wrote ${bytes} bytes, expected ${expected}`);
      // The first half warms up.
      if (round >= ROUNDS) nanos.push(taken);
    }
  }
  return Object.fromEntries(rounds.map(({ name, nanos }) => [name, median(nanos)]));
}

function print(cells: readonly string[]): void {
  process.stdout.write(
    `${cells.map((cell, at) => (at === 0 ? cell.padEnd(22) : cell.padStart(9))).join("")}\n`,
  );
}

function getEvents(make: (sequence: number) => StreamEvent): StreamEvent[] {
  return Array.from({ length: EVENTS }, (_, at) => make(100 + at));
}

const kinds = { "delta of 4 characters": getEvents(delta), "finish with 2 KB": getEvents(finish) };
// A server encodes messages of many types; V8 must see them before it optimises the code.
for (const events of Object.values(kinds)) measure(events);
print(["event", "bytes", "toBinary", "separate", "shared", "ratio"]);
for (const [name, events] of Object.entries(kinds)) {
  const { toBinary = 0, separate = 0, shared = 0 } = measure(events);
  const bytes = implementations.toBinary?.(events.slice(0, 1)) ?? 0;
  print([
    name,
    ...[bytes, toBinary, separate, shared].map((cell) => cell.toFixed(0)),
    (toBinary / separate).toFixed(1),
  ]);
}
