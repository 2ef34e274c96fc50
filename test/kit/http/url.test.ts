import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { createUrlJoiner, getPeer, parseBaseUrl } from "../../../src/kit/http/transport.ts";

describe("createUrlJoiner()", () => {
  it.each([
    ["https://a.example", "responses", "/responses"],
    ["https://a.example/", "/responses", "/responses"],
    ["https://a.example/v1", "responses", "/v1/responses"],
    ["https://a.example/v1/", "/responses", "/v1/responses"],
    ["https://a.example/v1//", "//responses", "/v1/responses"],
    ["https://a.example/a/b", "models/x:gen?alt=sse", "/a/b/models/x:gen?alt=sse"],
    ["https://a.example/v1?api-version=3", "responses", "/v1/responses?api-version=3"],
    ["https://a.example/?api-version=3", "m?alt=sse", "/m?api-version=3&alt=sse"],
    ["https://a.example/v1", "m?a=b?c", "/v1/m?a=b?c"],
    ["https://a.example/v1?x=1", "m?a=b?c", "/v1/m?x=1&a=b?c"],
    ["https://a.example/v1", "models/a%2Fb", "/v1/models/a%2Fb"],
  ])("joins %s and %s", (base, path, want) => {
    expect(createUrlJoiner(parseBaseUrl(base))(path)).toBe(want);
  });
});

describe("parseBaseUrl()", () => {
  it.each([
    ["api.openai.com/v1", 'is "api.openai.com/v1"'],
    ["localhost:8080/v1", 'has the scheme "localhost:"'],
    ["ftp://a.example", 'has the scheme "ftp:"'],
    ["", "is empty"],
    ["https://", 'is "https://"'],
    ["https://a.example/#x", "contains a fragment"],
  ])("refuses %j and names its kind", (baseUrl, found) => {
    expect(() => parseBaseUrl(baseUrl)).toThrow(ConfigurationError);
    expect(() => parseBaseUrl(baseUrl)).toThrow(found);
    expect(() => parseBaseUrl(baseUrl)).toThrow("expected an http: or https: URL");
  });

  it.each(["sk-proj-abcdefghijklmnop", "https://user:secret@a.example/v1", "AIza?key=secret", "sk secret"])(
    "does not show %j, which may be a key",
    (baseUrl) => {
      expect(() => parseBaseUrl(baseUrl)).toThrow(ConfigurationError);
      expect(() => parseBaseUrl(baseUrl)).not.toThrow(/sk-proj|secret|AIza/);
    },
  );
});

describe("getPeer()", () => {
  it.each([
    ["https://a.example/v1", "a.example:443"],
    ["http://a.example", "a.example:80"],
    ["http://127.0.0.1:8080", "127.0.0.1:8080"],
    ["https://[::1]:8443", "[::1]:8443"],
  ])("names host and port of %s", (url, want) => {
    expect(getPeer(new URL(url))).toBe(want);
  });
});
