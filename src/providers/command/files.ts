/** Files for a program: images, and the schema of its answer. */
import { invalidField } from "../../core/errors.ts";
import type { Image } from "../../gen/outrigger/v1/message_pb.ts";
import { isDataUri, parseDataUri } from "../../kit/media/data-uri.ts";
import { DEFAULT_MAX_MEDIA_BYTES } from "../../kit/media/media-reader.ts";
import { detectMediaType, extensionFor } from "../../kit/media/media-type.ts";
import { FILE_ARGUMENT } from "./settings.ts";

/** A file that is written for one call. */
export interface ProgramFile {
  /** Unique in the call. */
  readonly name: string;
  readonly content: Uint8Array | string;
}

/** An argument of a program: a text, or the path of a file. */
export type ProgramArgument = string | ProgramFile;

/** Maximum number of images of one call: each is an argument. */
const MAX_IMAGES = 64;

/** The images of a request, in their order. */
export class ImageFiles {
  readonly files: ProgramFile[] = [];

  /** Adds an image. Returns its number, from 1. @throws InvalidRequestError if the sidecar does not have its bytes. */
  add({ source, mediaType }: Image, field: string): number {
    if (this.files.length === MAX_IMAGES)
      throw invalidField(field, `expected at most ${MAX_IMAGES} images in a call of a program`);
    const content = readImage(source, field);
    const number = this.files.length + 1;
    const extension = extensionFor(mediaType || detectMediaType(content) || "image/png") ?? "png";
    this.files.push({ name: `image-${number}.${extension}`, content });
    return number;
  }
}

function readImage(source: Image["source"], field: string): Uint8Array {
  if (source.case === "data" && source.value.length > 0) return source.value;
  if (source.case === "url" && isDataUri(source.value))
    return Buffer.from(parseDataUri(source.value, DEFAULT_MAX_MEDIA_BYTES, `${field}.url`).base64, "base64");
  const found = source.case === undefined ? "nothing" : `a ${source.case}`;
  throw invalidField(field, `expected the bytes of the image, or a data: URL, for a program; found ${found}`);
}

/** Returns arguments in which `{file}` is replaced by a file. */
export function withFile(args: readonly string[], file: ProgramFile): ProgramArgument[] {
  return args.map((argument) => (argument === FILE_ARGUMENT ? file : argument));
}
