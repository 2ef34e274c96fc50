import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  matchesClaim,
  nameCaller,
  parseCallerPattern,
  readCallerName,
  readClaim,
} from "../../src/config/claims.ts";
import { loadConfig } from "../../src/config/index.ts";
import { parseKeySet } from "../../src/config/key-set.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { Authority, hasTlsTools } from "../support/certificates.ts";
import { createKey } from "../support/issuer.ts";

const ENVIRONMENT = { OPENAI_API_KEY: "sk-provider" };
const key = await createKey("k");

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "outrigger-jwt-"));
  await writeFile(join(folder, "jwks.json"), JSON.stringify({ keys: [key.jwk] }));
  await writeFile(
    join(folder, "private.json"),
    JSON.stringify({ keys: [key.privateKey.export({ format: "jwk" })] }),
  );
  await writeFile(join(folder, "large.json"), " ".repeat(300_000));
});

afterEach(() => rm(folder, { recursive: true }));

async function loadAll(text: string) {
  const config = join(folder, "outrigger.yaml");
  await writeFile(config, text);
  return loadConfig({ environment: ENVIRONMENT, flags: { config } });
}

async function load(text: string) {
  return (await loadAll(text)).access.issuers;
}

/** The lines of the error that a file causes, without the folder. */
async function mistakesIn(text: string): Promise<string[]> {
  const error: unknown = await load(text).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigurationError)) throw error;
  return error.message
    .replaceAll(`${folder}/`, "")
    .replace(/^the configuration (is wrong: |has .*:\n {2})/, "")
    .split("\n  ");
}

