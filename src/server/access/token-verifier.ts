/** Verifies the tokens (JWT, RFC 7519) of callers. Loaded only if the configuration names an issuer. */
import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { createLocalJWKSet, decodeJwt, errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { CallerGrants } from "../../config/caller-grants.ts";
import { matchesClaim, nameCaller, type ReadClaim, readCallerName, readClaim } from "../../config/claims.ts";
import type { TokenIssuer, TokenRule } from "../../config/jwt.ts";
import type { KeySet } from "../../config/key-set.ts";
import { AccessDeniedError, AuthenticationError, NetworkError, RateLimitError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import { BoundedMap } from "../../middleware/bounded-map.ts";
import type { TokenCaller, TokenSource, TokenVerdict } from "./access-control.ts";
import { type KeySource, openKeys } from "./key-sources.ts";

/** Signature algorithms with a public and a private key. With `none` or a shared secret, callers could sign tokens. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** Maximum number of verified tokens that are remembered, each with about 1 KB. */
const MAX_TOKENS = 10_000;

/** Maximum number of callers whose permissions are remembered. */
const MAX_CALLERS = 10_000;

/** Maximum number of tokens that are being verified. */
const MAX_CHECKS = 1_000;

/** An issuer and its keys. */
interface OpenIssuer extends TokenIssuer {
  readonly source: KeySource;
}

/** A caller, and the rule that matches the claims of its token. */
interface KnownCaller {
  readonly name: string;
  readonly issuer: string;
  /** Index of the rule; undefined if the issuer has no rules. The grants of the rules may change, see `use`. */
  readonly rule: number | undefined;
}

/** A token that was verified with certain keys. */
interface KnownToken extends KnownCaller {
  readonly keys: KeySet;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** An issuer, and why its keys could not be read last time; empty if they could. */
export interface IssuerState {
  readonly issuer: string;
  readonly problem: string;
}

/** Verifies tokens, and remembers which are valid until they expire or the keys of their issuer change. */
export class TokenVerifier implements TokenSource {
  readonly #log: Log;
  #issuers: ReadonlyMap<string, OpenIssuer> = new Map();
  #known = new BoundedMap<{ token: KnownToken }>(MAX_TOKENS);
  #callers = new BoundedMap<{ caller: KnownCaller }>(MAX_CALLERS);
  readonly #keys = new WeakMap<KeySet, JWTVerifyGetKey>();
  #checks = 0;

  /** Begins to read the keys of the issuers. */
  constructor(issuers: readonly TokenIssuer[], log: Log) {
    this.#log = log;
    this.use(issuers);
  }

  /**
   * Uses the issuers of another configuration. Keys from the same source stay in use, others are read now. Every
   * token is verified again if issuers, or their names of callers, audiences or conditions differ.
   */
  use(issuers: readonly TokenIssuer[]): void {
    const before = this.#issuers;
    const isSame = (issuer: TokenIssuer) => {
      const earlier = before.get(issuer.issuer);
      return earlier !== undefined && isDeepStrictEqual(toComparable(earlier), toComparable(issuer));
    };
    if (issuers.length !== before.size || !issuers.every(isSame)) {
      this.#known = new BoundedMap(MAX_TOKENS);
      this.#callers = new BoundedMap(MAX_CALLERS);
    }
    this.#issuers = new Map(
      issuers.map((issuer) => [issuer.issuer, { ...issuer, source: this.#openKeys(issuer, before) }]),
    );
    for (const { issuer, source } of before.values())
      if (this.#issuers.get(issuer)?.source !== source) void source.close();
  }

  #openKeys(issuer: TokenIssuer, before: ReadonlyMap<string, OpenIssuer>): KeySource {
    const earlier = before.get(issuer.issuer);
    const isSame = earlier !== undefined && isDeepStrictEqual(toKeySource(earlier), toKeySource(issuer));
    return isSame ? earlier.source : openKeys(issuer, this.#log);
  }

  /** Verifies a token: at once if it is known, otherwise asynchronously. Never throws or rejects. */
  verify(token: string): TokenVerdict | Promise<TokenVerdict> {
    const digest = hash("sha256", token, "base64");
    const known = this.#known.get(digest)?.token;
    if (known !== undefined && known.keys === this.#issuers.get(known.issuer)?.source.current())
      return this.#toVerdict(known);
    if (this.#checks >= MAX_CHECKS) return BUSY;
    this.#checks += 1;
    return this.#check(token, digest).finally(() => {
      this.#checks -= 1;
    });
  }

  /**
   * Returns a caller by name, for work without a token: by the claims of its last token, or else by the rules that need
   * no other claims than those in the name. Undefined if this does not decide.
   */
  callerNamed(name: string): TokenCaller | undefined {
    const known = this.#callers.get(name)?.caller;
    if (known !== undefined) return this.#toCaller(known);
    for (const issuer of this.#issuers.values()) {
      const read = readCallerName(issuer.caller, name);
      if (read === undefined) continue;
      const isDecidable = (path: string) => issuer.caller.claims.includes(path);
      const rule = findRule(issuer.rules, read, isDecidable);
      return rule === "none" ? undefined : this.#toCaller({ name, issuer: issuer.issuer, rule });
    }
    return undefined;
  }

  /** Reads the keys of all issuers again. */
  reload(): void {
    for (const { source } of this.#issuers.values()) source.reload();
  }

  /** Lists the issuers, with the reasons why their keys could not be read last time; empty if they could. */
  listIssuers(): IssuerState[] {
    return [...this.#issuers.values()].map(({ issuer, source: { problem } }) => ({ issuer, problem }));
  }

  /** Stops reading keys. */
  async close(): Promise<void> {
    await Promise.all([...this.#issuers.values()].map(({ source }) => source.close()));
  }

  async #check(token: string, digest: string): Promise<TokenVerdict> {
    const knownBefore = this.#known;
    try {
      const issuer = this.#issuers.get(String(decodeJwt(token).iss));
      if (issuer === undefined) return createRefusal("is from an issuer that is not configured");
      const keys = issuer.source.current() ?? (await issuer.source.refresh());
      if (keys === undefined) return NO_KEYS;
      const verified = await this.#verify(token, issuer, keys);
      // The rules have changed meanwhile, so the same index may belong to another rule.
      if (this.#known !== knownBefore) return await this.#check(token, digest);
      const caller = identify(issuer, verified.claims);
      if ("refusal" in caller) return caller;
      const expiresAt = (verified.claims.exp ?? 0) * 1000 + issuer.clockToleranceMs;
      const known = { ...caller, keys: verified.keys, expiresAt };
      this.#remember(digest, known);
      return this.#toVerdict(known);
    } catch (error) {
      return createRefusal(describe(error));
    }
  }

  /** Verifies a token with the keys of its issuer, and once more with new keys if they do not have its key. */
  async #verify(
    token: string,
    issuer: OpenIssuer,
    keys: KeySet,
  ): Promise<{ readonly claims: JWTPayload; readonly keys: KeySet }> {
    try {
      return { claims: await this.#verifyWith(token, issuer, keys), keys };
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const fresh = await issuer.source.refresh();
      if (fresh === undefined || fresh === keys) throw error;
      return { claims: await this.#verifyWith(token, issuer, fresh), keys: fresh };
    }
  }

  async #verifyWith(token: string, issuer: OpenIssuer, keys: KeySet): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, this.#toGetKey(keys), {
      algorithms: ALGORITHMS,
      issuer: issuer.issuer,
      audience: [...issuer.audiences],
      clockTolerance: issuer.clockToleranceMs / 1000,
      requiredClaims: ["exp"],
    });
    return payload;
  }

  #toGetKey(keys: KeySet): JWTVerifyGetKey {
    const known = this.#keys.get(keys);
    if (known !== undefined) return known;
    // The header's `jku`, `jwk` and `x5u` are ignored: only the issuer's keys count.
    const getKey = createLocalJWKSet({ keys: [...keys.keys] });
    this.#keys.set(keys, getKey);
    return getKey;
  }

  #remember(digest: string, token: KnownToken): void {
    this.#known.getOrCreate(digest, () => ({ token })).token = token;
    const { name, issuer, rule } = token;
    const caller = { name, issuer, rule };
    this.#callers.getOrCreate(name, () => ({ caller })).caller = caller;
  }

  #toVerdict(token: KnownToken): TokenVerdict {
    const { expiresAt, issuer } = token;
    if (Date.now() < expiresAt) return { caller: this.#toCaller(token), expiresAt };
    const tolerance = this.#issuers.get(issuer)?.clockToleranceMs ?? 0;
    return createRefusal(describeExpiry((expiresAt - tolerance) / 1000));
  }

  #toCaller({ name, issuer, rule }: KnownCaller): TokenCaller {
    const grants = rule === undefined ? EVERYTHING : this.#issuers.get(issuer)?.rules?.[rule]?.grants;
    return { name, ...(grants ?? NOTHING) };
  }
}

/** Returns the source of an issuer's keys, to compare it with another one. The current keys do not matter. */
function toKeySource({ keys }: TokenIssuer) {
  if (keys.kind === "file") return [keys.path];
  const { kind, url, tokenFile, tls } = keys;
  return [kind, url.href, tokenFile, tls?.paths];
}

/** Returns the settings that decide which tokens are accepted, who their callers are, and which rule matches. */
function toComparable({ audiences, caller, clockToleranceMs, rules }: TokenIssuer) {
  return { audiences, caller, clockToleranceMs, conditions: rules?.map(({ when }) => when) };
}

const EVERYTHING: CallerGrants = { rateLimit: undefined, isRestricted: false, allowsModel: () => true };
const NOTHING: CallerGrants = { rateLimit: undefined, isRestricted: true, allowsModel: () => false };

/** Names the caller of a token, and finds its rule. */
function identify(issuer: TokenIssuer, claims: JWTPayload): KnownCaller | Refused {
  const named = nameCaller(issuer.caller, claims);
  if ("problem" in named) return createRefusal(`is valid, but does not name its caller: ${named.problem}`);
  const rule = findRule(issuer.rules, (path) => readClaim(claims, path));
  return rule === "none" ? NO_RULE : { name: named.name, issuer: issuer.issuer, rule };
}

/**
 * Returns the index of the first rule that matches. Undefined if the issuer has no rules; "none" if no rule matches, or
 * if a rule that might match needs an unknown claim.
 */
function findRule(
  rules: readonly TokenRule[] | undefined,
  read: ReadClaim,
  isKnown: (claim: string) => boolean = () => true,
): number | undefined | "none" {
  if (rules === undefined) return undefined;
  for (const [index, { when }] of rules.entries()) {
    const known = when.filter(([claim]) => isKnown(claim));
    if (!known.every(([claim, patterns]) => matchesClaim(read(claim), patterns))) continue;
    return known.length === when.length ? index : "none";
  }
  return "none";
}

/** The refusal of a token. */
type Refused = Extract<TokenVerdict, { refusal: unknown }>;

function createRefusal(problem: string): Refused {
  return { refusal: new AuthenticationError(`the token ${problem}`) };
}

const NO_RULE: Refused = {
  refusal: new AccessDeniedError("the token is valid, but no configured rule matches its claims"),
};

const NO_KEYS: Refused = {
  refusal: new NetworkError(
    "the token cannot be verified, since the keys of its issuer cannot be read at the moment",
  ),
};

const BUSY: Refused = {
  refusal: new RateLimitError("too many tokens are being verified at the moment", { retryAfter: 1 }),
};

/** Describes what is wrong with a token. Shows times and names of claims, and nothing else from it. */
function describe(error: unknown): string {
  if (error instanceof errors.JWTExpired) return describeExpiry(error.payload.exp);
  if (error instanceof errors.JWTClaimValidationFailed) return describeClaim(error);
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
    return `is signed with an algorithm that is not accepted; expected one of ${ALGORITHMS.join(", ")}`;
  if (error instanceof errors.JWKSNoMatchingKey)
    return "is signed with a key that is not among its issuer's keys, by its key id (kid) and algorithm (alg)";
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return "does not say which of several keys signed it; expected a key id (kid)";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "has an invalid signature";
  return "is malformed; expected a signed JWT (JWS in compact form)";
}

function describeClaim({ claim, reason, payload }: errors.JWTClaimValidationFailed): string {
  if (reason === "missing") return `has no claim ${claim}, which is required`;
  if (claim === "aud") return "is for another audience; expected a configured audience";
  if (claim === "nbf")
    return `is not valid before ${toTime(payload.nbf)}; it is ${toTime(Date.now() / 1000)}`;
  return `has an invalid claim ${claim}`;
}

function describeExpiry(exp: number | undefined): string {
  return `expired at ${toTime(exp)}; it is ${toTime(Date.now() / 1000)}`;
}

function toTime(seconds: number | undefined): string {
  const date = new Date(Math.floor((seconds ?? Number.NaN) * 1000));
  return Number.isNaN(date.getTime()) ? "an invalid time" : date.toISOString();
}
