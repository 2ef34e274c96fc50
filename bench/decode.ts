/**
 * The cost of decoding one event of a provider's stream, from the bytes of the socket to the caller's
 * loop: `node bench/decode.ts [wire format ...]`. Replays the long streams of test/recordings in this
 * process, through a Client and its adapter but without a socket, and prints CPU time per provider event
 * and bytes per second. A read returns one event, as while a model is writing, or 16 KiB, as when the
 * reader has fallen behind.
 */
import { Client } from "../src/client/client.ts";
import { userMessage } from "../src/core/message.ts";
import { HttpAdapter, type Protocol } from "../src/kit/adapter/http-adapter.ts";
import { createHeaders, type HttpTransport } from "../src/kit/http/transport.ts";
import { MessagesDecoder } from "../src/providers/anthropic-messages/stream.ts";
import { GeminiDecoder } from "../src/providers/gemini/stream.ts";
import { getProfile } from "../src/providers/openai-chat/profiles.ts";
import { ChatDecoder } from "../src/providers/openai-chat/stream.ts";
import { ResponsesDecoder } from "../src/providers/openai-responses/stream.ts";
import { getRecordings, toBytes } from "../test/support/recordings.ts";

/** Minimum number of events of a recording, so that the fixed cost of a call is negligible. */
const MIN_EVENTS = 25;

/** Number of measured rounds; the table shows their median. */
const ROUNDS = 9;

/** Minimum CPU time of a round, in microseconds. */
const ROUND_MICROS = 400_000;

const READ_BYTES = 16 * 1024;

/** How the streams of a wire format are decoded, by the folder of its recordings. */
const decoders: Readonly<Record<string, Protocol["createDecoder"]>> = {
  "openai-responses": (facts, writer) => new ResponsesDecoder(facts, writer),
  "anthropic-messages": (facts, writer) => new MessagesDecoder(facts, writer),
  gemini: (facts, writer) => new GeminiDecoder(facts, writer),
  "openai-chat": (facts, writer) => new ChatDecoder(facts, writer, plainProfile),
};

const plainProfile = getProfile(undefined, "http://127.0.0.1/v1");

/** The successive reads of a socket. */
type Reads = readonly Uint8Array[];

/** Replays reads of a socket as their reader asks for them. */
function replay(reads: Reads): AsyncIterable<Uint8Array> {
  const iterator = reads.values();
  return { [Symbol.asyncIterator]: () => ({ next: async () => iterator.next() }) };
}

/** A client whose provider answers with the recordings in turn, repeatedly. */
function clientFor(createDecoder: Protocol["createDecoder"], recordings: readonly Reads[]): Client {
  let at = 0;
  const post: HttpTransport["post"] = async () => {
    const body = replay(recordings[at++ % recordings.length] ?? []);
    const headers = createHeaders({ "content-type": "text/event-stream" });
    return { status: 200, headers, body, text: unused, destroy: () => {}, release: () => {} };
  };
  const protocol: Protocol = {
    toWire: async () => ({ path: "/", headers: {}, body: "{}", warnings: [] }),
    toResponse: unused,
    createDecoder,
    toError: unused,
    getRateLimit: () => undefined,
    getRequestId: () => "",
  };
  const transport = { post, get: unused, delete: unused, close: async () => {} };
  return new Client({
    providers: { replay: new HttpAdapter({ name: "replay", protocol, transport, headers: {} }) },
  });
}

function unused(): never {
  throw new Error("not used by streams");
}

/** Reads all recordings once, as the server does. Throws if one does not end in `finish`. */
async function readAll(client: Client, recordings: readonly Reads[]): Promise<void> {
  for (const _ of recordings) {
    let last: string | undefined;
    for await (const batch of client.stream(REQUEST).batches()) last = batch.at(-1)?.event.case ?? last;
    if (last !== "finish") throw new Error(`a recording ended with ${last}`);
  }
}

const REQUEST = { model: "m", messages: [userMessage("Say something long.")] };

/** CPU time of reading all recordings once, in microseconds: the median of the rounds. */
async function measure(client: Client, recordings: readonly Reads[]): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const start = process.cpuUsage();
    let times = 0;
    let micros = 0;
    for (; micros < ROUND_MICROS; times += 1) {
      await readAll(client, recordings);
      const { user, system } = process.cpuUsage(start);
      micros = user + system;
    }
    // The first round warms up.
    if (round > 0) rounds.push(micros / times);
  }
  return rounds.sort((left, right) => left - right)[ROUNDS >> 1] ?? 0;
}

/** The events of a stream as they are on the wire, each with its blank line. */
function eventsIn(bytes: Buffer): Buffer[] {
  const text = bytes.toString("latin1");
  return Array.from(text.matchAll(/[\s\S]+?(?:\r?\n\r?\n|$)/g), ([event]) => Buffer.from(event, "latin1"));
}

function splitReads(bytes: Buffer, size: number): Buffer[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** The recordings of a wire format that are long enough and end with `finish`. */
async function longStreams(folder: string, createDecoder: Protocol["createDecoder"]): Promise<Buffer[]> {
  const streams = getRecordings(folder, ".sse").map(toBytes);
  const long = streams.filter((bytes) => eventsIn(bytes).length >= MIN_EVENTS);
  const areWell = await Promise.all(long.map((bytes) => endsWithFinish(createDecoder, [bytes])));
  return long.filter((_, at) => areWell[at]);
}

function endsWithFinish(createDecoder: Protocol["createDecoder"], reads: Reads): Promise<boolean> {
  return readAll(clientFor(createDecoder, [reads]), [reads]).then(
    () => true,
    () => false,
  );
}

async function report(folder: string, createDecoder: Protocol["createDecoder"]): Promise<void> {
  const streams = await longStreams(folder, createDecoder);
  const events = streams.flatMap(eventsIn).length;
  const bytes = streams.reduce((sum, { length }) => sum + length, 0);
  const kinds = { "one event": eventsIn, "16 KiB": (stream: Buffer) => splitReads(stream, READ_BYTES) };
  for (const [kind, cut] of Object.entries(kinds)) {
    const recordings = streams.map(cut);
    const micros = await measure(clientFor(createDecoder, recordings), recordings);
    const cells = [((micros * 1000) / events).toFixed(0), (bytes / micros).toFixed(1)];
    print([folder, String(streams.length), String(events), kind, ...cells]);
  }
}

const WIDTHS = [20, 9, 8, 11, 10, 6];

function print(cells: readonly string[]): void {
  process.stdout.write(`${cells.map((cell, at) => cell.padEnd(WIDTHS[at] ?? 0)).join("")}\n`);
}

const formats = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(decoders);
print(["wire format", "streams", "events", "read size", "ns/event", "MB/s"]);
for (const format of formats) {
  const createDecoder = decoders[format];
  if (createDecoder === undefined)
    throw new Error(`no wire format ${format}; expected ${Object.keys(decoders).join(", ")}`);
  await report(format, createDecoder);
}
