import type { WireApi } from "./providers.ts";

/** The form of base URLs of a wire API. */
interface BaseUrlForm {
  /** Ends of paths that the adapter adds, longest first. */
  readonly added: readonly string[];
  /** Segment with the version, which is a part of the base URL. */
  readonly version?: string;
  /** The provider's host, which serves nothing outside of the version. */
  readonly host?: string;
}

const OPENAI_PATHS = ["/chat/completions", "/completions", "/responses", "/embeddings", "/models"];

const FORMS: Readonly<Record<WireApi, BaseUrlForm>> = {
  "openai-responses": { added: OPENAI_PATHS, version: "/v1", host: "api.openai.com" },
  "openai-chat": { added: OPENAI_PATHS, version: "/v1", host: "api.openai.com" },
  // The adapter removes "/v1" at the end.
  "anthropic-messages": { added: ["/v1/messages", "/messages", "/v1/models"] },
  gemini: { added: ["/v1beta/models", "/v1/models", "/v1beta", "/v1alpha", "/v1", "/models"] },
};

/**
 * Describes a base URL under which every call would fail, and how to write it.
 * @param url A valid URL.
 */
export function describeBaseUrlMistake(api: WireApi, url: string): string | undefined {
  const { added, version, host } = FORMS[api];
  const base = withoutSlash(url);
  const end = added.find((path) => base.endsWith(path));
  if (end !== undefined)
    return `expected a base URL, to which "${end}" is added; write "${base.slice(0, -end.length)}"`;
  const { hostname, pathname } = new URL(base);
  if (version === undefined || hostname !== host || pathname !== "/") return undefined;
  return `expected a base URL with its version; write "${base}${version}"`;
}

/** Describes a base URL under which calls probably fail: few servers have their API at the root. */
export function describeDoubtfulBaseUrl(api: WireApi, url: string): string | undefined {
  const { version } = FORMS[api];
  const base = withoutSlash(url);
  if (version === undefined || URL.parse(base)?.pathname !== "/") return undefined;
  return `the base URL has no path, but most servers expect a version; if calls fail with 404, write "${base}${version}"`;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}
