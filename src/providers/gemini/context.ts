import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { MediaSource } from "./media.ts";

/** Name of Gemini's own state, hosted tools, options and catalog entries, whatever the provider is registered as. */
export const PROVIDER_NAME = "gemini";

/** What translating a request needs. */
export interface RequestContext {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly request: Request;
  /** Collects what the API cannot honour. */
  readonly loss: LossReport;
  /** What depends on the requested model. */
  readonly traits: ModelTraits;
  /** Turns the source of an image, audio clip or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
  /** What is known about the provider's models. */
  readonly models: ProviderModels;
}
