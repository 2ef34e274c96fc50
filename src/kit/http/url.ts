import { ConfigurationError } from "../../core/errors.ts";

const EXPECTED = "expected an http: or https: URL, for instance https://api.example.com/v1";

/**
 * Reads the base URL of a provider: http or https, with or without a path, a query or a
 * trailing slash. Throws ConfigurationError naming what was found, never a user name, a
 * password or a query, since people put keys there.
 */
export function parseBaseUrl(baseUrl: string): URL {
  const url = URL.parse(baseUrl);
  if (url === null) throw wrongBaseUrl(`is ${nameText(baseUrl)}`);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw wrongBaseUrl(`has the scheme ${nameText(url.protocol)}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw wrongBaseUrl("holds a user name or password, which belong into a header");
  }
  if (url.hash !== "") throw wrongBaseUrl("holds a fragment (#...)");
  return url;
}

/**
 * Returns the target of a request: path and query below the base URL. A slash at the end of the base or at the start of
 * `path` makes no difference. A query of the base comes before the query of `path`.
 */
export function joinUrl(base: URL, path: string): string {
  const [pathname, search] = splitOnce(path, "?");
  const joined = `${withoutEndingSlashes(base.pathname)}/${pathname.replace(/^\/+/, "")}`;
  const query = [base.search.slice(1), search].filter((part) => part !== "").join("&");
  return query === "" ? joined : `${joined}?${query}`;
}

/** Returns host and port, also if the port is the scheme's default, for instance `api.example.com:443`. */
export function getPeer(url: URL): string {
  return `${url.hostname}:${url.port || (url.protocol === "https:" ? "443" : "80")}`;
}

function wrongBaseUrl(found: string): ConfigurationError {
  return new ConfigurationError(`the base URL ${found}; ${EXPECTED}`);
}

/** Shows a text only if it reads like a host or a scheme: the pasted text may be a key. */
function nameText(text: string): string {
  if (text === "") return "empty";
  const hostLike = /^[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{0,5})?(\/[\w./-]*)?$/i;
  const shown = text.length <= 80 && hostLike.test(text) && /[.:/]/.test(text);
  return shown ? `"${text}"` : `a text of ${text.length} characters that is no URL`;
}

function withoutEndingSlashes(text: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === "/") end -= 1;
  return text.slice(0, end);
}

function splitOnce(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ""] : [text.slice(0, index), text.slice(index + separator.length)];
}
