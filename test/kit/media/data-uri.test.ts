import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { encodeBase64, formatDataUri, isDataUri, parseDataUri } from "../../../src/kit/media/data-uri.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

describe("parseDataUri()", () => {
  it.each([
    ["data:image/png;base64,AAECAw==", "image/png", "AAECAw=="],
    ["DATA:Image/PNG;charset=x;BASE64,AAEC", "image/png", "AAEC"],
    ["data:image/png;base64,AAECAw", "image/png", "AAECAw=="],
    ["data:image/png;base64,AAE", "image/png", "AAE="],
    ["data:image/png;base64,AA EC\nAw==", "image/png", "AAECAw=="],
    ["data:image/png;base64,AAECAw%3D%3D", "image/png", "AAECAw=="],
    ["data:image/png;base64,-_-_", "image/png", "+/+/"],
    ["data:;base64,AAEC", "", "AAEC"],
    ["data:,a%20b%C3%A9", "", base64("a bé")],
    ["data:text/plain;charset=utf-8,é,100%,%zz", "text/plain", base64("é,100%,%zz")],
    ["data:text/plain,%00%ff%", "text/plain", Buffer.from([0, 255, 0x25]).toString("base64")],
  ])("reads %s", (uri, mediaType, want) => {
    expect(parseDataUri(uri, 100, "f")).toEqual({ mediaType, base64: want });
  });

  it.each([
    ["data:image/png;base64", "without a comma"],
    [`data:image/png;${"a".repeat(2000)},x`, "without a comma"],
    ["data:image png;base64,AAEC", "malformed media type"],
    ["data:image/png;base64,A*==", "base64 is malformed"],
    ["data:image/png;base64,AAAAA", "base64 is malformed"],
    ["data:image/png;base64,AA=A", "base64 is malformed"],
    ["data:image/png;base64,AA===", "base64 is malformed"],
    ["data:image/png;base64,AAé=", "base64 is malformed"],
    ["data:image/png;base64,", "without data"],
    ["data:,", "without data"],
  ])("refuses %s", (uri, want) => {
    expect(() => parseDataUri(uri, 100, "messages[0].content[1].image.url")).toThrow(InvalidRequestError);
    expect(() => parseDataUri(uri, 100, "a.url")).toThrow(new RegExp(`^a\\.url: .*${want}`));
  });

  it("refuses padding before the end, wherever it is in a long text", () => {
    const [half, whole] = ["A".repeat(2 ** 15 - 4), "A".repeat(2 ** 16 - 4)];
    for (const text of [`${half}AA==AAAA`, `${whole}AA==AAAA`, `${whole}AA==${whole}AAA=`])
      expect(() => parseDataUri(`data:image/png;base64,${text}`, 2 ** 20, "f")).toThrow("malformed");
    for (const text of [whole, `${whole}AA==`, `${whole}AAA=`, `${whole}AAAAAAA=`])
      expect(parseDataUri(`data:image/png;base64,${text}`, 2 ** 20, "f").base64).toBe(text);
  });

  it("keeps the unused bits of the last digit, and completes its padding", () => {
    expect(parseDataUri("data:image/png;base64,AB=", 100, "f").base64).toBe("AB==");
  });

  it.each(["A ", "-_"])("reads millions of %o in a heap of 96 MiB", async (piece) => {
    const file = new URL("../../../src/kit/media/data-uri.ts", import.meta.url);
    const program = `
      const { parseDataUri } = await import(${JSON.stringify(file.href)});
      const uri = "data:image/png;base64," + ${JSON.stringify(piece)}.repeat(6e6);
      process.stdout.write(String(parseDataUri(uri, 2 ** 25, "f").base64.length));
    `;
    const options = ["--max-old-space-size=96", "--input-type=module", "--eval", program];
    const { stdout } = await promisify(execFile)(process.execPath, options);
    expect(Number(stdout)).toBe(piece === "A " ? 6e6 : 12e6);
  });

  it("takes exactly the limit and not a byte more, in every form", () => {
    const bytes = randomBytes(100);
    const forms = (data: Buffer) => [
      formatDataUri("image/png", data.toString("base64")),
      `data:image/png;base64,${encodeURIComponent(data.toString("base64"))}`,
      `data:image/png,${data.toString("hex").replace(/../g, "%$&")}`,
    ];
    for (const uri of forms(bytes)) {
      expect(Buffer.from(parseDataUri(uri, 100, "f").base64, "base64")).toEqual(bytes);
    }
    for (const uri of forms(Buffer.concat([bytes, bytes.subarray(0, 1)]))) {
      expect(() => parseDataUri(uri, 100, "f")).toThrow("more than 100 bytes");
    }
    expect(() => parseDataUri(`data:,${"a".repeat(10_000)}`, 100, "f")).toThrow("more than 100 bytes");
  });
});

describe("isDataUri()", () => {
  it.each([
    ["data:,x", true],
    ["DATA:image/png,x", true],
    ["database:x", false],
    ["https://a/data:", false],
  ])("%s: %s", (url, want) => {
    expect(isDataUri(url)).toBe(want);
  });
});

describe("encodeBase64()", () => {
  it("encodes a view of a larger buffer", () => {
    const view = Uint8Array.from([9, 9, 0, 1, 2, 3, 9]).subarray(2, 6);
    expect(encodeBase64(view)).toBe("AAECAw==");
  });
});
