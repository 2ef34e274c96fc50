import type { MessageInitShape } from "@bufbuild/protobuf";
import { InferenceErrorSchema } from "../../../gen/outrigger/v1/error_pb.ts";
import type { GenerateResult } from "../../../gen/outrigger/v1/generation_pb.ts";
import type {
  StreamGenerateResponse,
  StreamGenerateResponseSchema,
} from "../../../gen/outrigger/v1/generation_service_pb.ts";
import type { LoopItem } from "../../../generation/loop/tool-loop.ts";
import type { CallFailure } from "./generation-call.ts";

/** A message with its place in its stream. */
interface Placed<Content> {
  readonly sequence: number;
  readonly step: number;
  readonly message: Content;
}

/** What all streams of GenerationService may say. */
type LoopContent = NonNullable<
  Exclude<MessageInitShape<typeof StreamGenerateResponseSchema>, StreamGenerateResponse>["message"]
>;

/** A message that all streams of GenerationService have. */
export type LoopMessage = Placed<LoopContent>;

/** Numbers the messages of one stream. */
export class StreamMessages {
  #sequence = 0;
  #step = 1;

  /** Whether a message was made: the stream has begun. */
  get hasBegun(): boolean {
    return this.#sequence > 0;
  }

  /** A message of the step that is under way. */
  of<const Content>(message: Content): Placed<Content> {
    return { sequence: this.#sequence++, step: this.#step, message };
  }

  /** A message of a step that begins, or is under way. */
  at<const Content>(step: number, message: Content): Placed<Content> {
    this.#step = step;
    return this.of(message);
  }

  /** The messages of what a loop yields. */
  ofItem(item: LoopItem): readonly LoopMessage[] {
    this.#step = item.step;
    if (item.case === "events") return item.events.map((value) => this.of({ case: "event", value }));
    return [this.of({ case: "stepFinish", value: { result: item.result } })];
  }

  /** The last message of a stream that gave a result. */
  ofResult(result: GenerateResult): LoopMessage {
    return this.at(result.steps.length, { case: "result", value: result });
  }

  /** The last message of a stream that failed. None where the stream has not begun: its status says it all. */
  ofFailure({ status }: CallFailure): readonly LoopMessage[] {
    const [error] = status.findDetails(InferenceErrorSchema);
    return this.hasBegun && error !== undefined ? [this.of({ case: "error", value: error })] : [];
  }
}