describe("the section jwt", () => {
  it("needs an issuer, an audience and the issuer's keys", async () => {
    expect(
      await load("jwt: { issuer: https://i.test, audience: outrigger, jwks_file: jwks.json }"),
    ).toMatchObject([
      {
        issuer: "https://i.test",
        audiences: ["outrigger"],
        caller: { texts: ["", ""], claims: ["sub"] },
        rules: undefined,
        clockToleranceMs: 30_000,
        keys: { kind: "file", path: join(folder, "jwks.json"), keys: { keys: [{ kid: "k", crv: "P-256" }] } },
      },
    ]);
    expect(await load("{}")).toBeUndefined();
  });

  it("names several issuers, with addresses, rules and callers", async () => {
    await writeFile(join(folder, "token"), "pod-token");
    const text = `
jwt:
  - issuer: https://kubernetes.default.svc.cluster.local
    audience: [outrigger, outrigger.example.com]
    jwks_url: https://kubernetes.default.svc/openid/v1/jwks?x=1
    jwks_token_file: token
    caller: "k8s/{sub}"
    clock_tolerance: 1m
    rules:
      - when: { kubernetes.io.namespace: shop, level: 7, admin: true }
        models: [openai/*]
        rate_limit: { requests_per_minute: 60 }
        budget: [{ window: day, usd: 5 }]
      - when: { sub: ["a*", b] }
  - { issuer: https://ci.test, audience: outrigger, jwks_url: "http://keys.auth.svc:8080/keys", caller: "ci/{repository}" }
`;
    expect(await load(text)).toMatchObject([
      {
        audiences: ["outrigger", "outrigger.example.com"],
        clockToleranceMs: 60_000,
        keys: { kind: "url", tokenFile: join(folder, "token"), tls: undefined },
        rules: [
          {
            when: [
              ["kubernetes.io.namespace", ["shop"]],
              ["level", ["7"]],
              ["admin", ["true"]],
            ],
            grants: {
              isRestricted: true,
              rateLimit: { requestsPerMinute: 60, burst: 60 },
              budgets: [{ usd: 5 }],
            },
          },
          { when: [["sub", ["a*", "b"]]], grants: { isRestricted: false } },
        ],
      },
      { issuer: "https://ci.test", caller: { texts: ["ci/", ""], claims: ["repository"] } },
    ]);
  });

  it("derives the address of an issuer's metadata from its name if no keys are configured", async () => {
    for (const [issuer, url] of [
      ["https://i.test", "https://i.test/.well-known/openid-configuration"],
      ["https://i.test/realms/a/", "https://i.test/realms/a/.well-known/openid-configuration"],
    ])
      expect(await load(`jwt: { issuer: "${issuer}", audience: a }`)).toMatchObject([
        { issuer, keys: { kind: "metadata", url: new URL(url ?? "") } },
      ]);
  });

  it.skipIf(!hasTlsTools)("follows the files of TLS for an address of keys or metadata", async () => {
    const files = `tls: { ca_file: "${new Authority().file}" }`;
    for (const address of ["", "jwks_url: https://i.test/keys, "]) {
      const text = `jwt: { issuer: "https://i.test", audience: a, ${address}${files} }`;
      expect((await loadAll(text)).tlsFiles).toHaveLength(1);
    }
  });

  it.each<[what: string, fields: string, mistakes: (string | RegExp)[]]>([
    [
      "nothing",
      "",
      [
        /^outrigger.yaml:1:1 jwt.issuer: expected a text, found nothing$/,
        /jwt.audience: expected an audience or a list of them, found nothing$/,
      ],
    ],
    [
      "no keys",
      "issuer: i, audience: a",
      [
        /jwt.jwks_file: expected jwks_file, jwks_url, or an issuer with an https: URL, whose metadata has the address of the keys, found nothing$/,
      ],
    ],
    [
      "no keys and an issuer without TLS",
      "issuer: http://login.example.com, audience: a",
      [/jwt.jwks_file: expected jwks_file, .* an issuer with an https: URL/],
    ],
    [
      "two sources of keys",
      "issuer: i, audience: a, jwks_file: jwks.json, jwks_url: https://x.test/keys",
      [/jwt.jwks_url: expected jwks_file or jwks_url, not both, found "https:\/\/x.test\/keys"$/],
    ],
    [
      "files for an address beside a file",
      "issuer: i, audience: a, jwks_file: jwks.json, jwks_token_file: t, tls: { ca_file: c }",
      [
        /jwt.jwks_token_file: expected no jwks_token_file together with jwks_file, found "t"$/,
        /jwt.tls: expected no tls together with jwks_file, found a mapping$/,
      ],
    ],
    [
      "a public address without TLS",
      "issuer: i, audience: a, jwks_url: http://keys.example.com/jwks",
      [
        /jwt.jwks_url: expected an https: URL, or an http: URL of this machine or a private network, without a password, found "http:\/\/keys.example.com\/jwks"$/,
      ],
    ],
    [
      "a password in an address",
      "issuer: i, audience: a, jwks_url: https://u:p@keys.example.com/jwks",
      [/jwt.jwks_url: expected an https: URL.*found "https:\/\/…@keys.example.com\/jwks"$/],
    ],
    [
      "a caller without a claim",
      "issuer: i, audience: a, jwks_file: jwks.json, caller: all",
      [
        /jwt.caller: expected a name with claims in braces such as "{sub}" or "ci\/{repository}".*found "all"$/,
      ],
    ],
    [
      "a caller of two claims side by side",
      'issuer: i, audience: a, jwks_file: jwks.json, caller: "{a}{b}"',
      [/jwt.caller: expected a name with claims .* with a text between two claims, found "{a}{b}"$/],
    ],
    [
      "a large tolerance",
      "issuer: i, audience: a, jwks_file: jwks.json, clock_tolerance: 1h",
      [/jwt.clock_tolerance: expected at most "5m", found "1h"$/],
    ],
    [
      "mistakes in rules",
      "issuer: i, audience: a, jwks_file: jwks.json, rules: [{ when: { sub: a*b*c } }, { when: { sub: [] } }, { wen: {} }, { when: x }]",
      [
        /jwt.rules\[0\].when.sub: expected a text with at most one "\*", found "a\*b\*c"$/,
        /jwt.rules\[1\].when.sub: expected a value or a list of them, found an empty list$/,
        /jwt.rules\[2\].wen: unknown field, expected one of when, rate_limit, models, budget; did you mean "when"\?$/,
        /jwt.rules\[3\].when: expected a mapping of claims to values or patterns, found a text$/,
      ],
    ],
    [
      "models of unknown providers",
      "issuer: i, audience: a, jwks_file: jwks.json, rules: [{ models: [opnai/x] }]",
      [/jwt.rules\[0\].models\[0\]: expected the name of a provider before "\/": openai$/],
    ],
    [
      "a missing file",
      "issuer: i, audience: a, jwks_file: none.json",
      [/^outrigger.yaml:1:\d+ jwt.jwks_file: cannot read none.json \(ENOENT\)$/],
    ],
    [
      "a large file",
      "issuer: i, audience: a, jwks_file: large.json",
      [/jwt.jwks_file: the file large.json is over 262144 bytes$/],
    ],
    [
      "a private key",
      "issuer: i, audience: a, jwks_file: private.json",
      [/jwt.jwks_file: keys\[0\]: expected a public key, found a private one \(private.json\)$/],
    ],
    [
      "a file that is no JWK Set",
      "issuer: i, audience: a, jwks_file: outrigger.yaml",
      [
        /jwt.jwks_file: expected a JWK Set, an object with a list "keys", found text that is not JSON \(outrigger.yaml\)$/,
      ],
    ],
    [
      "missing files of an address",
      "issuer: i, audience: a, jwks_url: https://x.test, jwks_token_file: none, tls: { ca_file: none }",
      [/jwt.jwks_token_file: cannot read none \(ENOENT\)$/, /jwt.tls.ca_file: cannot read none \(ENOENT\)$/],
    ],
  ])(
    "with %s is reported with the field, what was found and what was expected",
    async (_what, fields, mistakes) => {
      expect(await mistakesIn(`jwt: { ${fields} }`)).toEqual(
        mistakes.map((mistake) => (typeof mistake === "string" ? mistake : expect.stringMatching(mistake))),
      );
    },
  );

  it("keeps the callers of issuers apart", async () => {
    const issuer = (name: string, caller: string) =>
      `  - { issuer: ${name}, audience: a, jwks_file: jwks.json, caller: "${caller}" }`;
    const text = ["jwt:", issuer("one", "{sub}"), issuer("two", "k8s/{sub}"), issuer("one", "ci/{sub}")];
    const expected = 'expected callers that begin with a text unique to their issuer, such as "ci/{sub}"';
    expect(await mistakesIn(text.join("\n"))).toEqual([
      `outrigger.yaml:3:55 jwt[1].caller: ${expected}; found "k8s/" here and none in jwt[0]`,
      "outrigger.yaml:4:7 jwt[2].issuer: another entry has the same issuer",
    ]);
    expect(
      await load(["jwt:", issuer("one", "ci/{sub}"), issuer("two", "k8s/{sub}")].join("\n")),
    ).toHaveLength(2);
  });
});

