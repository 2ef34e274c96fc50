import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { isDeepStrictEqual } from "node:util";
import type { AccessKey, AccessRateLimit, CallerGrants } from "../../config/caller-grants.ts";
import { anyCaller, type Caller } from "../../core/caller.ts";
import { AuthenticationError, RateLimitError, type SDKError, toSdkError } from "../../core/errors.ts";
import { BoundedMap } from "../../middleware/bounded-map.ts";
import { refuseUncounted } from "../../middleware/refusals.ts";
import { TokenBucket } from "../../middleware/token-bucket.ts";
import type { RateStore } from "../../middleware/wait-queue.ts";

/** The caller of a request, and whether the request is admitted. */
export interface Admission {
  readonly caller: Caller;
  /** Why the request is refused. Undefined if it is admitted. */
  readonly refusal: SDKError | undefined;
  /** The token that admitted the request. */
  readonly token?: VerifiedToken | undefined;
}

/** The admission of requests that need no access key. */
export const openAdmission: Admission = { caller: anyCaller, refusal: undefined };

/** A source of access keys. */
export interface AccessKeySource {
  /** The current keys. Returns the same list until a key changes. */
  current(): readonly AccessKey[];
}

/** A source of callers with tokens (JWT). */
export interface TokenSource {
  /** Verifies a token. Never throws or rejects. */
  verify(token: string): TokenVerdict | Promise<TokenVerdict>;
  /** Returns the caller with this name; undefined if its permissions are not known without a token. */
  callerNamed(name: string): TokenCaller | undefined;
}

/** A caller that a token identifies. */
export interface TokenCaller extends Caller, CallerGrants {}

/** A token that is valid until it expires. */
export interface VerifiedToken {
  readonly caller: TokenCaller;
  /** In milliseconds since 1970, with the allowed difference of clocks. */
  readonly expiresAt: number;
}

/** The caller of a token, or the reason to refuse it. */
export type TokenVerdict = VerifiedToken | { readonly refusal: SDKError };

/** Credentials of a caller other than the headers of its request. */
export interface CallerMarks {
  /** The key in the query, if the API allows that. Headers take precedence. */
  readonly keyInQuery?: string | undefined;
  /** The name in the caller's certificate; empty if it has none. A key takes precedence. */
  readonly certificate?: string | undefined;
}

/** Options of an AccessControl. */
export interface AccessOptions {
  /**
   * Whether every caller with a certificate is admitted, even if no entry names it. Requests without a certificate are
   * then admitted too, since they can only arrive over Unix sockets. Default false.
   */
  readonly admitsCertificates?: boolean | undefined;
  /** Verifies tokens. Undefined if none are accepted. */
  readonly tokens?: TokenSource | undefined;
  /** Returns the store of a limit that sidecars share; undefined if it is not shared. Default: none is. */
  readonly openSharedRate?: ((limit: AccessRateLimit, caller: string) => RateStore | undefined) | undefined;
  /** Returns the milliseconds of a monotonic clock. */
  readonly now?: (() => number) | undefined;
}

/** Maximum number of callers with tokens whose rates are counted. */
const MAX_TOKEN_RATES = 10_000;

/** Admits or refuses requests by their access keys and tokens, and by the certificates of their callers. */
export class AccessControl {
  readonly #source: AccessKeySource;
  readonly #now: () => number;
  #keys: readonly AccessKey[] = [];
  #ring = new KeyRing([]);
  /** By the names of the keys. */
  #rates = new Map<string, Rate>();

  /** By the names and limits of callers with tokens. */
  readonly #tokenRates = new BoundedMap<Rate>(MAX_TOKEN_RATES);
  readonly #tokens: TokenSource | undefined;
  readonly #admitsCertificates: boolean;
  readonly #openSharedRate: NonNullable<AccessOptions["openSharedRate"]>;

  constructor(source: AccessKeySource, options: AccessOptions = {}) {
    const { admitsCertificates = false, tokens, now = () => performance.now() } = options;
    this.#source = source;
    this.#tokens = tokens;
    this.#openSharedRate = options.openSharedRate ?? (() => undefined);
    this.#admitsCertificates = admitsCertificates;
    this.#now = now;
  }

