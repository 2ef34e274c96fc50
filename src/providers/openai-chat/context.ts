import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { ToolCallIdMapper } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { MediaSource } from "./media.ts";
import type { ServerProfile } from "./profile.ts";

/** Name for options, hosted tools and native parts, whatever name a provider is registered under. */
export const PROVIDER_NAME = "openai-chat";

/** The settings of the provider for the translation of every request. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** Differences of the server's API from others. */
  readonly profile: ServerProfile;
  /** Turns the source of an image, audio clip or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
  /** The catalog as seen by the provider. */
  readonly models: ProviderModels;
}

/** The context for translating one request. */
export interface RequestContext extends RequestSettings {
  readonly request: Request;
  readonly traits: ModelTraits;
  readonly loss: LossReport;
  /** Ids of tool calls in the form that the server takes. */
  readonly callIds: ToolCallIdMapper;
}
