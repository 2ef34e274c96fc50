/** The section `jwt` of a configuration: whose tokens identify callers. */
import * as z from "zod/mini";
import { grantFields } from "./caller-grants.ts";
import { isClaimPath, parseCallerPattern } from "./claims.ts";
import { fields, list, named, oneOrMore } from "./fields.ts";
import { parseKeysUrl, toMetadataUrl } from "./issuer-metadata.ts";
import { duration, leaf, text } from "./leaves.ts";
import { clientTls } from "./tls-schema.ts";

/** Maximum number of issuers. */
const MAX_ISSUERS = 16;

/** Maximum number of rules of an issuer: a new token is compared with each. */
const MAX_RULES = 256;

/** Maximum number of audiences, and of patterns of a claim. */
const MAX_VALUES = 64;

/** Longest difference between the clocks of an issuer and of the sidecar, in milliseconds. */
const MAX_TOLERANCE_MS = 300_000;

const keysUrl = leaf(
  "an https: URL, or an http: URL of this machine or a private network, without a password",
  parseKeysUrl,
);

const callerPattern = leaf(
  'a name with claims in braces such as "{sub}" or "ci/{repository}", with a text between two claims',
  (value) => (typeof value === "string" ? parseCallerPattern(value) : undefined),
);

const claimPattern = leaf('a text with at most one "*"', (value) => {
  const found = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  return typeof found === "string" && found !== "" && found.split("*").length <= 2 ? found : undefined;
});

const condition = z
  .record(z.string(), oneOrMore(claimPattern, "a value or a list of them", MAX_VALUES), {
    error: "expected a mapping of claims to values or patterns",
  })
  .check(
    z.superRefine((claims, context) => {
      for (const path of Object.keys(claims)) {
        if (isClaimPath(path)) continue;
        context.addIssue({
          code: "custom",
          path: [path],
          message: "expected the path of a claim as the key",
        });
      }
    }),
  );

const rule = fields({ when: z.optional(condition), ...grantFields });

const NO_KEYS =
  "expected jwks_file, jwks_url, or an issuer with an https: URL, whose metadata has the address of the keys";

const issuer = named(
  fields({
    issuer: text,
    audience: oneOrMore(text, "an audience or a list of them", MAX_VALUES),
    jwks_file: z.optional(text),
    jwks_url: z.optional(keysUrl),
    jwks_token_file: z.optional(text),
    tls: z.optional(clientTls),
    caller: z.optional(callerPattern),
    clock_tolerance: z.optional(duration),
    rules: z.optional(list(rule, "a list of rules", MAX_RULES, "rules")),
  }).check(
    z.superRefine((found, context) => {
      const { jwks_file: file, jwks_url: url, jwks_token_file: token, tls, clock_tolerance = 0 } = found;
      const complain = (field: string, message: string) =>
        context.addIssue({ code: "custom", path: [field], message });
      if (file === undefined && url === undefined && toMetadataUrl(found.issuer) === undefined)
        complain("jwks_file", NO_KEYS);
      if (file !== undefined && url !== undefined)
        complain("jwks_url", "expected jwks_file or jwks_url, not both");
      if (file !== undefined && token !== undefined)
        complain("jwks_token_file", "expected no jwks_token_file together with jwks_file");
      if (file !== undefined && tls !== undefined) complain("tls", "expected no tls together with jwks_file");
      if (clock_tolerance > MAX_TOLERANCE_MS) complain("clock_tolerance", 'expected at most "5m"');
    }),
  ),
  {
    jwks_file: "keysFile",
    jwks_url: "keysUrl",
    jwks_token_file: "keysTokenFile",
    clock_tolerance: "clockToleranceMs",
  },
);

/** The issuers whose tokens are accepted. */
export const jwt = oneOrMore(issuer, "an issuer or a list of them", MAX_ISSUERS);
