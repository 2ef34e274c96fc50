/** Constructors of the parts of a message. */
import { create, isMessage, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type AudioSchema,
  type ContentPart,
  ContentPartSchema,
  type DocumentSchema,
  type ImageSchema,
} from "../gen/outrigger/v1/message_pb.ts";
import { toJsonText } from "./json-text.ts";

/** A part, or its fields as a plain object. */
export type PartInput = MessageInitShape<typeof ContentPartSchema>;

/** Content of a message: a text, one part, or several parts. */
export type Content = string | PartInput | readonly PartInput[];

/** The source of an image, audio or a document: an `https:` or `data:` URL, its bytes, or a file at the provider. */
export type MediaSource = string | URL | Uint8Array | { readonly fileId: string };

/** Options of a media file. */
export interface MediaOptions {
  /**
   * IANA media type. Defaults to `image/png` for the bytes of an image, `application/pdf` for the bytes of a document.
   */
  readonly mediaType?: string | undefined;
}

/** Options of an image. */
export interface ImageOptions extends MediaOptions {
  /** How closely the model looks: `auto`, `low`, `high`, or a value of the provider. */
  readonly detail?: "auto" | "low" | "high" | (string & {}) | undefined;
}

/** Options of a document. */
export interface DocumentOptions extends MediaOptions {
  /** Name that is shown to the model. */
  readonly fileName?: string | undefined;
}

/** Reasoning that was not kept as a part: from a provider's SDK, or an older log. */
export interface ReasoningInput {
  /** The reasoning as the provider showed it. */
  readonly text: string;
}

/** Reasoning with the signature that its provider requires to accept it. */
export interface SignedReasoningInput extends ReasoningInput {
  /** The provider's signature of the text, or the encrypted form of the reasoning. */
  readonly signature: string;
  /** Name under which the provider that wrote it is registered. */
  readonly provider: string;
  /** Model that wrote it. */
  readonly model: string;
}

/** Creates a text part. */
export function textPart(text: string): ContentPart {
  return create(ContentPartSchema, { part: { case: "text", value: text } });
}

/**
 * Returns an image part.
 *
 * ```ts
 * imagePart("https://example.com/chart.png", { detail: "low" });
 * imagePart(await readFile("photo.jpg"), { mediaType: "image/jpeg" });
 * ```
 */
export function imagePart(
  source: MediaSource,
  { mediaType = "", detail = "" }: ImageOptions = {},
): ContentPart {
  const value: MessageInitShape<typeof ImageSchema> = { mediaType, detail, source: toSource(source) };
  return create(ContentPartSchema, { part: { case: "image", value } });
}

/** Creates an audio part. Bytes need a `mediaType`, for instance `audio/wav`. */
export function audioPart(source: MediaSource, { mediaType = "" }: MediaOptions = {}): ContentPart {
  const value: MessageInitShape<typeof AudioSchema> = { mediaType, source: toSource(source) };
  return create(ContentPartSchema, { part: { case: "audio", value } });
}

/** Creates a document part, for instance a PDF. */
export function documentPart(
  source: MediaSource,
  { mediaType = "", fileName = "" }: DocumentOptions = {},
): ContentPart {
  const value: MessageInitShape<typeof DocumentSchema> = { mediaType, fileName, source: toSource(source) };
  return create(ContentPartSchema, { part: { case: "document", value } });
}

/**
 * Creates a reasoning part, for a conversation that was not held through this library. Messages that the library
 * returned already have their reasoning: send those back unchanged instead.
 */
export function reasoningPart(input: ReasoningInput | SignedReasoningInput): ContentPart {
  const part = { case: "reasoning", value: { text: input.text } } as const;
  if (!("signature" in input)) return create(ContentPartSchema, { part });
  const { provider, model, signature } = input;
  const providerState = { provider, model, dataJson: toJsonText({ signature }) };
  return create(ContentPartSchema, { part, providerState });
}

const CASES: ReadonlySet<unknown> = new Set(ContentPartSchema.fields.map(({ localName }) => localName));

/** Reports whether a value is a part or a plain object for one, as opposed to any other value. */
export function isPart(value: unknown): value is PartInput {
  if (isMessage(value)) return isMessage(value, ContentPartSchema);
  const part = isRecord(value) ? value.part : undefined;
  return isRecord(part) && CASES.has(part.case);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Returns the parts of a content. */
export function getParts(content: Content): PartInput[] {
  if (typeof content === "string") return [textPart(content)];
  return isList(content) ? [...content] : [content];
}

function isList(content: PartInput | readonly PartInput[]): content is readonly PartInput[] {
  return Array.isArray(content);
}

function toSource(source: MediaSource) {
  if (source instanceof Uint8Array) return { case: "data", value: source } as const;
  if (typeof source === "string" || source instanceof URL)
    return { case: "url", value: String(source) } as const;
  return { case: "fileId", value: source.fileId } as const;
}
