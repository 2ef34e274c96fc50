import type { ProviderSettings, TranslationContext } from "../../kit/adapter/request-context.ts";
import type { ToolCallIdMapper } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { ChatRequest } from "../../wire/openai-chat/request.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { MediaSource } from "./media.ts";
import type { ServerProfile } from "./profile.ts";

/** Name for options, hosted tools and native parts, whatever name a provider is registered under. */
export const PROVIDER_NAME = "openai-chat";

/** The settings of the provider for the translation of every request. */
export interface RequestSettings extends ProviderSettings {
  /** Differences of the server's API from others. */
  readonly profile: ServerProfile;
  /** Turns the source of an image, audio clip or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
}

/** The context for translating one request. */
export interface RequestContext extends RequestSettings, TranslationContext {
  /** Ids of tool calls in the form that the server takes. */
  readonly callIds: ToolCallIdMapper;
  /** Names of the custom tools that the server is sent as functions. */
  readonly customAsFunctions: ReadonlySet<string>;
}

/** The provider options of one request. */
export interface ProviderOptions {
  /** Fields that are merged into the body, last. */
  readonly body: Untrusted<ChatRequest>;
  /** Whether an unsupported tool choice is relaxed, see `readToolChoicePolicy`. */
  readonly relaxesToolChoice: boolean;
}
