import { execFileSync } from "node:child_process";
import { createHmac, createPublicKey } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadConfig } from "../../../src/config/index.ts";
import { parseMetadata } from "../../../src/config/issuer-metadata.ts";
import type { TokenIssuer } from "../../../src/config/jwt.ts";
import {
  AccessControl,
  type Admission,
  type VerifiedToken,
} from "../../../src/server/access/access-control.ts";
import { TokenVerifier } from "../../../src/server/access/token-verifier.ts";
import {
  createKey,
  ISSUER,
  type IssuerKey,
  type KeyServer,
  nowSeconds,
  signToken,
  startKeyServer,
  type TokenSettings,
  toKubernetesClaims,
} from "../../support/issuer.ts";
import { accessKey } from "../support/access-keys.ts";
import goTokens from "./go-tokens.json" with { type: "json" };

const key = await createKey("first");
const other = await createKey("second");

let folder: string;
let lines: [level: string, fields: object, message: string][];
let closers: (() => Promise<unknown>)[];

const log = {
  info: (fields: object, message: string) => void lines.push(["info", fields, message]),
  warn: (fields: object, message: string) => void lines.push(["warn", fields, message]),
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-tokens-"));
  lines = [];
  closers = [];
});

afterEach(async () => {
  vi.useRealTimers();
  for (const close of closers) await close();
  await rm(folder, { recursive: true });
});

function toDocument(...keys: IssuerKey[]): string {
  return JSON.stringify({ keys: keys.map(({ jwk }) => jwk) });
}

/** Opens the issuers of a configuration's section. By default, the keys are in a file. */
async function open(section: Readonly<Record<string, unknown>> = {}, settings = {}, keys = [key]) {
  await writeFile(join(folder, "jwks.json"), toDocument(...keys));
  const source = "jwks_url" in section ? {} : { jwks_file: "jwks.json" };
  const jwt = { issuer: ISSUER, audience: "outrigger", ...source, ...section };
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, JSON.stringify({ jwt, ...settings }));
  const environment = { OPENAI_API_KEY: "sk-provider" };
  const { access } = await loadConfig({ environment, flags: { config } });
  const tokens = new TokenVerifier(access.issuers ?? [], log);
  closers.push(() => tokens.close());
  return tokens;
}

async function startKeys(...keys: IssuerKey[]): Promise<KeyServer> {
  const server = await startKeyServer(...keys);
  closers.push(() => server.close());
  return server;
}

const pass = (milliseconds: number) => vi.advanceTimersByTime(milliseconds);
const fakeClock = () => vi.useFakeTimers({ toFake: ["performance"] });

function listProblems(tokens: TokenVerifier): string[] {
  return tokens.listIssuers().flatMap(({ problem }) => (problem === "" ? [] : [problem]));
}

/** The name of the caller of a token, or the reason of its refusal. */
async function check(tokens: TokenVerifier, token: string): Promise<string> {
  const verdict = await tokens.verify(token);
  return "refusal" in verdict
    ? `${verdict.refusal.kindName}: ${verdict.refusal.message}`
    : verdict.caller.name;
}

function encode(value: object | string): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

