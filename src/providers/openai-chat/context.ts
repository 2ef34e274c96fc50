import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { ToolCallIdMapper } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { MediaSource } from "./media.ts";
import type { ServerProfile } from "./profile.ts";

/** Name under which options, hosted tools and native parts are known, whatever name a provider is registered under. */
export const PROVIDER_NAME = "openai-chat";

/** What the translation of every request needs to know of the provider. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** How the server's API differs from that of others. */
  readonly profile: ServerProfile;
  /** Turns the source of an image, audio clip or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
  /** What is known about the provider's models. */
  readonly models: ProviderModels;
}

/** What every step of the translation of one request needs. */
export interface RequestContext extends RequestSettings {
  readonly request: Request;
  readonly traits: ModelTraits;
  readonly loss: LossReport;
  /** Ids of tool calls as the server takes them. */
  readonly callIds: ToolCallIdMapper;
}
