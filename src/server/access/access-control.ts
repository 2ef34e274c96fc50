import { hash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { AccessKey, AccessRateLimit } from "../../config/access-key.ts";
import { anyCaller, type Caller } from "../../core/caller.ts";
import { AuthenticationError, RateLimitError, type SDKError } from "../../core/errors.ts";
import { TokenBucket } from "../../middleware/token-bucket.ts";

/** The caller of a request, and whether the request is admitted. */
export interface Admission {
  readonly caller: Caller;
  /** Why the request is refused. Undefined if it is admitted. */
  readonly refusal: SDKError | undefined;
}

/** The admission of requests that need no access key. */
export const openAdmission: Admission = { caller: anyCaller, refusal: undefined };

/** A source of access keys. */
export interface AccessKeySource {
  /** The current keys. Returns the same list until a key changes. */
  current(): readonly AccessKey[];
}

/** The marks of a caller besides the headers of its request. */
export interface CallerMarks {
  /** The key that the query has, if the API allows that. Headers win. */
  readonly keyInQuery?: string | undefined;
  /** The name that the caller's certificate gives to it; empty if it gives none. A key wins. */
  readonly certificate?: string | undefined;
}

/** Options of an AccessControl. */
export interface AccessOptions {
  /**
   * Whether every caller with a certificate is admitted, also if no entry names it. Requests without any come by Unix
   * sockets then, and are admitted too. Default false.
   */
  readonly admitsCertificates?: boolean | undefined;
  /** Returns the milliseconds of a monotonic clock. */
  readonly now?: (() => number) | undefined;
}

/** Admits or refuses requests by their access keys, and by the certificates of their callers. */
export class AccessControl {
  readonly #source: AccessKeySource;
  readonly #now: () => number;
  #keys: readonly AccessKey[] = [];
  #ring = new KeyRing([]);
  /** By the names of the keys. */
  #rates = new Map<string, Rate>();

  readonly #admitsCertificates: boolean;

  constructor(
    source: AccessKeySource,
    { admitsCertificates = false, now = () => performance.now() }: AccessOptions = {},
  ) {
    this.#source = source;
    this.#admitsCertificates = admitsCertificates;
    this.#now = now;
  }

  /** Whether there may be several callers at this moment. */
  get hasSeveralCallers(): boolean {
    return this.#admitsCertificates || this.#source.current().length > 1;
  }

  /** Admits or refuses a request, and counts it. */
  admit(headers: IncomingHttpHeaders, { keyInQuery = "", certificate }: CallerMarks = {}): Admission {
    this.#refresh();
    if (this.#admitsCertificates)
      return certificate === undefined ? openAdmission : this.#admitCertificate(certificate);
    const token = getToken(headers, keyInQuery);
    if (token === "") return certificate === undefined ? NO_KEY : this.#admitCertificate(certificate);
    const key = token === undefined ? undefined : this.#ring.find(token);
    return key === undefined ? WRONG_KEY : { caller: key, refusal: this.#refuseByRate(key) };
  }

  #admitCertificate(name: string): Admission {
    const entry = this.#ring.certified(name);
    if (entry !== undefined) return { caller: entry, refusal: this.#refuseByRate(entry) };
    if (!this.#admitsCertificates) return UNKNOWN_CERTIFICATE;
    return name === "" ? NAMELESS_CERTIFICATE : { caller: { ...anyCaller, name }, refusal: undefined };
  }

  /**
   * Returns the caller with a name, for work without a request, such as a background run. A name without a key may use
   * no model.
   */
  callerNamed(name: string): Caller {
    this.#refresh();
    return this.#ring.named(name) ?? (this.#admitsCertificates ? { ...anyCaller, name } : nobody(name));
  }

  #refresh(): void {
    const keys = this.#source.current();
    if (keys === this.#keys) return;
    this.#keys = keys;
    this.#ring = new KeyRing(keys);
    const before = this.#rates;
    this.#rates = new Map();
    for (const { name, rateLimit } of keys) {
      if (rateLimit !== undefined) this.#rates.set(name, toRate(rateLimit, before.get(name), this.#now));
    }
  }

  #refuseByRate({ name }: AccessKey): SDKError | undefined {
    const rate = this.#rates.get(name);
    if (rate === undefined) return undefined;
    const waitMs = rate.bucket.msUntil(1);
    if (waitMs > 0) return overRate(name, rate.limit, waitMs / 1000);
    rate.bucket.take(1);
    return undefined;
  }
}

/** A caller without a key. */
function nobody(name: string): Caller {
  return { name, allowsModel: () => false, isRestricted: true };
}

/** A limit and what is left of its quota. */
interface Rate {
  readonly limit: AccessRateLimit;
  readonly bucket: TokenBucket;
}

/** An unchanged limit keeps its current state. */
function toRate(limit: AccessRateLimit, before: Rate | undefined, now: () => number): Rate {
  const { requestsPerMinute, burst } = limit;
  const isSame = before?.limit.requestsPerMinute === requestsPerMinute && before.limit.burst === burst;
  return isSame ? before : { limit, bucket: new TokenBucket(requestsPerMinute, now, burst) };
}

function overRate(name: string, { requestsPerMinute }: AccessRateLimit, retryAfter: number): RateLimitError {
  const limit = `${requestsPerMinute} ${requestsPerMinute === 1 ? "request" : "requests"} per minute`;
  const message = `the limit of ${limit} for the access key ${name} is reached; retry in ${Math.ceil(retryAfter)} s`;
  return new RateLimitError(message, { retryAfter });
}

// Created once, so that a flood of invalid keys costs little.
const NO_KEY: Admission = refusedFor(
  'expected an access key in the header "authorization: Bearer KEY", "x-api-key" or "x-goog-api-key"',
);
const UNKNOWN_CERTIFICATE: Admission = refusedFor(
  "no entry of the access keys has the name of the caller's certificate, and the request has no key",
);
const NAMELESS_CERTIFICATE: Admission = refusedFor(
  "the caller's certificate has neither a SPIFFE id nor a common name of at most 256 visible characters",
);
const WRONG_KEY: Admission = refusedFor("the request has no valid access key");

function refusedFor(message: string): Admission {
  return { caller: nobody(""), refusal: new AuthenticationError(message) };
}

/** Longer tokens cannot be access keys. */
const MAX_TOKEN_CHARS = 512;

/**
 * Headers in which the SDKs of Anthropic and Gemini send their key. `authorization` wins, in which these SDKs send other
 * tokens.
 */
const KEY_HEADERS = ["x-api-key", "x-goog-api-key"] as const;

/** Reads the access key of a request. As `getBearerToken`. */
function getToken(headers: IncomingHttpHeaders, keyInQuery: string): string | undefined {
  const token = getBearerToken(headers);
  if (token !== "") return token;
  const key = KEY_HEADERS.map((name) => headers[name]).find((value) => value !== undefined) ?? keyInQuery;
  if (key === "") return "";
  return typeof key === "string" && key.length <= MAX_TOKEN_CHARS ? key.trim() : undefined;
}

/**
 * Reads the token of `authorization: Bearer <token>` (RFC 6750). Returns an empty string if there is no header, and
 * undefined if the value cannot be an access key.
 */
function getBearerToken({ authorization = "" }: IncomingHttpHeaders): string | undefined {
  if (authorization === "") return "";
  if (authorization.length > SCHEME.length + MAX_TOKEN_CHARS) return undefined;
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
  certified(certificate: string): AccessKey | undefined {
    return certificate === "" ? undefined : this.#byCertificate.get(certificate);
  }

  /** Returns the key with a name; undefined if there is none. */
  named(name: string): AccessKey | undefined {
    return this.#byName.get(name);
  }
}

const NONE = Buffer.alloc(32);