  /** Whether there may be several callers at this moment. */
  get hasSeveralCallers(): boolean {
    return this.#admitsCertificates || this.#tokens !== undefined || this.#source.current().length > 1;
  }

  /**
   * Admits or refuses a request, and counts it. Returns a promise, which does not reject, only for a token that is not
   * known yet, and for a caller whose rate is shared.
   */
  admit(headers: IncomingHttpHeaders, marks: CallerMarks = {}): Admission | Promise<Admission> {
    const found = this.#identify(headers, marks);
    return found instanceof Promise ? found.then(count) : count(found);
  }

  /**
   * Counts another request on the connection of an admitted one. Returns the reason to refuse it, as a promise, which
   * does not reject, only for a caller whose rate is shared. Of a token, only the expiry is checked again.
   */
  admitAgain(
    { token }: Admission,
    headers: IncomingHttpHeaders,
    marks: CallerMarks = {},
  ): SDKError | undefined | Promise<SDKError | undefined> {
    if (token !== undefined && Date.now() >= token.expiresAt) return EXPIRED;
    const found = token === undefined ? this.#identify(headers, marks) : this.#acceptToken(token);
    // The access key was removed, and its text could be a token.
    if (found instanceof Promise) return WRONG_TOKEN.refusal;
    const admission = count(found);
    return admission instanceof Promise ? admission.then(({ refusal }) => refusal) : admission.refusal;
  }

