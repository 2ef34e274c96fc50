import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/adapter/loss-report.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";

/** Turns the source of an image or document into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (media: Image | Document, field: string) => Promise<ResolvedMedia>;

/** What the translation of a conversation needs. */
export interface InputContext {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly request: Request;
  readonly traits: ModelTraits;
  readonly loss: LossReport;
  /** Whether the model cites documents. */
  readonly documentCitations: boolean;
  readonly media: MediaSource;
}