describe("a token", () => {
  it.each(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"])(
    "is accepted with the algorithm %s",
    async (alg) => {
      const signer = await createKey("k", alg);
      expect(await check(await open({}, {}, [signer]), await signToken(signer))).toBe("alice");
    },
  );

  it("that openssl has signed is accepted", async () => {
    const pem = join(folder, "key.pem");
    execFileSync("openssl", ["genrsa", "-out", pem, "2048"], { stdio: "ignore" });
    const jwk = createPublicKey(execFileSync("openssl", ["rsa", "-in", pem, "-pubout"], { stdio: "pipe" }));
    const keys = { keys: [{ ...jwk.export({ format: "jwk" }), kid: "o" }] };
    const tokens = await open();
    await writeFile(join(folder, "jwks.json"), JSON.stringify(keys));
    tokens.reload();
    const claims = { iss: ISSUER, aud: ["x", "outrigger"], sub: "bob", exp: nowSeconds() + 60 };
    const signed = `${encode({ alg: "RS256", kid: "o" })}.${encode(claims)}`;
    const signature = execFileSync("openssl", ["dgst", "-sha256", "-sign", pem], { input: signed });
    expect(await check(tokens, `${signed}.${signature.toString("base64url")}`)).toBe("bob");
  });

  // go-tokens.json was made by golang-jwt 5.3.1 and by go-jose 4.1.9, with which Kubernetes signs. Valid until 2125.
  it.each(["golang-jwt", "go-jose"] as const)("that %s has signed in Go is accepted", async (library) => {
    const tokens = await open({ rules: [{ when: { "kubernetes.io.namespace": "shop" } }] });
    await writeFile(join(folder, "jwks.json"), JSON.stringify(goTokens.jwks));
    tokens.reload();
    expect(await check(tokens, goTokens[library])).toBe("system:serviceaccount:shop:checkout");
    const [header, claims, signature = ""] = goTokens[library].split(".");
    expect(await check(tokens, `${header}.${claims}.${signature.replace(/^./, "-")}`)).toMatch(
      "invalid signature",
    );
  });

  it("needs no key id if one key fits", async () => {
    const { kid: _, ...jwk } = key.jwk;
    const tokens = await open({}, {}, [{ ...key, jwk }]);
    const token = await signToken(key, { header: { kid: undefined as unknown as string } });
    expect(await check(tokens, token)).toBe("alice");
    const several = await open({}, {}, [key, other]);
    expect(await check(several, token)).toBe(
      "AUTHENTICATION: the token does not say which of several keys signed it; expected a key id (kid)",
    );
  });

  it.each<[what: string, settings: TokenSettings, reason: RegExp]>([
    ["that has expired", { claims: { exp: nowSeconds() - 31 } }, /^expired at 20.*Z; it is 20.*Z$/],
    ["without an expiry", { claims: { exp: undefined } as never }, /^has no claim exp, which is required$/],
    ["whose expiry is no number", { claims: { exp: "2099" as never } }, /^has an invalid claim exp$/],
    [
      "that is not valid yet",
      { claims: { nbf: nowSeconds() + 60 } },
      /^is not valid before 20.*; it is 20.*$/,
    ],
    [
      "for another audience",
      { claims: { aud: "billing" } },
      /^is for another audience; expected a configured audience/,
    ],
    ["for several other audiences", { claims: { aud: ["a", "b"] } }, /^is for another audience/],
    ["without an audience", { claims: { aud: undefined } as never }, /^has no claim aud, which is required$/],
    [
      "of another issuer",
      { claims: { iss: "https://evil.test" } },
      /^is from an issuer that is not configured/,
    ],
    [
      "without an issuer",
      { claims: { iss: undefined } as never },
      /^is from an issuer that is not configured/,
    ],
    [
      "with another key id",
      { header: { kid: "third" } },
      /^is signed with a key that is not among its issuer's keys/,
    ],
    ["with a path as its key id", { header: { kid: "../../etc/passwd" } }, /^is signed with a key that/],
    ["with a prototype as its key id", { header: { kid: "__proto__" } }, /^is signed with a key that/],
    [
      "with a critical extension",
      { header: { crit: ["x"], x: 1 } },
      /^is (malformed|signed with an algorithm)/,
    ],
    [
      "without a subject",
      { claims: { sub: undefined } as never },
      /does not name its caller: expected a text/,
    ],
    [
      "with an empty subject",
      { claims: { sub: "" } },
      /does not name its caller: expected a text in its claim sub/,
    ],
    [
      "with a line break in its subject",
      { claims: { sub: "a\nb" } },
      /does not name its caller: expected a name of/,
    ],
    [
      "with a long subject",
      { claims: { sub: "x".repeat(257) } },
      /does not name its caller: expected a name of/,
    ],
    [
      "whose subject is a list",
      { claims: { sub: ["alice"] as never } },
      /^(has an invalid claim sub|is malformed|is valid, but)/,
    ],
  ])("%s is refused, and the reason quotes nothing of it", async (_what, settings, reason) => {
    const signer = { ...key, privateKey: key.privateKey };
    const token = await signToken(signer, settings).catch(() => undefined);
    // jose signs no extension that it does not know.
    const found = await check(
      await open(),
      token ?? `${encode({ alg: "ES256", ...settings.header })}.${encode({ iss: ISSUER })}.AAAA`,
    );
    expect(found).toMatch(/^AUTHENTICATION: the token /);
    expect(found.replace("AUTHENTICATION: the token ", "")).toMatch(reason);
    expect(found).not.toMatch(/evil|billing|passwd|__proto__|xxxx/);
  });

  it("is accepted within the allowed difference of clocks", async () => {
    const tokens = await open();
    expect(await check(tokens, await signToken(key, { claims: { exp: nowSeconds() - 20 } }))).toBe("alice");
    expect(await check(tokens, await signToken(key, { claims: { nbf: nowSeconds() + 20 } }))).toBe("alice");
    const strict = await open({ clock_tolerance: "1s" });
    expect(await check(strict, await signToken(key, { claims: { exp: nowSeconds() - 20 } }))).toMatch(
      "expired",
    );
  });

  it("is known from its second use on, until it expires", async () => {
    const tokens = await open({ clock_tolerance: 0 });
    const token = await signToken(key, { claims: { exp: nowSeconds() + 600 } });
    expect(tokens.verify(token)).toBeInstanceOf(Promise);
    await check(tokens, token);
    expect(tokens.verify(token)).toMatchObject({ caller: { name: "alice" } });
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 601_000 });
    expect(tokens.verify(token)).toMatchObject({
      refusal: { message: expect.stringMatching(/^the token expired at/) },
    });
  });
});

