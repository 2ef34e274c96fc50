import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import type { MediaSource } from "./media.ts";

/** What the translation of a conversation needs. */
export interface InputContext {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly request: Request;
  readonly loss: LossReport;
  /** What depends on the model that is asked. */
  readonly traits: ModelTraits;
  /** Turns the source of an image, sound or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
}
