import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { ProviderSettings, TranslationContext } from "../../kit/adapter/request-context.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { SchemaBudget } from "../../kit/json-schema/limits.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";
import type { ContentBlockParam } from "../../wire/anthropic-messages/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";

/** Name of the provider in the catalog, in options, state and hosted tools, whatever name it is registered under. */
export const PROVIDER_NAME = "anthropic";

/**
 * Turns the source of an image or document into a URL, bytes or a file id.
 * @param field Path of the part, for errors.
 */
export type MediaSource = (media: Image | Document, field: string) => Promise<ResolvedMedia>;

/** A content block of a request: built here, or one from the API that is sent back unchanged. */
export type RequestBlock = Untrusted<ContentBlockParam>;

/** The settings of the provider entry that the translation of a request needs. */
export interface RequestSettings extends ProviderSettings {
  /** Version of the API, a date: the accepted fields differ. */
  readonly apiVersion: string;
  readonly media: MediaSource;
  /** Whether the request has the cache breakpoints that its caller wants. Default: more may be added. */
  readonly keepsBreakpoints?: boolean;
}

/** The provider options of one request. */
export interface ProviderOptions {
  /** Fields that are merged into the body, last. */
  readonly body: JsonObject;
  /** `beta_headers` and `beta_features`: names for the header `anthropic-beta`, without duplicates. */
  readonly betas: readonly string[];
  /** `auto_cache`: whether cache breakpoints are set. Default true. */
  readonly autoCache: boolean;
  /** `document_citations`: whether the model cites the documents of the request. Default false. */
  readonly documentCitations: boolean;
  /** Whether an unsupported tool choice is relaxed, see `readToolChoicePolicy`. */
  readonly relaxesToolChoice: boolean;
}

/** The context for translating one request. */
export interface RequestContext extends RequestSettings, TranslationContext {
  readonly options: ProviderOptions;
  /** Sizes that the enforced schemas of the request have used. */
  readonly budget: SchemaBudget;
}