describe("a forged token", () => {
  const claims = { iss: ISSUER, aud: "outrigger", sub: "alice", exp: nowSeconds() + 600 };
  const publicPem = createPublicKey(key.privateKey).export({ type: "spki", format: "pem" }).toString();

  it.each<[what: string, header: object, sign: (signed: string) => string]>([
    ["without a signature (alg none)", { alg: "none" }, () => ""],
    ["with None in another case", { alg: "NoNe", kid: "first" }, () => ""],
    [
      "signed with the public key as a shared secret",
      { alg: "HS256", kid: "first" },
      (signed) => createHmac("sha256", publicPem).update(signed).digest("base64url"),
    ],
    [
      "signed with the published key as a shared secret",
      { alg: "HS256", kid: "first" },
      (signed) => createHmac("sha256", JSON.stringify(key.jwk)).update(signed).digest("base64url"),
    ],
    ["of another algorithm than its key", { alg: "RS256", kid: "first" }, () => "AAAA"],
    ["with an empty signature", { alg: "ES256", kid: "first" }, () => ""],
    [
      "with a signature of zeros (CVE-2022-21449)",
      { alg: "ES256", kid: "first" },
      () => Buffer.alloc(64).toString("base64url"),
    ],
    ["with a signature in the form of X.509", { alg: "ES256", kid: "first" }, () => "MAYCAQACAQA"],
    [
      "with a payload that is not encoded",
      { alg: "ES256", kid: "first", b64: false, crit: ["b64"] },
      () => "AAAA",
    ],
  ])("%s is refused", async (_what, header, sign) => {
    const signed = `${encode(header)}.${encode(claims)}`;
    expect(await check(await open(), `${signed}.${sign(signed)}`)).toMatch(
      /^AUTHENTICATION: the token (is signed with an algorithm|is signed with a key that|has an invalid signature|is malformed)/,
    );
  });

  it("cannot bring its key along, as a key, a certificate or an address", async () => {
    const server = await startKeys(other);
    const { jwk } = other;
    for (const header of [
      { jwk },
      { jwk, kid: "first" },
      { jku: server.url },
      { jku: server.url, kid: "first" },
      { x5u: server.url, kid: "first" },
      { x5c: ["MIIB"], kid: "first" },
    ]) {
      const token = await signToken(other, { header: header as never });
      expect(await check(await open(), token)).toMatch(/has an invalid signature|is signed with a key that/);
    }
    expect(server.requests).toHaveLength(0);
  });

  it.each([
    ["one part", "abc"],
    ["parts that are no JSON", "abc.def.ghi"],
    ["empty parts", `${encode("{}")}.${encode("{}")}.`],
    ["a list as its header", `${encode([])}.${encode(claims)}.AAAA`],
    ["a deep header", `${encode("[".repeat(3000))}.${encode(claims)}.AAAA`],
    ["deep claims", `${encode({ alg: "ES256" })}.${encode(`{"iss":${"[".repeat(4000)}`)}.AAAA`],
    [
      "deep and valid claims",
      `${encode({ alg: "ES256" })}.${encode(`{"a":${"[".repeat(2500)}${"]".repeat(2500)}}`)}.AA`,
    ],
    ["null as its claims", `${encode({ alg: "ES256" })}.${encode("null")}.AAAA`],
  ])("with %s is refused", async (_what, token) => {
    expect(await check(await open(), token)).toMatch(
      /^AUTHENTICATION: the token (is malformed|is from an issuer)/,
    );
  });

  it("with a claim twice counts with the last one, as for its issuer", async () => {
    const payload = `{"iss":"${ISSUER}","aud":"outrigger","exp":${nowSeconds() + 60},"sub":"root","sub":"alice"}`;
    const signed = `${encode({ alg: "ES256", kid: "first" })}.${encode(payload)}`;
    const { sign } = await import("node:crypto");
    const signature = sign("sha256", Buffer.from(signed), { key: key.privateKey, dsaEncoding: "ieee-p1363" });
    expect(await check(await open(), `${signed}.${signature.toString("base64url")}`)).toBe("alice");
  });

  it("of one issuer is not accepted with the key of another", async () => {
    const section = [
      { issuer: ISSUER, audience: "outrigger", jwks_file: "jwks.json", caller: "a/{sub}" },
      { issuer: "https://two.test", audience: "outrigger", jwks_file: "two.json", caller: "b/{sub}" },
    ];
    await writeFile(join(folder, "two.json"), toDocument({ ...other, jwk: { ...other.jwk, kid: "first" } }));
    await writeFile(join(folder, "jwks.json"), toDocument(key));
    const config = join(folder, "outrigger.yaml");
    await writeFile(config, JSON.stringify({ jwt: section }));
    const { access } = await loadConfig({ environment: { OPENAI_API_KEY: "sk" }, flags: { config } });
    const tokens = new TokenVerifier(access.issuers ?? [], log);
    const two = { iss: "https://two.test" };
    expect(await check(tokens, await signToken(key))).toBe("a/alice");
    expect(await check(tokens, await signToken({ ...other, kid: "first" }, { claims: two }))).toBe("b/alice");
    expect(await check(tokens, await signToken(key, { claims: two }))).toMatch("has an invalid signature");
    expect(await check(tokens, await signToken({ ...other, kid: "first" }))).toMatch(
      "has an invalid signature",
    );
  });
});

describe("the caller of a token", () => {
  it("has the models, the rate and the budgets of the first rule that fits its claims", async () => {
    const tokens = await open({
      rules: [
        {
          when: { "kubernetes.io.namespace": "shop" },
          models: ["openai/*"],
          budget: { window: "day", usd: 5 },
        },
        { when: { groups: ["admin*", "root"], level: 7 }, rate_limit: { requests_per_minute: 5 } },
        { when: { sub: "system:serviceaccount:*" }, models: ["openai/gpt-5-mini"] },
      ],
    });
    const getCaller = async (claims: object) =>
      tokens.verify(await signToken(key, { claims: claims as never }));
    const shop = await getCaller(toKubernetesClaims("shop", "checkout"));
    expect(shop).toMatchObject({
      caller: {
        name: "system:serviceaccount:shop:checkout",
        isRestricted: true,
        budgets: [{ window: "day", usd: 5 }],
      },
    });
    expect("caller" in shop && shop.caller.allowsModel("openai", "gpt-5")).toBe(true);
    expect(await getCaller({ sub: "a", groups: ["x", "admins"], level: 7 })).toMatchObject({
      caller: { isRestricted: false, rateLimit: { requestsPerMinute: 5, burst: 5 } },
    });
    expect(await getCaller(toKubernetesClaims("blog", "web"))).toMatchObject({
      caller: { isRestricted: true, budgets: undefined },
    });
    for (const claims of [{ sub: "a", groups: ["x"], level: 7 }, { sub: "a", groups: "admin" }, { sub: "a" }])
      expect(await getCaller(claims)).toMatchObject({
        refusal: {
          kindName: "ACCESS_DENIED",
          message: "the token is valid, but no configured rule matches its claims",
        },
      });
  });

  it("is named by several claims, which are kept apart", async () => {
    const tokens = await open({ caller: "{kubernetes.io.namespace}/{kubernetes.io.serviceaccount.name}" });
    const sign = (namespace: string, name: string) =>
      signToken(key, { claims: toKubernetesClaims(namespace, name) });
    expect(await check(tokens, await sign("shop", "checkout"))).toBe("shop/checkout");
    expect(await check(tokens, await sign("shop/a", "b"))).toMatch(
      'expected no "/" in its claim kubernetes.io.namespace',
    );
    expect(await check(tokens, await signToken(key))).toMatch(
      "expected a text in its claim kubernetes.io.namespace",
    );
  });

  it("is found by its name without a token, by rules that look at nothing else", async () => {
    const tokens = await open({
      caller: "k8s/{sub}",
      rules: [
        { when: { sub: "system:serviceaccount:shop:*" }, models: ["openai/*"] },
        { when: { team: "search", sub: "s*" } },
        { models: ["openai/gpt-5-mini"] },
      ],
    });
    const shop = tokens.callerNamed("k8s/system:serviceaccount:shop:checkout");
    expect(shop).toMatchObject({ name: "k8s/system:serviceaccount:shop:checkout", isRestricted: true });
    expect(shop?.allowsModel("openai", "gpt-5")).toBe(true);
    // Only a token says whether the second rule fits.
    expect(tokens.callerNamed("k8s/sue")).toBeUndefined();
    expect(tokens.callerNamed("k8s/alice")?.allowsModel("openai", "gpt-5")).toBe(false);
    expect(tokens.callerNamed("alice")).toBeUndefined();
    await check(tokens, await signToken(key, { claims: { sub: "sue", team: "search" } }));
    expect(tokens.callerNamed("k8s/sue")).toMatchObject({ isRestricted: false });
  });

  it("keeps its rule when the aliases that the rule names change", async () => {
    const rules = [{ when: { team: "search" }, models: ["fast"] }];
    const alias = (model: string) => ({ middleware: { model_aliases: { fast: { model } } } });
    const tokens = await open({ rules }, alias("gpt-5"));
    const token = await signToken(key, { claims: { team: "search" } });
    await check(tokens, token);
    expect(tokens.callerNamed("alice")?.allowsModel("openai", "gpt-5")).toBe(true);
    await writeFile(
      join(folder, "outrigger.yaml"),
      JSON.stringify({
        jwt: { issuer: ISSUER, audience: "outrigger", jwks_file: "jwks.json", rules },
        ...alias("gpt-5-mini"),
      }),
    );
    const flags = { config: join(folder, "outrigger.yaml") };
    tokens.use((await loadConfig({ environment: { OPENAI_API_KEY: "sk" }, flags })).access.issuers ?? []);
    const verdict = tokens.verify(token);
    expect(verdict).not.toBeInstanceOf(Promise);
    for (const caller of [tokens.callerNamed("alice"), "caller" in verdict ? verdict.caller : undefined]) {
      expect(caller?.allowsModel("openai", "gpt-5")).toBe(false);
      expect(caller?.allowsModel("openai", "gpt-5-mini")).toBe(true);
    }
  });
});

describe("a changed configuration", () => {
  async function readIssuers(changes: object): Promise<readonly TokenIssuer[]> {
    return readSection({ issuer: ISSUER, audience: "outrigger", jwks_file: "jwks.json", ...changes });
  }

  async function readSection(jwt: object): Promise<readonly TokenIssuer[]> {
    const config = join(folder, "outrigger.yaml");
    await writeFile(config, JSON.stringify({ jwt }));
    const { access } = await loadConfig({ environment: { OPENAI_API_KEY: "sk" }, flags: { config } });
    return access.issuers ?? [];
  }

  async function reload(tokens: TokenVerifier, changes: object): Promise<void> {
    tokens.use(await readIssuers(changes));
  }

  it("changes the rules for the next call of a known token", async () => {
    const tokens = await open({ rules: [{ when: { team: "search" }, models: ["gpt-5"] }] });
    const token = await signToken(key, { claims: { team: "search" } });
    expect(await check(tokens, token)).toBe("alice");
    await reload(tokens, {
      rules: [{ when: { team: "ads" } }, { when: { team: "search" }, models: ["gpt-5-mini"] }],
    });
    expect(await check(tokens, token)).toBe("alice");
    const caller = tokens.callerNamed("alice");
    expect([caller?.allowsModel("openai", "gpt-5"), caller?.allowsModel("openai", "gpt-5-mini")]).toEqual([
      false,
      true,
    ]);
    await reload(tokens, { rules: [{ when: { team: "ads" } }] });
    expect(await check(tokens, token)).toMatch("no configured rule matches its claims");
    expect(tokens.callerNamed("alice")).toBeUndefined();
    await reload(tokens, { audience: "another" });
    expect(await check(tokens, token)).toMatch("is for another audience");
    await reload(tokens, { caller: "staff/{sub}" });
    expect(await check(tokens, token)).toBe("staff/alice");
  });

  it("changes the rules for a token that is being verified when they change", async () => {
    const search = { when: { team: "search" }, models: ["gpt-5-mini"] };
    const tokens = await open({ rules: [search] });
    const token = await signToken(key, { claims: { team: "search" } });
    const issuers = await readIssuers({ rules: [{ when: { team: "ads" } }, search] });
    const verdict = tokens.verify(token);
    tokens.use(issuers);
    const { caller } = (await verdict) as VerifiedToken;
    for (const found of [caller, tokens.callerNamed("alice")]) {
      expect(found?.allowsModel("openai", "gpt-5-mini")).toBe(true);
      expect(found?.allowsModel("openai", "gpt-5")).toBe(false);
    }
    const others = await readIssuers({ audience: "another" });
    const late = check(tokens, await signToken(key, { claims: { team: "ads" } }));
    tokens.use(others);
    expect(await late).toMatch("is for another audience");
  });

  it("adds and removes issuers, and reads keys that are elsewhere now", async () => {
    const server = await startKeys(other);
    const tokens = await open();
    const token = await signToken(key);
    const sso = { iss: "https://sso.test", sub: "bob" };
    const added = await signToken(other, { claims: sso });
    expect(await check(tokens, token)).toBe("alice");
    expect(await check(tokens, added)).toMatch("is from an issuer that is not configured");
    const first = { issuer: ISSUER, audience: "outrigger", jwks_file: "jwks.json" };
    const second = {
      ...first,
      issuer: sso.iss,
      jwks_file: undefined,
      jwks_url: server.url,
      caller: "sso/{sub}",
    };
    tokens.use(await readSection([{ ...first, caller: "ci/{sub}" }, second]));
    expect(await check(tokens, added)).toBe("sso/bob");
    expect(await check(tokens, token)).toBe("ci/alice");
    tokens.use(await readSection([second]));
    expect(server.requests).toHaveLength(1);
    expect(await check(tokens, token)).toMatch("is from an issuer that is not configured");
    expect(tokens.callerNamed("ci/alice")).toBeUndefined();
    tokens.use(await readSection({ ...second, jwks_url: undefined, jwks_file: "jwks.json" }));
    expect(await check(tokens, added)).toMatch("is signed with a key that is not among its issuer's keys");
    expect(await check(tokens, await signToken(key, { claims: sso }))).toBe("sso/bob");
  });
});

describe("the metadata of an issuer", () => {
  /** Serves metadata, and keys at `/keys`. */
  async function startIssuer(toMetadata: (origin: string) => object = () => ({})) {
    const server = await startKeys(key);
    const { origin } = new URL(server.url);
    const answerKeys = server.answer;
    server.answer = (request, response) => {
      if (request.url === "/keys") return answerKeys(request, response);
      response.end(JSON.stringify({ issuer: origin, jwks_uri: `${origin}/keys`, ...toMetadata(origin) }));
    };
    const getPaths = () => server.requests.map(({ url }) => url);
    return { server, issuer: origin, getPaths };
  }

  const METADATA = "/.well-known/openid-configuration";

  it("name the address of its keys, and are read again after an hour, or if the keys cannot be read", async () => {
    fakeClock();
    const { server, issuer, getPaths } = await startIssuer();
    const tokens = await open({ issuer, jwks_file: undefined });
    const claims = { iss: issuer };
    expect(await check(tokens, await signToken(key, { claims }))).toBe("alice");
    expect(getPaths()).toEqual([METADATA, "/keys"]);
    pass(10_001);
    await check(tokens, await signToken(other, { claims }));
    expect(getPaths()).toEqual([METADATA, "/keys", "/keys"]);
    pass(3_600_001);
    await check(tokens, await signToken(other, { claims }));
    expect(getPaths().slice(3)).toEqual([METADATA, "/keys"]);
    const answer = server.answer;
    server.answer = (_request, response) => void response.writeHead(404).end();
    pass(10_001);
    await check(tokens, await signToken(other, { claims }));
    expect(listProblems(tokens)).toEqual([`${issuer}/keys answered with the HTTP status 404; expected 200`]);
    server.answer = answer;
    pass(10_001);
    await check(tokens, await signToken(other, { claims }));
    expect(getPaths().slice(5)).toEqual(["/keys", METADATA, "/keys"]);
    expect(listProblems(tokens)).toEqual([]);
  });

  it("may name another server, which does not get the token for the first one", async () => {
    const keys = await startKeys(key);
    const { server, issuer } = await startIssuer(() => ({ jwks_uri: keys.url }));
    await writeFile(join(folder, "token"), "pod-token");
    const tokens = await open({ issuer, jwks_file: undefined, jwks_token_file: "token" });
    expect(await check(tokens, await signToken(key, { claims: { iss: issuer } }))).toBe("alice");
    const sent = [server, keys].map(({ requests }) => requests.map(({ headers }) => headers.authorization));
    expect(sent).toEqual([["Bearer pod-token"], [undefined]]);
  });

  it.each<[what: string, metadata: object, problem: string]>([
    [
      "of another issuer",
      { issuer: "https://evil.test" },
      'issuer: expected "ISSUER", as in the configuration, found "https://evil.test"',
    ],
    [
      "without an issuer",
      { issuer: 7 },
      'issuer: expected "ISSUER", as in the configuration, found a value that is not a string',
    ],
    [
      "without an address",
      { jwks_uri: undefined },
      "jwks_uri: expected an https: URL, or an http: URL of a private network, found nothing",
    ],
    [
      "with an unsafe address",
      { jwks_uri: "http://keys.example.com/x" },
      'found "http://keys.example.com/x"',
    ],
  ])(
    "%s are reported with the field, what was expected and what was found",
    async (_what, metadata, problem) => {
      const { issuer } = await startIssuer(() => metadata);
      const tokens = await open({ issuer, jwks_file: undefined });
      expect(await check(tokens, await signToken(key, { claims: { iss: issuer } }))).toMatch(
        "cannot be verified",
      );
      const [found = ""] = listProblems(tokens);
      expect(found).toContain(problem.replace("ISSUER", issuer));
      expect(found).toMatch(`(${issuer}${METADATA})`);
    },
  );

  it("do not let an issuer with TLS name an address without", () => {
    const issuer = "https://i.test";
    expect(parseMetadata(JSON.stringify({ issuer, jwks_uri: "http://127.0.0.1/keys" }), issuer)).toEqual({
      problem: 'jwks_uri: expected an https: URL, found "http://127.0.0.1/keys"',
    });
  });
});

describe("the keys in a file", () => {
  it("change while the sidecar runs: tokens of removed keys are refused, and mistakes are reported once", async () => {
    const tokens = await open();
    const [old, fresh] = [await signToken(key), await signToken(other)];
    expect(await check(tokens, old)).toBe("alice");
    await writeFile(join(folder, "jwks.json"), toDocument(other));
    tokens.reload();
    expect(await check(tokens, old)).toMatch("is signed with a key that is not among its issuer's keys");
    expect(await check(tokens, fresh)).toBe("alice");
    for (const content of [
      "{",
      "[]",
      '{"keys":[{"kty":"oct","k":"AA"}]}',
      JSON.stringify({ keys: [other.privateKey.export({ format: "jwk" })] }),
    ]) {
      await writeFile(join(folder, "jwks.json"), content);
      for (let count = 0; count < 2; count += 1) tokens.reload();
      expect(await check(tokens, fresh)).toBe("alice");
      expect(listProblems(tokens)).toHaveLength(1);
    }
    await writeFile(join(folder, "jwks.json"), toDocument(other));
    tokens.reload();
    expect(listProblems(tokens)).toEqual([]);
    const kept = "cannot read the keys of the issuer, keeping the previous ones";
    expect(
      lines.map(([level, fields, message]) => [level, Reflect.get(fields, "problem") ?? "", message]),
    ).toEqual([
      ["info", "", "using new keys of the issuer"],
      [
        "warn",
        expect.stringMatching(
          /^expected a JWK Set, an object with a list "keys", found text that is not JSON/,
        ),
        kept,
      ],
      ["warn", expect.stringMatching(/found other JSON/), kept],
      [
        "warn",
        expect.stringMatching(/^expected a public key that verifies .* found none among 1 keys/),
        kept,
      ],
      ["warn", expect.stringMatching(/^keys\[0\]: expected a public key, found a private one/), kept],
    ]);
  });
});

describe("the keys at an address", () => {
  /** Makes the next read due. */

  it("are read at the start, for a token with a new key, and not more often than every ten seconds", async () => {
    fakeClock();
    const server = await startKeys(key);
    const tokens = await open({ jwks_url: server.url });
    expect(await check(tokens, await signToken(key))).toBe("alice");
    server.publish(key, other);
    const fresh = await signToken(other);
    expect(await check(tokens, fresh)).toMatch("is signed with a key that is not among its issuer's keys");
    pass(10_001);
    expect(await check(tokens, fresh)).toBe("alice");
    const invented = await Promise.all(
      Array.from({ length: 500 }, (_, index) => signToken(other, { header: { kid: `invented-${index}` } })),
    );
    const answers = await Promise.all(invented.map((token) => check(tokens, token)));
    expect(new Set(answers.map((answer) => answer.slice(0, 51)))).toEqual(
      new Set(["AUTHENTICATION: the token is signed with a key that"]),
    );
    expect(server.requests).toHaveLength(2);
    pass(10_001);
    await Promise.all(invented.map((token) => check(tokens, token)));
    expect(server.requests).toHaveLength(3);
  });

  it("are requested with a token from a file, and reloaded later", async () => {
    fakeClock();
    const server = await startKeys(key);
    await writeFile(join(folder, "token"), "pod-token-1\n");
    const tokens = await open({ jwks_url: server.url, jwks_token_file: "token" });
    const token = await signToken(key);
    expect(await check(tokens, token)).toBe("alice");
    await writeFile(join(folder, "token"), "pod-token-2\n");
    server.publish(other);
    pass(300_001);
    // The read has begun, and the call does not wait for it.
    expect(await check(tokens, token)).toBe("alice");
    await vi.waitFor(() => expect(lines).toHaveLength(2));
    expect(await check(tokens, token)).toMatch("is signed with a key that");
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer pod-token-1",
      "Bearer pod-token-2",
    ]);
  });

  it.each<[what: string, answer: KeyServer["answer"], problem: RegExp]>([
    [
      "answers with an error",
      (_, response) => void response.writeHead(503).end("down"),
      /answered with the HTTP status 503; expected 200$/,
    ],
    ["redirects", (_, response) => void response.writeHead(302, { location: "/x" }).end(), /HTTP status 302/],
    [
      "answers with something else",
      (_, response) => void response.end("<html>"),
      /found text that is not JSON/,
    ],
    ["closes the connection", (request) => void request.destroy(), /^cannot read http:/],
    [
      "answers with 100 MB",
      (_, response) => {
        const chunk = Buffer.alloc(1024 * 1024, " ");
        const write = () => {
          for (let count = 0; count < 100; count += 1)
            if (!response.write(chunk)) return void response.once("drain", write);
        };
        write();
      },
      /^cannot read http:.*(larger|over|more than)/,
    ],
  ])("stay in use while their server %s", async (_what, answer, problem) => {
    fakeClock();
    const server = await startKeys(key);
    const tokens = await open({ jwks_url: server.url });
    const token = await signToken(key);
    expect(await check(tokens, token)).toBe("alice");
    server.answer = answer;
    for (let count = 0; count < 2; count += 1) {
      pass(10_001);
      expect(await check(tokens, await signToken(other))).toMatch("is signed with a key that");
    }
    expect(await check(tokens, token)).toBe("alice");
    expect(server.requests).toHaveLength(3);
    expect(lines.filter(([level]) => level === "warn")).toEqual([
      [
        "warn",
        { issuer: ISSUER, problem: expect.stringMatching(problem) },
        "cannot read the keys of the issuer, keeping the previous ones",
      ],
    ]);
    expect(listProblems(tokens)).toEqual([expect.stringMatching(problem)]);
    server.publish(other);
    pass(10_001);
    expect(await check(tokens, await signToken(other))).toBe("alice");
    expect(listProblems(tokens)).toEqual([]);
  });

  it("keep few callers waiting while their server hangs, and let known keys work", async () => {
    fakeClock();
    const server = await startKeys(key);
    const tokens = await open({ jwks_url: server.url });
    await check(tokens, await signToken(key));
    server.answer = () => {};
    pass(10_001);
    const invented = await Promise.all(
      Array.from({ length: 300 }, (_, index) => signToken(other, { header: { kid: `invented-${index}` } })),
    );
    let refused = 0;
    const waiting = invented.map((token) => check(tokens, token).then(() => (refused += 1)));
    await vi.waitFor(() => expect(refused).toBe(200));
    expect(await check(tokens, await signToken(key, { claims: { sub: "bob" } }))).toBe("bob");
    server.publish(key);
    await tokens.close();
    await Promise.all(waiting);
    expect(server.requests).toHaveLength(2);
  });

  it("make tokens wait at the start, and refuse them as unavailable if there are none", async () => {
    const server = await startKeys();
    server.answer = (_, response) => void response.writeHead(500).end();
    const tokens = await open({ jwks_url: server.url });
    const token = await signToken(key);
    expect(await check(tokens, token)).toMatch(
      /^NETWORK: the token cannot be verified, since the keys of its issuer/,
    );
    server.publish(key);
    await vi.waitFor(async () => expect(await check(tokens, token)).toBe("alice"), {
      timeout: 5000,
      interval: 100,
    });
    expect(lines.map(([, , message]) => message)).toEqual([
      "cannot read the keys of the issuer, its tokens are rejected until the keys can be read",
      "using new keys of the issuer",
    ]);
  });
});

