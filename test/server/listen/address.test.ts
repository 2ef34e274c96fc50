import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { formatAddress, parseAddress } from "../../../src/server/listen/address.ts";

describe("parseAddress()", () => {
  it.each([
    ["127.0.0.1:6190", { kind: "tcp", host: "127.0.0.1", port: 6190 }],
    ["[::1]:0", { kind: "tcp", host: "::1", port: 0 }],
    [":6190", { kind: "tcp", host: undefined, port: 6190 }],
    ["localhost:80", { kind: "tcp", host: "localhost", port: 80 }],
    ["[fe80::1%eth0]:65535", { kind: "tcp", host: "fe80::1%eth0", port: 65535 }],
    ["unix:///run/outrigger.sock", { kind: "unix", path: "/run/outrigger.sock" }],
    ["unix:/run/outrigger.sock", { kind: "unix", path: "/run/outrigger.sock" }],
  ] as const)("reads %s", (text, address) => {
    expect(parseAddress(text, "listen")).toEqual(address);
  });

  it.each([
    "",
    "6190",
    "127.0.0.1",
    "127.0.0.1:",
    "127.0.0.1:65536",
    "::1:80",
    "http://x:80",
    "a b:80",
    "unix:run.sock",
    "unix://",
  ])("rejects %j and names the expected form", (text) => {
    const parse = () => parseAddress(text, "listen");
    expect(parse).toThrow(ConfigurationError);
    expect(parse).toThrow(/^listen: .*expected one like 127\.0\.0\.1:6190/);
    expect(parse).toThrow(text);
  });

  it("rejects a socket path that is too long for the kernel", () => {
    expect(() => parseAddress(`unix:///${"x".repeat(107)}`, "listen")).toThrow(/^listen: .*107 bytes/);
  });
});

describe("formatAddress()", () => {
  it.each(["127.0.0.1:6190", "[::1]:6190", ":6190", "unix:///run/outrigger.sock"])(
    "gives %s back",
    (text) => {
      expect(formatAddress(parseAddress(text, "listen"))).toBe(text);
    },
  );
});
