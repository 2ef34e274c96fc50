import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { AccessKey } from "../../../src/config/caller-grants.ts";
import { AuthenticationError, RateLimitError } from "../../../src/core/errors.ts";
import {
  AccessControl,
  type AccessKeySource,
  type AccessOptions,
  type Admission,
} from "../../../src/server/access/access-control.ts";
import { accessKey } from "../support/access-keys.ts";

let time = 0;

/** An access control over keys that may change. */
function createControl(...keys: AccessKey[]) {
  const source = { keys: keys as readonly AccessKey[], current: () => source.keys };
  time = 0;
  return { source, control: createAccess(source, { now: () => time }) };
}

/** Without tokens, requests are admitted or refused at once. */
function createAccess(source: AccessKeySource, options?: AccessOptions) {
  const access = new AccessControl(source, options);
  return {
    admit: (...request: Parameters<AccessControl["admit"]>) => access.admit(...request) as Admission,
    callerNamed: (name: string) => access.callerNamed(name),
  };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe("AccessControl", () => {
  it("admits either key of a caller, by the name of the entry", () => {
    const { control } = createControl(accessKey("a", ["a-old", "a-new"]), accessKey("b", ["b-only"]));
    const admitted = ["a-old", "a-new", "b-only"].map((key) => control.admit(bearer(key)));
    expect(admitted.map(({ caller, refusal }) => [caller.name, refusal])).toEqual([
      ["a", undefined],
      ["a", undefined],
      ["b", undefined],
    ]);
  });

  it.each([
    ["no header", {}],
    ["an empty header", { authorization: "" }],
    ["an unknown key", bearer("nobody's")],
    ["a part of a key", bearer("a-ol")],
    ["another scheme", { authorization: "Basic a-old" }],
    ["the key without a scheme", { authorization: "a-old" }],
    ["the digest of a key", bearer(createHash("sha256").update("a-old").digest("hex"))],
    ["a header of 64 KiB", bearer("x".repeat(65_536))],
  ])("refuses %s", (_name, headers) => {
    const { control } = createControl(accessKey("a", ["a-old"]));
    const { caller, refusal } = control.admit(headers);
    expect(refusal).toBeInstanceOf(AuthenticationError);
    expect(refusal?.toProto().providerFailure).toBeUndefined();
    expect([caller.name, caller.allowsModel("p", "m"), caller.isRestricted]).toEqual(["", false, true]);
  });

  it("reads the scheme in any case, and ignores spaces around the key", () => {
    const { control } = createControl(accessKey("a", ["a-old"]));
    expect(control.admit({ authorization: "bearer a-old" }).refusal).toBeUndefined();
    expect(control.admit({ authorization: "BEARER   a-old " }).refusal).toBeUndefined();
    expect(control.admit({ "x-api-key": " a-old " }).refusal).toBeUndefined();
  });

  it("reads keys of up to 512 characters, wherever they are", () => {
    const [longest = "", longer = ""] = [512, 513].map((length) => "k".repeat(length));
    const { control } = createControl(accessKey("a", [longest, longer]));
    const admit = (key: string) =>
      [
        control.admit(bearer(key)),
        control.admit({ "x-api-key": key }),
        control.admit({}, { keyInQuery: key }),
      ]
        .map(({ caller }) => caller.name)
        .join();
    expect(admit(longest)).toBe("a,a,a");
    expect(admit(longer)).toBe(",,");
  });

  it.each(["x-api-key", "x-goog-api-key"])("reads the key in %s unless authorization is set", (name) => {
    const { control } = createControl(accessKey("a", ["a-old"]));
    expect(control.admit({ [name]: "a-old" })).toMatchObject({ caller: { name: "a" }, refusal: undefined });
    expect(control.admit({ [name]: "wrong" }).refusal).toBeInstanceOf(AuthenticationError);
    expect(control.admit({ [name]: "x".repeat(65_536) }).refusal).toBeInstanceOf(AuthenticationError);
    const both = { [name]: "a-old", authorization: "Bearer wrong" };
    expect(control.admit(both).refusal).toBeInstanceOf(AuthenticationError);
  });

  it("reads the key in a query unless a header has one", () => {
    const { control } = createControl(accessKey("a", ["a-old"]));
    expect(control.admit({}, { keyInQuery: "a-old" })).toMatchObject({
      caller: { name: "a" },
      refusal: undefined,
    });
    expect(control.admit({}, { keyInQuery: "x".repeat(65_536) }).refusal).toBeInstanceOf(AuthenticationError);
    expect(control.admit({ "x-goog-api-key": "wrong" }, { keyInQuery: "a-old" }).refusal).toBeInstanceOf(
      AuthenticationError,
    );
  });

  it("compares with every key in constant time, without leaving the loop early", async () => {
    const source = await readFile(
      new URL("../../../src/server/access/access-control.ts", import.meta.url),
      "utf8",
    );
    const find = source
      .slice(source.indexOf("  find("), source.indexOf("  findByCertificate("))
      .replace(/\/\*\*.*\*\//s, "");
    expect(find).toContain("timingSafeEqual");
    expect(find.match(/\b(?:if|break|continue|return|find|some|includes)\b/g)).toEqual(["find", "return"]);
  });

  it("follows changes of the keys with the next request", () => {
    const { control, source } = createControl(accessKey("a", ["a-old"]));
    expect(control.admit(bearer("a-old")).refusal).toBeUndefined();
    source.keys = [accessKey("a", ["a-old", "a-new"])];
    expect(control.admit(bearer("a-new")).refusal).toBeUndefined();
    source.keys = [accessKey("a", ["a-new"])];
    expect(control.admit(bearer("a-old")).refusal).toBeInstanceOf(AuthenticationError);
    expect(control.admit(bearer("a-new")).caller.name).toBe("a");
  });

  it("has several callers if there is more than one key, or anyone with a certificate or a token may call", () => {
    const isShared = (names: readonly string[], options?: AccessOptions) =>
      new AccessControl({ current: () => names.map((name) => accessKey(name, [name])) }, options)
        .hasSeveralCallers;
    const tokens = {} as NonNullable<AccessOptions["tokens"]>;
    expect([isShared([]), isShared(["a"]), isShared(["a", "b"])]).toEqual([false, false, true]);
    expect([isShared(["a"], { admitsCertificates: true }), isShared(["a"], { tokens })]).toEqual([
      true,
      true,
    ]);
  });

  it.each([
    ["nothing", {}, /^expected an access key in/, /^expected a token \(JWT\) or an access key in/],
    ["another scheme", { authorization: "Basic abc" }, /no valid access key$/, /neither a token/],
    ["an unknown key", bearer("nobody's"), /no valid access key$/, /neither a token/],
  ])(
    "says what it expected if a request has %s, with and without tokens",
    (_what, headers, ofKeys, ofAll) => {
      const source = { current: () => [accessKey("a", ["a-key"])] };
      const tokens = {} as NonNullable<AccessOptions["tokens"]>;
      expect(createAccess(source).admit(headers).refusal?.message).toMatch(ofKeys);
      expect(createAccess(source, { tokens }).admit(headers).refusal?.message).toMatch(ofAll);
    },
  );

  it("finds callers by name for work without a request", () => {
    const only = (_provider: string, model: string) => model === "m";
    const { control, source } = createControl(accessKey("a", ["a-old"], { allowsModel: only }));
    expect(control.callerNamed("a").allowsModel("p", "m")).toBe(true);
    source.keys = [];
    expect(control.callerNamed("a")).toMatchObject({ name: "a", isRestricted: true });
    expect(control.callerNamed("a").allowsModel("p", "m")).toBe(false);
  });
});

describe("the rate limit of an access key", () => {
  const limited = (burst: number) =>
    accessKey("a", ["a-old", "a-new"], { rateLimit: { requestsPerMinute: 60, burst } });

  it("allows a burst and then the rate, for both keys of an entry together", () => {
    const { control } = createControl(limited(2), accessKey("b", ["b-only"]));
    expect(control.admit(bearer("a-old")).refusal).toBeUndefined();
    expect(control.admit(bearer("a-new")).refusal).toBeUndefined();
    const { caller, refusal } = control.admit(bearer("a-old"));
    expect(caller.name).toBe("a");
    expect(refusal).toBeInstanceOf(RateLimitError);
    expect(refusal).toMatchObject({
      message: "the limit of 60 requests per minute for the caller a is reached; retry in 1 s",
      retryAfter: 1,
      retryable: true,
    });
    expect(control.admit(bearer("b-only")).refusal).toBeUndefined();
    time += 1000;
    expect(control.admit(bearer("a-old")).refusal).toBeUndefined();
    expect(control.admit(bearer("a-old")).refusal).toBeInstanceOf(RateLimitError);
  });

  it("does not count requests that are refused", () => {
    const { control } = createControl(limited(1));
    for (let count = 0; count < 50; count += 1) control.admit(bearer("a-old"));
    time += 1000;
    expect(control.admit(bearer("a-old")).refusal).toBeUndefined();
  });

  it("is not given back by a change of other entries, but restarts if it changes itself", () => {
    const { control, source } = createControl(limited(1));
    control.admit(bearer("a-old"));
    source.keys = [limited(1), accessKey("b", ["b-only"])];
    expect(control.admit(bearer("a-old")).refusal).toBeInstanceOf(RateLimitError);
    source.keys = [limited(5)];
    expect(control.admit(bearer("a-old")).refusal).toBeUndefined();
  });
});