describe("a JWK Set", () => {
  it("may have keys that verify nothing, which are left out", () => {
    const { jwk } = key;
    const keys = [
      { kty: "oct", k: "AAAA" },
      { ...jwk, use: "enc" },
      { kty: "RSA", n: "AQAB", e: "AQAB" },
      { kty: "EC", crv: "P-256", x: "AA", y: "AA" },
      { kty: "EC", crv: "secp256k1", x: jwk.x, y: jwk.y },
      "x",
      { ...jwk, x5u: "https://evil.test", x5c: ["AA"] },
    ];
    const { alg, crv, kid, kty, use, x, y } = jwk;
    expect(parseKeySet(JSON.stringify({ keys }))).toMatchObject({
      value: { keys: [{ alg, crv, kid, kty, use, x, y }] },
    });
    const parsed = parseKeySet(JSON.stringify({ keys }));
    expect(JSON.stringify(parsed)).not.toContain("evil");
    expect(parseKeySet(JSON.stringify({ keys: keys.slice(0, -1) }))).toEqual({
      problem: expect.stringMatching(/^expected a public key .* found none among 6 keys$/),
    });
    expect(parseKeySet(JSON.stringify({ keys: Array.from({ length: 101 }, () => jwk) }))).toEqual({
      problem: "expected at most 100 keys, found 101",
    });
  });
});

