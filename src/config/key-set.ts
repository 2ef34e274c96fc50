/**
 * JWK Sets (RFC 7517): the public keys with which an issuer's tokens are verified. Loaded only if tokens are accepted.
 */
import { createPublicKey, hash } from "node:crypto";
import { isObject } from "../kit/json/json.ts";
import type { Parsed } from "./watched-file.ts";

/** Largest document, in bytes. Large issuers publish about 10 KB. */
export const MAX_KEY_SET_BYTES = 256 * 1024;

/** Maximum number of keys: the header of a token is compared with each. */
const MAX_KEYS = 100;

/** Smallest modulus of an RSA key, in bits (RFC 7518 §3.3). */
const MIN_RSA_BITS = 2048;

/** The usable keys of a document. */
export interface KeySet {
  readonly keys: readonly PublicJwk[];
  /** Digest of the keys, which shows whether two documents have the same. */
  readonly digest: string;
}

/** A public key, with its id and its algorithm if the document has them. */
export interface PublicJwk {
  readonly kty: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly crv?: string;
}

const CURVES = ["P-256", "P-384", "P-521", "Ed25519"];

/** Members that are kept: certificates, URLs and the like are ignored. */
const MEMBERS = ["kty", "kid", "alg", "use", "key_ops", "n", "e", "crv", "x", "y"];

/**
 * Parses a document. Keys that cannot verify tokens are left out, as RFC 7517 §5 recommends. A private key is a
 * mistake, since documents are published.
 */
export function parseKeySet(text: string): Parsed<KeySet> {
  const value = tryParse(text);
  if (!isObject(value) || !Array.isArray(value.keys))
    return { problem: `expected a JWK Set, an object with a list "keys", found ${describe(value)}` };
  const { keys: found }: { keys?: unknown[] } = value;
  if (found.length > MAX_KEYS) return { problem: `expected at most ${MAX_KEYS} keys, found ${found.length}` };
  const secret = found.findIndex((key) => isObject(key) && key.kty !== "oct" && "d" in key);
  if (secret >= 0) return { problem: `keys[${secret}]: expected a public key, found a private one` };
  const keys = found.map(readKey).filter((key) => key !== undefined);
  if (keys.length > 0) return { value: { keys, digest: hash("sha256", JSON.stringify(keys)) } };
  const expected = `a public key that verifies signatures: RSA of ${MIN_RSA_BITS} bits or more, EC or Ed25519`;
  return { problem: `expected ${expected}; found none among ${found.length} keys` };
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function describe(value: unknown): string {
  if (value === undefined) return "text that is not JSON";
  return isObject(value) ? "an object without it" : "other JSON";
}

/** Returns a key that can verify tokens; undefined for other keys. */
function readKey(found: unknown): PublicJwk | undefined {
  if (!isObject(found) || found.use === "enc") return undefined;
  const members = MEMBERS.flatMap((name) => (name in found ? [[name, found[name]]] : []));
  const key: PublicJwk = Object.fromEntries(members);
  if (key.kty !== "RSA" && !CURVES.includes(String(key.crv))) return undefined;
  try {
    const { asymmetricKeyDetails: details } = createPublicKey({ key: { ...key }, format: "jwk" });
    const isWeak = key.kty === "RSA" && (details?.modulusLength ?? 0) < MIN_RSA_BITS;
    return isWeak ? undefined : key;
  } catch {
    return undefined;
  }
}