  /** Returns the caller of a request, or the reason to refuse it. */
  #identify(
    headers: IncomingHttpHeaders,
    { keyInQuery = "", certificate }: CallerMarks,
  ): Identified | Promise<Identified> {
    this.#refresh();
    if (this.#admitsCertificates)
      return certificate === undefined ? openAdmission : this.#admitCertificate(certificate);
    const secret = getSecret(
      headers,
      keyInQuery,
      this.#tokens === undefined ? MAX_KEY_CHARS : MAX_TOKEN_CHARS,
    );
    if (secret === undefined) return this.#tokens === undefined ? WRONG_KEY : WRONG_TOKEN;
    if (secret === "") {
      if (certificate !== undefined) return this.#admitCertificate(certificate);
      return this.#tokens === undefined ? NO_KEY : NO_TOKEN;
    }
    const key = secret.length > MAX_KEY_CHARS ? undefined : this.#ring.find(secret);
    if (key !== undefined) return this.#accept(key);
    if (this.#tokens === undefined) return WRONG_KEY;
    if (!TOKEN.test(secret)) return WRONG_TOKEN;
    const verdict = this.#tokens.verify(secret);
    return verdict instanceof Promise
      ? verdict.then((settled) => this.#acceptToken(settled))
      : this.#acceptToken(verdict);
  }

  #accept(key: AccessKey): Identified {
    return { caller: key, refusal: undefined, rate: this.#rates.get(key.name) };
  }

  #acceptToken(verdict: TokenVerdict): Identified {
    if ("refusal" in verdict) return { caller: createDeniedCaller(""), refusal: verdict.refusal };
    const { caller } = verdict;
    // Otherwise the owner of a key and the owner of a token would share stored data.
    if (this.#ring.findByName(caller.name) !== undefined) return SAME_NAME;
    return { caller, refusal: undefined, token: verdict, rate: this.#getTokenRate(caller) };
  }

  #getTokenRate({ name, rateLimit }: TokenCaller): Rate | undefined {
    if (rateLimit === undefined) return undefined;
    const key = JSON.stringify([name, rateLimit]);
    return this.#tokenRates.getOrCreate(key, () => this.#toRate(name, rateLimit, undefined));
  }

  #admitCertificate(name: string): Identified {
    const entry = this.#ring.findByCertificate(name);
    if (entry !== undefined) return this.#accept(entry);
    if (!this.#admitsCertificates) return UNKNOWN_CERTIFICATE;
    return name === "" ? NAMELESS_CERTIFICATE : { caller: { ...anyCaller, name }, refusal: undefined };
  }

  /**
   * Returns the caller with this name, for work without a request, such as a background run. A name that belongs
   * neither to a key nor to a known token may use no model.
   */
  callerNamed(name: string): Caller {
    this.#refresh();
    const known = this.#ring.findByName(name) ?? this.#tokens?.callerNamed(name);
    return known ?? (this.#admitsCertificates ? { ...anyCaller, name } : createDeniedCaller(name));
  }

  #refresh(): void {
    const keys = this.#source.current();
    if (keys === this.#keys) return;
    this.#keys = keys;
    this.#ring = new KeyRing(keys);
    const before = this.#rates;
    this.#rates = new Map();
    for (const { name, rateLimit } of keys) {
      if (rateLimit !== undefined) this.#rates.set(name, this.#toRate(name, rateLimit, before.get(name)));
    }
  }

  /** An unchanged limit keeps its current state. */
  #toRate(name: string, limit: AccessRateLimit, before: Rate | undefined): Rate {
    if (before !== undefined && isDeepStrictEqual(before.limit, limit)) return before;
    const { requestsPerMinute, burst } = limit;
    const bucket = new TokenBucket(requestsPerMinute, this.#now, burst);
    return { name, limit, bucket, shared: this.#openSharedRate(limit, name) };
  }
}

/** Counts a request. Returns a promise, which does not reject, if sidecars count the caller's requests together. */
function count(found: Identified): Admission | Promise<Admission> {
  const { rate, ...admission } = found;
  if (admission.refusal !== undefined || rate === undefined) return found;
  if (rate.shared === undefined) return { ...admission, refusal: takeFrom(rate) };
  return takeShared(rate.shared, rate).then(
    (refusal) => ({ ...admission, refusal }),
    (thrown: unknown) => ({ ...admission, refusal: toSdkError(thrown) }),
  );
}

/** Takes a request from the rest of a caller's quota. Returns the refusal if it is used up. */
function takeFrom({ name, limit, bucket }: Rate): SDKError | undefined {
  const waitMs = bucket.msUntil(1);
  if (waitMs > 0) return overRate(name, limit, waitMs / 1000);
  bucket.take(1);
  return undefined;
}

async function takeShared(store: RateStore, { name, limit }: Rate): Promise<SDKError | undefined> {
  const taken = await store.take([1], 0, undefined);
  if (typeof taken === "function") return undefined;
  if ("away" in taken) return refuseUncounted(`rate limit of the caller ${name}`, taken.away);
  return overRate(name, limit, taken.waitMs / 1000);
}

/** Returns a caller that may use no model. */
function createDeniedCaller(name: string): Caller {
  return { name, allowsModel: () => false, isRestricted: true };
}

/** A limit of a caller, and the rest of its quota. */
interface Rate {
  readonly name: string;
  readonly limit: AccessRateLimit;
  /** The requests that this sidecar has left. */
  readonly bucket: TokenBucket;
  /** Counts together with other sidecars, if the limit is shared. */
  readonly shared: RateStore | undefined;
}

/** A caller, or the reason to refuse its request, before the request is counted. */
interface Identified extends Admission {
  /** Undefined if the caller has no limit. */
  readonly rate?: Rate | undefined;
}

function overRate(name: string, { requestsPerMinute }: AccessRateLimit, retryAfter: number): RateLimitError {
  const limit = `${requestsPerMinute} ${requestsPerMinute === 1 ? "request" : "requests"} per minute`;
  const message = `the limit of ${limit} for the caller ${name} is reached; retry in ${Math.ceil(retryAfter)} s`;
  return new RateLimitError(message, { retryAfter });
}

// Created once, so that a flood of invalid keys costs little.
const NO_KEY: Admission = createRefusal(
  'expected an access key in the header "authorization: Bearer KEY", "x-api-key" or "x-goog-api-key"',
);
const UNKNOWN_CERTIFICATE: Admission = createRefusal(
  "no entry of the access keys has the name of the caller's certificate, and the request has no key",
);
const NAMELESS_CERTIFICATE: Admission = createRefusal(
  "the caller's certificate has neither a SPIFFE id nor a common name of at most 256 visible characters",
);
const WRONG_KEY: Admission = createRefusal("the request has no valid access key");
const NO_TOKEN: Admission = createRefusal(
  'expected a token (JWT) or an access key in a header: "authorization: Bearer TOKEN", "x-api-key" or "x-goog-api-key"',
);
const WRONG_TOKEN: Admission = createRefusal(
  "the request has neither a token (JWT of at most 8192 characters) nor a valid access key",
);
const SAME_NAME: Admission = createRefusal(
  "the name of the token's caller is the name of an access key; change one of the two names in the configuration",
);
const EXPIRED = new AuthenticationError("the token of the connection has expired");

function createRefusal(message: string): Admission {
  return { caller: createDeniedCaller(""), refusal: new AuthenticationError(message) };
}

/** Longer texts cannot be access keys. */
const MAX_KEY_CHARS = 512;

/** Longer texts cannot be tokens. Tokens of Kubernetes have 1000 to 2000 characters. */
const MAX_TOKEN_CHARS = 8192;

/** A signed JWT in its compact form (RFC 7515). */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Headers in which the SDKs of Anthropic and Gemini send their key. `authorization`, in which these SDKs send other
 * tokens, takes precedence.
 */
const KEY_HEADERS = ["x-api-key", "x-goog-api-key"] as const;

/** Reads the access key or token of a request. Returns the same as `getBearerToken`. */
function getSecret(headers: IncomingHttpHeaders, keyInQuery: string, maxChars: number): string | undefined {
  const token = getBearerToken(headers, maxChars);
  if (token !== "") return token;
  const key = KEY_HEADERS.map((name) => headers[name]).find((value) => value !== undefined) ?? keyInQuery;
  return typeof key === "string" && key.length <= maxChars ? key.trim() : undefined;
}

/**
 * Reads the token of `authorization: Bearer <token>` (RFC 6750). Returns an empty string if there is no header, and
 * undefined if the value cannot be an access key or a token.
 */
function getBearerToken({ authorization = "" }: IncomingHttpHeaders, maxChars: number): string | undefined {
  if (authorization === "") return "";
  if (authorization.length > SCHEME.length + maxChars) return undefined;
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  return authorization.slice(SCHEME.length).trim();
}

const SCHEME = "bearer ";

/** The access keys that are valid at one time. */
class KeyRing {
  readonly #digests: readonly Buffer[];
  readonly #owners: readonly AccessKey[];
  readonly #byName: ReadonlyMap<string, AccessKey>;
  readonly #byCertificate: ReadonlyMap<string, AccessKey>;

  constructor(keys: readonly AccessKey[]) {
    this.#digests = keys.flatMap(({ digests }) => digests);
    this.#owners = keys.flatMap((key) => key.digests.map(() => key));
    this.#byName = new Map(keys.map((key) => [key.name, key]));
    this.#byCertificate = new Map(keys.map((key) => [key.certificate ?? "", key]));
  }

  /**
   * Returns the key with this token; undefined if there is none. Takes the same steps in every case: the token is
   * hashed, and its digest is compared with the digest of every key in constant time.
   */
  find(token: string): AccessKey | undefined {
    const digest = hash("sha256", token, "buffer");
    let position = 0;
    for (let index = 0; index < this.#digests.length; index += 1) {
      const isSame = Number(timingSafeEqual(this.#digests[index] ?? NONE, digest));
      position |= -isSame & (index + 1);
    }
    return this.#owners[position - 1];
  }

  /** Returns the entry for a certificate with this name; undefined if there is none. */
  findByCertificate(certificate: string): AccessKey | undefined {
    return certificate === "" ? undefined : this.#byCertificate.get(certificate);
  }

  /** Returns the key with a name; undefined if there is none. */
  findByName(name: string): AccessKey | undefined {
    return this.#byName.get(name);
  }
}

const NONE = Buffer.alloc(32);