describe("claims", () => {
  it.each<[value: unknown, pattern: string, fits: boolean]>([
    ["shop", "shop", true],
    ["shop-1", "shop-*", true],
    [["a", "shop"], "shop", true],
    [7, "7", true],
    [true, "true", true],
    [undefined, "undefined", false],
    [null, "null", false],
    [{}, "*", false],
    [[[]], "*", false],
  ])(
    "match patterns if they are texts, numbers, booleans or lists of them: %j, %j, %s",
    (value, pattern, fits) => {
      expect(matchesClaim(value, [pattern])).toBe(fits);
    },
  );

  it("are read by paths, also those with dots in their names", () => {
    const claims = {
      sub: "a",
      "kubernetes.io": { namespace: "shop", "pod.name": { x: 1 } },
      "https://example.com/roles": ["r"],
      a: { b: "nested" },
      "a.b": "flat",
    };
    const paths = [
      "sub",
      "kubernetes.io.namespace",
      "kubernetes.io.pod.name.x",
      "https://example.com/roles",
      "a.b",
    ];
    expect(paths.map((path) => readClaim(claims, path))).toEqual(["a", "shop", 1, ["r"], "flat"]);
    for (const path of [
      "toString",
      "__proto__",
      "sub.length",
      "kubernetes.io",
      "https://example.com/roles.0",
    ])
      expect(readClaim({ ...claims, "kubernetes.io": undefined }, path)).toBeUndefined();
  });

  it.each<[pattern: string, claims: Record<string, unknown>, name: string]>([
    ["{sub}", { sub: "system:serviceaccount:shop:checkout" }, "system:serviceaccount:shop:checkout"],
    ["{id}", { id: 42 }, "42"],
    ["ci/{repository}@{ref}", { repository: "org/app", ref: "main" }, "ci/org/app@main"],
  ])("name a caller by %s, from which the claims can be read again", (text, claims, name) => {
    const pattern = parseCallerPattern(text);
    if (pattern === undefined) throw new Error("the pattern is wrong");
    expect(nameCaller(pattern, claims)).toEqual({ name });
    const read = readCallerName(pattern, name);
    expect(pattern.claims.map((claim) => read?.(claim))).toEqual(
      pattern.claims.map((claim) => String(claims[claim])),
    );
  });

  it.each([
    { a: "" },
    { a: ["x"] },
    { a: { b: "x" } },
    { a: true },
    { a: null },
    { a: 1.5 },
    { a: 2 ** 53 },
    {},
  ])("identify nobody by %o, alongside another claim", (claims) => {
    const pattern = parseCallerPattern("{a}/{b}");
    if (pattern === undefined) throw new Error("the pattern is wrong");
    const problem = "expected a text in its claim a, which names the caller";
    expect(nameCaller(pattern, { ...claims, b: "y" })).toEqual({ problem });
  });

  it("never give two callers one name", () => {
    const pattern = parseCallerPattern("{a}--{b}");
    if (pattern === undefined) throw new Error("the pattern is wrong");
    expect(nameCaller(pattern, { a: "x", b: "y" })).toEqual({ name: "x--y" });
    for (const claims of [
      { a: "x-", b: "y" },
      { a: "x", b: "-y" },
      { a: "x", b: "y--z" },
    ])
      expect(nameCaller(pattern, claims)).toHaveProperty("problem");
    expect(readCallerName(pattern, "x---y")).toBeUndefined();
  });
});
