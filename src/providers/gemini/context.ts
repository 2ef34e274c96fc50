import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { MediaSource } from "./media.ts";

/**
 * Name of Gemini in state, hosted tools, options and catalog entries, whatever name the provider is registered under.
 */
export const PROVIDER_NAME = "gemini";

/** The context for translating a request. */
export interface RequestContext {
  /** Name under which the provider is registered. */
  readonly provider: string;
  readonly request: Request;
  /** Collects the parts of the request that the API cannot honour. */
  readonly loss: LossReport;
  /** Traits of the requested model. */
  readonly traits: ModelTraits;
  /** Turns the source of an image, audio clip or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
  /** The catalog as seen by the provider. */
  readonly models: ProviderModels;
}
