import type { BaseUrlForm } from "../kit/adapter/definition.ts";
import { type WireApi, wireDefinitions } from "./providers.ts";

/**
 * Describes a base URL under which every call would fail, and how to write it.
 * @param url A valid URL.
 */
export function describeBaseUrlMistake(api: WireApi, url: string): string | undefined {
  const { added, version, host } = getForm(api);
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
  const { version } = getForm(api);
  const base = withoutSlash(url);
  if (version === undefined || URL.parse(base)?.pathname !== "/") return undefined;
  return `the base URL has no path, but most servers expect a version; if calls fail with 404, write "${base}${version}"`;
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, "");
}

function getForm(api: WireApi): BaseUrlForm {
  const { baseUrl } = wireDefinitions.find((each) => each.api === api) ?? { baseUrl: { added: [] } };
  return baseUrl;
}
