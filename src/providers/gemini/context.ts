import type { TranslationContext } from "../../kit/adapter/request-context.ts";
import type { MediaSource } from "./media.ts";

/**
 * Name of Gemini in state, hosted tools, options and catalog entries, whatever name the provider is registered under.
 */
export const PROVIDER_NAME = "gemini";

/** The context for translating a request. */
export interface RequestContext extends TranslationContext {
  /** Turns the source of an image, audio clip or document into a URL, bytes or a file id. */
  readonly media: MediaSource;
}
