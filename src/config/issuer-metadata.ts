/** The metadata of an issuer of tokens (OpenID Connect Discovery 1.0), which contains the address of its keys. */
import { isObject, tryReadJson } from "../kit/json/json.ts";
import { isPrivateHost } from "./local-only.ts";
import type { Parsed } from "./watched-file.ts";

/** The most characters of a value that a problem shows. */
const MAX_SHOWN_CHARS = 200;

/**
 * Parses the address of keys. Returns undefined if it has a password, or if the keys could be changed in transit: plain
 * HTTP is accepted in private networks only.
 */
export function parseKeysUrl(value: unknown): URL | undefined {
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (url === null || url.username !== "" || url.password !== "") return undefined;
  const isTrusted = url.protocol === "https:" || (url.protocol === "http:" && isPrivateHost(url.hostname));
  return isTrusted ? url : undefined;
}

/** Returns the address of an issuer's metadata (§4.1); undefined if the issuer is not a URL that can have metadata. */
export function toMetadataUrl(issuer: string): URL | undefined {
  const url = parseKeysUrl(issuer);
  if (url === undefined || url.search !== "" || url.hash !== "") return undefined;
  return new URL(`${url.href.replace(/\/$/, "")}/.well-known/openid-configuration`);
}

/**
 * Parses metadata. Returns the address of the keys.
 * @param issuer The issuer that the metadata must name. Otherwise an issuer could get the keys of another (§4.3).
 */
export function parseMetadata(text: string, issuer: string): Parsed<URL> {
  const found = tryReadJson(text);
  if (!isObject(found))
    return { problem: "expected the issuer's metadata as a JSON object, found something else" };
  if (found.issuer !== issuer)
    return {
      problem: `issuer: expected ${show(issuer)}, as in the configuration, found ${show(found.issuer)}`,
    };
  const url = parseKeysUrl(found.jwks_uri);
  const isAsSafe = url?.protocol === "https:" || issuer.startsWith("http:");
  if (url !== undefined && isAsSafe) return { value: url };
  const expected = `an https: URL${issuer.startsWith("http:") ? ", or an http: URL of a private network" : ""}`;
  return { problem: `jwks_uri: expected ${expected}, found ${show(found.jwks_uri)}` };
}

function show(value: unknown): string {
  if (typeof value !== "string") return value === undefined ? "nothing" : "a value that is not a string";
  return JSON.stringify(value.slice(0, MAX_SHOWN_CHARS));
}
