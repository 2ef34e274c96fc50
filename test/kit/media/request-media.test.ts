import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { ImageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import type { MediaReader } from "../../../src/kit/media/media-reader.ts";
import { createRequestMedia } from "../../../src/kit/media/request-media.ts";

/** A reader of files whose path is their size, and the paths that were read. */
function sizedFiles(): { readonly reader: MediaReader; readonly paths: string[] } {
  const paths: string[] = [];
  const reader: MediaReader = {
    async read(path, _fieldPath, reserve = () => {}) {
      const size = Number(/\d+/.exec(path)?.[0]);
      reserve(size);
      paths.push(path);
      return Buffer.alloc(size, 1);
    },
  };
  return { reader, paths };
}

const image = (path: string) => create(ImageSchema, { source: { case: "url", value: path } });

describe("createRequestMedia()", () => {
  it("reads a file once, however often the request names it", async () => {
    const { reader, paths } = sizedFiles();
    const resolve = createRequestMedia(reader, 100);
    const sources = await Promise.all([1, 2, 3].map((at) => resolve(image("/10.png"), `images[${at}]`)));
    expect(paths).toEqual(["/10.png"]);
    for (const source of sources)
      expect(source).toEqual({
        kind: "data",
        mediaType: "image/png",
        base64: Buffer.alloc(10, 1).toString("base64"),
      });
  });

  it.each([
    ["of one file, as often as it is named", ["/40.png", "/40.png", "/40.png"], ["/40.png"]],
    ["of different files", ["/40.png", "/41.png", "/20.png"], ["/40.png", "/41.png"]],
  ])("refuses media over the limit of a request: %s", async (_what, files, read) => {
    const { reader, paths } = sizedFiles();
    const resolve = createRequestMedia(reader, 100);
    const outcomes = await Promise.allSettled(files.map((path, at) => resolve(image(path), `images[${at}]`)));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected"]);
    expect(paths).toEqual(read);
    expect(String(Object.values(outcomes[2] ?? {})[1])).toMatch(
      /images\[2\]\.url: is a file of \d+ bytes; all files of a request together can have 100 bytes, limits\.max_request_media_bytes/,
    );
  });

  it("counts each request for itself", async () => {
    const { reader } = sizedFiles();
    for (let request = 0; request < 3; request += 1)
      await expect(createRequestMedia(reader, 100)(image("/90.png"), "f")).resolves.toMatchObject({
        kind: "data",
      });
  });
});
