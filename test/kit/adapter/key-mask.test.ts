import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyMask } from "../../../src/kit/adapter/key-mask.ts";

const KEY = "sk-test/0123+456789";

function masked(text: string, headers: Record<string, string> = { authorization: `Bearer ${KEY}` }): string {
  return new KeyMask(headers).apply(text);
}

describe("KeyMask", () => {
  it.each([
    ["authorization", `Bearer ${KEY}`],
    ["x-api-key", KEY],
    ["X-Goog-Api-Key", KEY],
    ["cf-access-token", KEY],
    ["cookie", KEY],
    ["proxy-authorization", `Basic ${Buffer.from(`user:${KEY}`).toString("base64")}`],
  ])("masks the key in the header %s", (name, value) => {
    expect(masked(`wrong key: ${KEY}, yes: ${KEY}`, { [name]: value })).toBe("wrong key: (key), yes: (key)");
  });

  it("masks the encoded credentials of Basic authentication", () => {
    const credentials = Buffer.from("user:password").toString("base64");
    expect(masked(`got ${credentials}`, { authorization: `Basic ${credentials}` })).toBe("got (key)");
  });

  it("masks keys in every form that JSON has for their characters", () => {
    const forms = fc.array(fc.constantFrom("plain", "lower", "upper", "slash"), {
      minLength: KEY.length,
      maxLength: KEY.length,
    });
    fc.assert(
      fc.property(forms, (form) => {
        const escaped = [...KEY].map((character, at) => {
          const hex = character.charCodeAt(0).toString(16).padStart(4, "0");
          if (form[at] === "lower") return `\\u${hex}`;
          if (form[at] === "upper") return `\\u${hex.toUpperCase()}`;
          return form[at] === "slash" && character === "/" ? "\\/" : character;
        });
        expect(masked(`{"message":"got ${escaped.join("")}"}`)).toBe('{"message":"got (key)"}');
      }),
      { seed: 9 },
    );
  });

  it.each([encodeURIComponent(KEY), encodeURIComponent(KEY).toLowerCase(), KEY.replace("+", "%2B")])(
    "masks a key as URLs have it: %s",
    (form) => {
      expect(masked(`see https://a.example/?key=${form}&x=%20`)).toBe(
        "see https://a.example/?key=(key)&x=%20",
      );
      const bytes = Buffer.from(`{"url":"?key=${form}"}`);
      const { applyToBytes } = new KeyMask({ "x-api-key": KEY });
      expect(Buffer.from(applyToBytes(bytes)).toString()).toBe('{"url":"?key=(key)"}');
    },
  );

  it("masks a key inside of a longer word, since a key is not part of a word by accident", () => {
    expect(masked(`req-${KEY}-1`)).toBe("req-(key)-1");
  });

  it("masks the beginning of a key at which a text was cut", () => {
    expect(masked("Incorrect key: sk-test/0123")).toBe("Incorrect key: (key)");
    expect(masked("Incorrect key: sk-test")).toBe("Incorrect key: sk-test");
  });

  it("masks a key that reads like a word only if it is a whole word", () => {
    const headers = { "x-api-key": "simulator" };
    expect(masked("organization org-simulator, simulators, simulator_1", headers)).toBe(
      "organization org-simulator, simulators, simulator_1",
    );
    expect(masked("key simulator, 'simulator'", headers)).toBe("key (key), '(key)'");
    expect(masked('{"message":"key:\\nsimulator"}', headers)).toBe('{"message":"key:\\n(key)"}');
  });

  it("leaves keys of fewer than eight characters and other headers alone", () => {
    const headers = {
      "x-api-key": "none",
      "openai-project": "project-one",
      "content-type": "application/json",
    };
    const text = "project-one has none: application/json, another is nonesuch";
    expect(masked(text, headers)).toBe(text);
  });

  it("prefers the longer of two keys that begin alike", () => {
    const headers = { "x-api-key": "abcdefgh1", authorization: "Bearer abcdefgh12345" };
    expect(masked("abcdefgh12345 abcdefgh1", headers)).toBe("(key) (key)");
  });

  it("masks the same keys in bytes, and returns bytes without keys as they are", () => {
    const { applyToBytes } = new KeyMask({ authorization: `Bearer ${KEY}` });
    const escaped = KEY.replace("/", "\\u002f");
    const bytes = Buffer.from(`data: {"a":"${KEY}","b":"${escaped}","c":"Grüße"}\n\n`);
    expect(Buffer.from(applyToBytes(bytes)).toString()).toBe(
      'data: {"a":"(key)","b":"(key)","c":"Grüße"}\n\n',
    );
    for (const text of ['{"a":"\\u00fc"}', "Grüße", "sk-test"]) {
      const clean = Buffer.from(text);
      expect(applyToBytes(clean)).toBe(clean);
    }
  });
});
