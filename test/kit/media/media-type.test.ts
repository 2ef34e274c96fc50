import { describe, expect, it } from "vitest";
import { detectMediaType, guessMediaType, isMediaType } from "../../../src/kit/media/media-type.ts";

describe("guessMediaType()", () => {
  it.each([
    ["/a/b.png", "image/png"],
    ["b.JPG", "image/jpeg"],
    ["./x.y.jpeg", "image/jpeg"],
    ["a.webp", "image/webp"],
    ["a.heic", "image/heic"],
    ["a.pdf", "application/pdf"],
    ["a.wav", "audio/wav"],
    ["a.mp3", "audio/mpeg"],
    ["file:///a/b.gif", "image/gif"],
    ["/a.png/b", undefined],
    ["png", undefined],
    ["a.constructor", undefined],
    ["a.xyz", undefined],
    ["", undefined],
  ])("%s is %s", (path, want) => {
    expect(guessMediaType(path)).toBe(want);
  });
});

describe("detectMediaType()", () => {
  it.each([
    ["\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"],
    ["\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"],
    ["GIF89a\x01\0", "image/gif"],
    ["GIF87a\x01\0", "image/gif"],
    ["RIFF\x24\0\0\0WEBPVP8 ", "image/webp"],
    ["\0\0\0\x18ftypheic\0\0", "image/heic"],
    ["\0\0\0\x18ftypmif1\0\0", "image/heif"],
    ["\0\0\0\x18ftypavif\0\0", "image/avif"],
    ["BM\x46\0\0\0\0\0\0\0\x36", "image/bmp"],
    ["II*\0\x08\0\0\0", "image/tiff"],
    ["RIFF\x24\0\0\0WAVEfmt ", "audio/wav"],
    ["ID3\x04\0", "audio/mpeg"],
    ["\xff\xfb\x90\x64", "audio/mpeg"],
    ["\xff\xf3\x40\xc4", "audio/mpeg"],
    ["\xff\xf1\x50\x80", "audio/aac"],
    ["fLaC\0", "audio/flac"],
    ["OggS\0", "audio/ogg"],
    ["FORM\0\0\0\0AIFF", "audio/aiff"],
    ["\0\0\0\x20ftypM4A ", "audio/mp4"],
    ["\0\0\0\x20ftypisom", "video/mp4"],
    ["\0\0\0\x14ftypqt  ", "video/quicktime"],
    ["\x1aE\xdf\xa3\x01", "video/webm"],
    ["%PDF-1.7\n", "application/pdf"],
    ["RIFF\x24\0\0\0AVI ", undefined],
    ["\xff\xfeh\0i\0", undefined],
    ["BM is how this text begins", undefined],
    ["plain text", undefined],
    ["\x89PN", undefined],
    ["", undefined],
  ])("%j is %s", (head, want) => {
    expect(detectMediaType(Buffer.from(head, "latin1"))).toBe(want);
  });
});

describe("isMediaType()", () => {
  it.each([
    ["image/png", true],
    ["application/vnd.ms-excel", true],
    ["text/plain; charset=utf-8", true],
    ['text/plain;a="b c"', true],
    ["image", false],
    ["image/", false],
    ["image/png,x", false],
    ["image/png\r\nx: y", false],
    ["image/png;base64", false],
    ["", false],
  ])("%j: %s", (text, want) => {
    expect(isMediaType(text)).toBe(want);
  });
});