describe("access by tokens and keys", () => {
  const CHECKOUT = [accessKey("checkout", ["the-key-of-checkout", "eyJh.bc.de"])];
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

  async function createAccess(section = {}, getKeys = () => CHECKOUT) {
    return new AccessControl({ current: getKeys }, { tokens: await open(section) });
  }

  it("takes keys as without tokens, at once, even one that looks like a token", async () => {
    const access = await createAccess();
    for (const secret of ["the-key-of-checkout", "eyJh.bc.de"])
      expect(access.admit(bearer(secret))).toMatchObject({
        caller: { name: "checkout" },
        refusal: undefined,
      });
    const wrong = "the request has neither a token (JWT of at most 8192 characters) nor a valid access key";
    for (const secret of ["wrong", "x".repeat(9000), `${"x".repeat(9000)}.b.c`])
      expect(access.admit(bearer(secret))).toMatchObject({ refusal: { message: wrong } });
    expect(access.admit({})).toMatchObject({
      refusal: { message: expect.stringContaining("expected a token (JWT) or") },
    });
  });

  it.each(["authorization", "x-api-key", "x-goog-api-key"])("takes a token in %s", async (name) => {
    const access = await createAccess();
    const token = await signToken(key, { claims: { note: "x".repeat(3000) } });
    const headers = { [name]: name === "authorization" ? `Bearer ${token}` : token };
    expect(await access.admit(headers)).toMatchObject({ caller: { name: "alice" }, refusal: undefined });
  });

  it("does not let a token be the caller of an access key", async () => {
    const access = await createAccess();
    const token = await signToken(key, { claims: { sub: "checkout" } });
    expect(await access.admit(bearer(token))).toMatchObject({
      caller: { name: "" },
      refusal: {
        kindName: "AUTHENTICATION",
        message: expect.stringContaining("is the name of an access key"),
      },
    });
  });

  it("limits the rate of each caller, whichever of its tokens it uses", async () => {
    const access = await createAccess({ rules: [{ rate_limit: { requests_per_minute: 2 } }] });
    const sign = (claims: object) => signToken(key, { claims: claims as never });
    const [first, second, bob] = [
      await sign({ jti: "1" }),
      await sign({ jti: "2" }),
      await sign({ sub: "bob" }),
    ];
    const admitted: (Admission | undefined)[] = [];
    for (const token of [first, second, first, bob]) admitted.push(await access.admit(bearer(token)));
    expect(admitted.map((admission) => admission?.refusal?.message)).toEqual([
      undefined,
      undefined,
      expect.stringMatching(/^the limit of 2 requests per minute for the caller alice is reached/),
      undefined,
    ]);
  });

  it("knows callers by their names, for background runs", async () => {
    const access = await createAccess({ caller: "team/{sub}" });
    expect(access.callerNamed("checkout")).toMatchObject({ name: "checkout", isRestricted: false });
    expect(access.callerNamed("team/alice")).toMatchObject({ name: "team/alice", isRestricted: false });
    expect(access.callerNamed("nobody")).toMatchObject({ name: "nobody", isRestricted: true });
  });

  it("refuses further requests on a connection once its token has expired", async () => {
    const access = await createAccess({ clock_tolerance: 0 });
    const headers = bearer(await signToken(key, { claims: { exp: nowSeconds() + 2 } }));
    const admission = await access.admit(headers);
    expect(access.admitAgain(admission, headers)).toBeUndefined();
    await sleep(2100);
    expect(access.admitAgain(admission, headers)).toMatchObject({ kindName: "AUTHENTICATION" });
  });

  it("refuses further requests on a connection once its key was removed, also one that looks like a token", async () => {
    let keys = CHECKOUT;
    const access = await createAccess({}, () => keys);
    const secrets = ["the-key-of-checkout", "eyJh.bc.de"];
    const admissions = await Promise.all(secrets.map((secret) => access.admit(bearer(secret))));
    const admitAgain = () =>
      secrets.map((secret, index) => access.admitAgain(admissions[index] as Admission, bearer(secret)));
    expect(admitAgain()).toEqual([undefined, undefined]);
    keys = [];
    const wrong = {
      kindName: "AUTHENTICATION",
      message: "the request has neither a token (JWT of at most 8192 characters) nor a valid access key",
    };
    expect(admitAgain()).toEqual([expect.objectContaining(wrong), expect.objectContaining(wrong)]);
  });
});
