import { describe, expect, it } from "vitest";
import { readVersion } from "../../../src/server/listen/listener.ts";

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

describe("readVersion()", () => {
  it("knows HTTP/2 by its whole preface", () => {
    expect(readVersion(Buffer.from(PREFACE))).toBe("http2");
    expect(readVersion(Buffer.from(`${PREFACE}more`))).toBe("http2");
  });

  it("waits while it may still become one", () => {
    const undecided = Array.from({ length: PREFACE.length }, (_, length) =>
      readVersion(Buffer.from(PREFACE.slice(0, length))),
    );
    expect(undecided).toEqual(undecided.map(() => undefined));
  });

  it("knows everything else at its first other byte", () => {
    expect(readVersion(Buffer.from("G"))).toBe("http1");
    expect(readVersion(Buffer.from("PRO"))).toBe("http1");
    expect(readVersion(Buffer.from(PREFACE.replace("SM", "XX")))).toBe("http1");
  });
});
