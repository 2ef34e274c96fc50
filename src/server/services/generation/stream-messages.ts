import type { MessageInitShape } from "@bufbuild/protobuf";
import { InferenceErrorSchema } from "../../../gen/outrigger/v1/error_pb.ts";
import type { GenerateResult } from "../../../gen/outrigger/v1/generation_pb.ts";
import type {
  StreamGenerateResponse,
  StreamGenerateResponseSchema,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { LoopItem } from "../../../generation/loop/tool-loop.ts";
import type { CallFailure, GenerationCall } from "./generation-call.ts";

/** A message with its position in its stream. */
interface Placed<Content> {
  readonly sequence: number;
  readonly step: number;
  readonly message: Content;
}

/** The contents that all streams of GenerationService share. */
type LoopContent = NonNullable<
  Exclude<MessageInitShape<typeof StreamGenerateResponseSchema>, StreamGenerateResponse>["message"]
>;

/** A message of any stream of GenerationService. */
export type LoopMessage = Placed<LoopContent>;

/** Numbers the messages of one stream. */
export class StreamMessages {
  #sequence = 0;
  #step = 1;

  /** Whether a message was created, which means that the stream has begun. */
  get hasBegun(): boolean {
    return this.#sequence > 0;
  }

  /** Creates a message of the current step. */
  of<const Content>(message: Content): Placed<Content> {
    return { sequence: this.#sequence++, step: this.#step, message };
  }

  /** Creates a message of a step that begins or is in progress. */
  at<const Content>(step: number, message: Content): Placed<Content> {
    this.#step = step;
    return this.of(message);
  }

  /** Creates the messages of an item that a loop yields. */
  ofItem(item: LoopItem): readonly LoopMessage[] {
    this.#step = item.step;
    if (item.case === "events") return item.events.map((value) => this.of({ case: "event", value }));
    return [this.of({ case: "stepFinish", value: { result: item.result } })];
  }

  /** Creates the last message of a successful stream. */
  ofResult(result: GenerateResult): LoopMessage {
    return this.at(result.steps.length, { case: "result", value: result });
  }

  /**
   * Creates the last message of a failed stream. Returns none if the stream has not begun, since the status is enough
   * then.
   */
  ofFailure({ status }: CallFailure): readonly LoopMessage[] {
    const [error] = status.findDetails(InferenceErrorSchema);
    return this.hasBegun && error !== undefined ? [this.of({ case: "error", value: error })] : [];
  }
}

/** How a loop becomes a stream of messages. */
export interface StreamedLoop<Item, Outcome, Message> {
  readonly open: () => Promise<AsyncIterator<Item, Outcome>>;
  readonly toMessages: (item: Item, messages: StreamMessages) => readonly Message[];
  readonly toResult: (outcome: Outcome) => GenerateResult;
}

/**
 * Yields the messages of a loop, then its result or its failure. Ends the call. Leaving the iteration cancels the call.
 */
export async function* streamLoop<Item, Outcome, Message>(
  call: GenerationCall,
  { open, toMessages, toResult }: StreamedLoop<Item, Outcome, Message>,
): AsyncGenerator<readonly (Message | LoopMessage)[]> {
  const messages = new StreamMessages();
  let loop: AsyncIterator<Item, Outcome> | undefined;
  try {
    loop = await open();
    let item = await loop.next();
    for (; item.done !== true; item = await loop.next()) {
      const batch = toMessages(item.value, messages);
      if (batch.length > 0) yield batch;
    }
    yield [messages.ofResult(toResult(item.value))];
  } catch (thrown) {
    const failure = call.toFailure(thrown);
    const last = messages.ofFailure(failure);
    if (last.length > 0) yield last;
    throw failure.status;
  } finally {
    await loop?.return?.();
    call.end();
  }
}

/** Runs a loop to its end. */
export async function runToEnd<Outcome>(loop: AsyncIterator<unknown, Outcome>): Promise<Outcome> {
  let item = await loop.next();
  while (item.done !== true) item = await loop.next();
  return item.value;
}
