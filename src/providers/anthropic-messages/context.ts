import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { SchemaBudget } from "../../kit/json-schema/limits.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";
import type { ContentBlockParam } from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Name of the provider in the catalog, in options, state and hosted tools, whatever a provider entry is called. */
export const PROVIDER_NAME = "anthropic";

/** Turns the source of an image or document into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (media: Image | Document, field: string) => Promise<ResolvedMedia>;

/** A content block of a request: built here, or one of the API's own that is sent back as it came. */
export type RequestBlock = Untrusted<ContentBlockParam>;

/** What the translation of a request needs to know of the provider entry. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** Version of the API, a date: what it takes differs. */
  readonly apiVersion: string;
  readonly media: MediaSource;
  /** What is known about the provider's models. */
  readonly models: ProviderModels;
}

/** The provider options of one request. */
export interface ProviderOptions {
  /** What is merged into the body, last. */
  readonly body: JsonObject;
  /** `beta_headers` and `beta_features`: names for the header `anthropic-beta`, without duplicates. */
  readonly betas: readonly string[];
  /** `auto_cache`: whether cache breakpoints are set. Default true. */
  readonly autoCache: boolean;
  /** `document_citations`: whether the model cites the documents of the request. Default false. */
  readonly documentCitations: boolean;
  /**
   * `unsupported_tool_choice`: what to do with a forced tool choice that the model does not take. `error` (default)
   * refuses the request; `auto` lets the model choose, with a named tool as the only one offered.
   */
  readonly relaxToolChoice: boolean;
}

/** What translating a request needs. */
export interface RequestContext extends RequestSettings {
  readonly request: Request;
  readonly traits: ModelTraits;
  readonly options: ProviderOptions;
  readonly loss: LossReport;
  /** What the enforced schemas of the request use up. */
  readonly budget: SchemaBudget;
}
