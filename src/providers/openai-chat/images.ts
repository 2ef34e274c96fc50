/** Images that a model made (OpenRouter documentation: "Image generation", `message.images`). */
import { create } from "@bufbuild/protobuf";
import { type ContentPart, ContentPartSchema, type Image } from "../../gen/outrigger/v1/message_pb.ts";
import { type JsonObject, objectIn, textIn, without } from "../../kit/json/json.ts";
import { formatDataUri } from "../../kit/media/data-uri.ts";
import type { StateWriter } from "./state.ts";

/** An entry of `images` as our part; undefined where it has no URL. */
export function imagePartOf(entry: JsonObject, states: StateWriter): ContentPart | undefined {
  const inner = objectIn(entry.image_url);
  const url = textIn(entry.image_url) || textIn(inner.url);
  if (url === "") return undefined;
  const rest = { ...without(entry, "image_url", "index"), image_url: without(inner, "url") };
  return create(ContentPartSchema, {
    part: { case: "image", value: sourceOf(url) },
    providerState: states.ofImage(rest),
  });
}

/** The bytes of a data: URL that can be made from them again, else the URL itself. */
function sourceOf(url: string) {
  const [, mediaType, base64] = DATA_URL.exec(url) ?? [];
  if (mediaType !== undefined && base64 !== undefined) {
    const bytes = Buffer.from(base64, "base64");
    if (bytes.length > 0 && bytes.toString("base64") === base64)
      return { mediaType, source: { case: "data", value: new Uint8Array(bytes) } } as const;
  }
  return { source: { case: "url", value: url } } as const;
}

const DATA_URL = /^data:([a-z]+\/[\w.+-]+);base64,([A-Za-z0-9+/=]+)$/;

/** The entry as it goes back; undefined where the image is not by value. @param rest What its state says. */
export function imageEntryOf({ mediaType, source }: Image, rest: JsonObject): JsonObject | undefined {
  const url =
    source.case === "data"
      ? formatDataUri(mediaType, Buffer.from(source.value).toString("base64"))
      : source.case === "url"
        ? source.value
        : undefined;
  return url === undefined ? undefined : { ...rest, image_url: { url, ...objectIn(rest.image_url) } };
}
