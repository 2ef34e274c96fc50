import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { LawChecker } from "../../src/core/laws.ts";
import { withTerminalEvent } from "../../src/core/streamed-call.ts";
import { RequestSchema } from "../../src/gen/outrigger/v1/request_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import type { CallFacts } from "../../src/kit/call/call-facts.ts";
import { type DecodeOptions, decodeStream, type StreamDecoder } from "../../src/kit/stream/decode-stream.ts";
import { StreamWriter } from "../../src/kit/stream/stream-writer.ts";

/** Call facts for tests. */
export function factsFor(provider: string, request: MessageInitShape<typeof RequestSchema>): CallFacts {
  return {
    request: create(RequestSchema, request),
    provider,
    inferenceId: "inf_test",
    acceptedAt: 0,
    warnings: [],
    rateLimit: undefined,
    providerRequestId: "",
  };
}

/** The result of decoding a stream: its events, and the error at its end. */
export interface Decoded {
  readonly events: StreamEvent[];
  readonly error: unknown;
}

/**
 * Runs a decoder over chunks of bytes, checking every event against the laws.
 * @param relay Relays the stream to a caller, who has no need of single deltas.
 */
export async function decode(
  chunks: Iterable<Uint8Array>,
  facts: CallFacts,
  decoderOf: (facts: CallFacts, writer: StreamWriter) => StreamDecoder,
  relay?: DecodeOptions["relay"],
): Promise<Decoded> {
  const writer = new StreamWriter(facts, () => 0);
  writer.joinsDeltas = relay !== undefined;
  const laws = new LawChecker();
  const events: StreamEvent[] = [];
  let error: unknown;
  try {
    for await (const batch of withTerminalEvent(
      decodeStream(getBody(chunks), decoderOf(facts, writer), writer, { relay }),
      { now: () => 0 },
    )) {
      for (const event of batch) {
        laws.check(event);
        events.push(event);
      }
    }
  } catch (thrown) {
    error = thrown;
  }
  if (events.length > 0) laws.end();
  return { events, error };
}

async function* getBody(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
