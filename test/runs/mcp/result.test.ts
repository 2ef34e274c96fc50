import { describe, expect, it } from "vitest";
import { readResult } from "../../../src/runs/mcp/result.ts";

const call = { id: "call_1" };
const bytes = Buffer.from("data");
const base64 = bytes.toString("base64");

/** The parts of a result with one block, without the names of their messages. */
function readBlock(block: object) {
  const { content } = readResult(call, { content: [block] });
  return { part: content.map(({ part }) => part)[0], count: content.length };
}

const readTexts = (result: object) => readResult(call, result).content.map(({ part }) => part.value);

describe("the result of an MCP tool", () => {
  it("has its texts as parts", () => {
    const result = readResult(call, {
      content: [
        { type: "text", text: "one" },
        { type: "text", text: "two" },
      ],
    });
    expect(result.content.map(({ part }) => part)).toEqual([
      { case: "text", value: "one" },
      { case: "text", value: "two" },
    ]);
    expect(result).toMatchObject({ toolCallId: "call_1", failed: false });
  });

  it("has failed only if the server says so", () => {
    expect(readResult(call, { content: [], isError: true }).failed).toBe(true);
    expect(readResult(call, { content: [], isError: "yes" }).failed).toBe(false);
    expect(readResult(call, undefined)).toMatchObject({ content: [], failed: false });
  });

  it("is the structured content if there is no other", () => {
    expect(readTexts({ structuredContent: { a: 1 } })).toEqual(['{"a":1}']);
    expect(readTexts({ content: [{ type: "text", text: "a" }], structuredContent: { a: 1 } })).toEqual(["a"]);
  });

  it.each([
    [{ type: "image", data: base64, mimeType: "image/jpeg" }, "image", "image/jpeg"],
    [{ type: "image", data: base64 }, "image", "image/png"],
    [{ type: "audio", data: base64, mimeType: "audio/mpeg" }, "audio", "audio/mpeg"],
    [{ type: "audio", data: base64 }, "audio", "audio/wav"],
    [{ type: "resource", resource: { blob: base64, mimeType: "image/gif" } }, "image", "image/gif"],
    [{ type: "resource", resource: { blob: base64, mimeType: "audio/ogg" } }, "audio", "audio/ogg"],
  ])("has media with their bytes and their type: %o", (block, kind, mediaType) => {
    expect(readBlock(block).part).toMatchObject({
      case: kind,
      value: { mediaType, source: { case: "data", value: bytes } },
    });
  });

  it.each([
    ["file:///folder/report.pdf", "report.pdf"],
    ["file:///folder/report.pdf/", "report.pdf"],
    ["https://example.com/report.pdf?page=2#end", "report.pdf"],
    ["", ""],
  ])("has other resources as documents with the name of their file: %s", (uri, fileName) => {
    const { part } = readBlock({
      type: "resource",
      resource: { blob: base64, mimeType: "application/pdf", uri },
    });
    expect(part).toMatchObject({
      case: "document",
      value: { mediaType: "application/pdf", fileName, source: { case: "data" } },
    });
  });

  it("has a resource without a type as bytes, and one with a text as a text", () => {
    expect(readBlock({ type: "resource", resource: { blob: base64 } }).part).toMatchObject({
      case: "document",
      value: { mediaType: "application/octet-stream" },
    });
    expect(readBlock({ type: "resource", resource: { text: "", blob: base64 } }).part).toEqual({
      case: "text",
      value: "",
    });
  });

  it.each([
    { type: "image", data: "%%%", mimeType: "image/png" },
    { type: "image" },
    { type: "resource_link", uri: "file:///a" },
    { text: "without a type" },
  ])("shows the model the JSON of a block that cannot be read: %o", (block) => {
    expect(readBlock(block)).toEqual({
      part: { case: "text", value: JSON.stringify(block) },
      count: 1,
    });
  });

  it("has no broken characters", () => {
    expect(readTexts({ content: [{ type: "text", text: "a\ud800b" }] })).toEqual(["a\ufffdb"]);
    const media = readBlock({ type: "image", data: base64, mimeType: "image/\ud800" });
    expect(media.part).toMatchObject({ value: { mediaType: "image/\ufffd" } });
  });
});
