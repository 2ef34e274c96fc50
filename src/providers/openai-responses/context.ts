import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";
import type { ToolCallIds } from "./tool-call-ids.ts";

/** Name under which OpenAI's own state, hosted tools and options are known, whatever a provider entry is called. */
export const PROVIDER_NAME = "openai";

/** An image or document part. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (part: MediaPart, field: string) => Promise<ResolvedMedia>;

/** What the translation of a request needs to know of the provider entry. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** Whether the provider stores the response, so that an item's id is enough to refer to it. */
  readonly store: boolean;
  readonly media: MediaSource;
  /** What is known about the provider's models. */
  readonly models: ProviderModels;
}

/** What every step of the translation of one request needs. */
export interface RequestContext extends RequestSettings {
  readonly request: Request;
  readonly traits: ModelTraits;
  readonly loss: LossReport;
  /** The tool calls of the conversation and their ids as the API takes them. */
  readonly toolCallIds: ToolCallIds;
}

/** A part of a body whose optional fields may be undefined, so that they are not sent. */
export type Settings<T> = {
  readonly [Field in keyof T]: object extends Pick<T, Field> ? T[Field] | undefined : T[Field];
};
