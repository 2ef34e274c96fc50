import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../../src/core/errors.ts";
import { AudioSchema, DocumentSchema, ImageSchema } from "../../../src/gen/outrigger/v1/message_pb.ts";
import {
  createMediaReader,
  type Media,
  type MediaOptions,
  resolveMedia,
} from "../../../src/kit/media/media.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");

const image = (source: Media["source"], mediaType = "") => create(ImageSchema, { source, mediaType });
const audio = (source: Media["source"], mediaType = "") => create(AudioSchema, { source, mediaType });
const document = (source: Media["source"], mediaType = "") => create(DocumentSchema, { source, mediaType });
const url = (value: string) => ({ case: "url", value }) as const;
const data = (value: Uint8Array) => ({ case: "data", value }) as const;
const fileId = (value: string) => ({ case: "fileId", value }) as const;

function resolve(media: Media, options: MediaOptions = {}) {
  return resolveMedia(media, options, "messages[0].content[1].part");
}

describe("resolveMedia()", () => {
  it("leaves web URLs as they are and infers their type if it can", async () => {
    const address = "https://a.example/b.JPG?sig=x#y";
    expect(await resolve(image(url(address)))).toEqual({
      kind: "url",
      url: address,
      mediaType: "image/jpeg",
    });
    expect(await resolve(image(url("HTTP://a.example/b")))).toMatchObject({
      url: "HTTP://a.example/b",
      mediaType: "",
    });
    expect(await resolve(image(url(address), "image/webp"))).toMatchObject({ mediaType: "image/webp" });
  });

  it("gives bytes as base64 with the field's type, else the default of the part", async () => {
    const bytes = data(Uint8Array.from([0, 1, 2, 3]));
    const want = { kind: "data", base64: "AAECAw==" };
    expect(await resolve(image(bytes))).toEqual({ ...want, mediaType: "image/png" });
    expect(await resolve(image(bytes, "image/webp"))).toEqual({ ...want, mediaType: "image/webp" });
    expect(await resolve(document(bytes))).toEqual({ ...want, mediaType: "application/pdf" });
    expect(await resolve(audio(bytes, "audio/wav"))).toEqual({ ...want, mediaType: "audio/wav" });
  });

  it("gives data: URIs as base64; the field's type goes before the URI's", async () => {
    const uri = url("data:image/gif;base64,AAEC");
    expect(await resolve(image(uri))).toEqual({ kind: "data", base64: "AAEC", mediaType: "image/gif" });
    expect(await resolve(image(uri, "image/webp"))).toMatchObject({ mediaType: "image/webp" });
    expect(await resolve(image(url("data:;base64,AAEC")))).toMatchObject({ mediaType: "image/png" });
    expect(await resolve(document(url("data:,hi")))).toMatchObject({
      base64: "aGk=",
      mediaType: "application/pdf",
    });
  });

  it("gives ids of uploaded files", async () => {
    const want = { kind: "file_id", id: "file_1", mediaType: "" };
    expect(await resolve(document(fileId("file_1")))).toEqual(want);
  });

  it.each([
    ["no source", image({ case: undefined }), "part: has no source; expected one of url, data and file_id"],
    ["empty bytes", image(data(new Uint8Array())), "part.data: is empty"],
    ["an empty id", image(fileId("")), "part.file_id: is empty"],
    ["an empty URL", image(url("")), "part.url: is not a URL; expected an https: or data: URL, or a path"],
    ["a bare name", image(url("cat.png")), "part.url: is not a URL"],
    ["another scheme", image(url("ftp://a/b.png?key=secret")), "part.url: has the scheme ftp:"],
    ["a bucket", document(url("gs://bucket/a.pdf")), "part.url: has the scheme gs:"],
    ["a script", image(url("javascript:alert(1)")), "part.url: has the scheme javascript:"],
    ["a malformed data: URI", image(url("data:image/png;base64,*")), "part.url: is a data: URI whose base64"],
    ["a malformed media type", image(data(PNG), "png\n"), "part.media_type: is not a media type"],
    ["sounds without a type", audio(data(PNG)), "part.media_type: is empty; expected one like audio/wav"],
    ["sounds of a data: URI without a type", audio(url("data:;base64,AAEC")), "part.media_type: is empty"],
    [
      "paths, where reading is not configured",
      image(url("/etc/passwd")),
      "part.url: is a path on this machine",
    ],
  ])("refuses %s and names the field", async (_name, media, want) => {
    const refused = resolve(media);
    await expect(refused).rejects.toBeInstanceOf(InvalidRequestError);
    await expect(refused).rejects.toThrow(`messages[0].content[1].${want}`);
    await expect(refused).rejects.not.toThrow("secret");
  });

  it("refuses more bytes than the limit, as bytes and as a data: URI", async () => {
    const bytes = data(new Uint8Array(5));
    await expect(resolve(image(bytes), { maxBytes: 4 })).rejects.toThrow("part.data: has 5 bytes; at most 4");
    expect(await resolve(image(bytes), { maxBytes: 5 })).toMatchObject({ base64: "AAAAAAA=" });
    const uri = image(url("data:image/png;base64,AAAAAAA="));
    await expect(resolve(uri, { maxBytes: 4 })).rejects.toThrow(
      "part.url: is a data: URI of more than 4 bytes",
    );
  });
});

describe("resolveMedia() with a reader", () => {
  let folder: string;
  let reader: ReturnType<typeof createMediaReader>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "media-"));
    reader = createMediaReader({ allowFilesUnder: [folder] });
    for (const name of ["a.jpg", "picture", "b.png"]) await writeFile(join(folder, name), PNG);
    await writeFile(join(folder, "unknown"), "some text");
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ["its extension", "a.jpg", "image/jpeg"],
    ["its first bytes where it has none", "picture", "image/png"],
  ])("gives a file as base64 with the type of %s", async (_name, name, mediaType) => {
    const want = { kind: "data", base64: PNG.toString("base64"), mediaType };
    expect(await resolve(image(url(join(folder, name))), { reader })).toEqual(want);
  });

  it("takes the field's type before the file's, and refuses to guess", async () => {
    const unknown = url(join(folder, "unknown"));
    expect(await resolve(document(unknown, "text/plain"), { reader })).toMatchObject({
      mediaType: "text/plain",
    });
    await expect(resolve(document(unknown), { reader })).rejects.toThrow(
      "part.media_type: is empty, and neither",
    );
    await expect(resolve(image(url("/etc/passwd")), { reader })).rejects.toThrow(
      "part.url: is a path outside",
    );
  });
});
