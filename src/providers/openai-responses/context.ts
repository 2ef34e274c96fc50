import type { ModelTraits } from "../../catalog/model-traits.ts";
import type { ProviderModels } from "../../catalog/provider-models.ts";
import type { Document, Image } from "../../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../../gen/outrigger/v1/request_pb.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";
import type { ToolCallIds } from "./tool-call-ids.ts";

/** Name of OpenAI in state, hosted tools and options, whatever name the provider is registered under. */
export const PROVIDER_NAME = "openai";

/** An image or document part. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (part: MediaPart, field: string) => Promise<ResolvedMedia>;

/** The settings of the provider entry that the translation of a request needs. */
export interface RequestSettings {
  /** Name under which the provider is registered. */
  readonly provider: string;
  /** Whether the provider stores the response, so that an item can be referred to by its id alone. */
  readonly store: boolean;
  readonly media: MediaSource;
  /** The catalog as seen by the provider. */
  readonly models: ProviderModels;
}

/** The context for translating one request. */
export interface RequestContext extends RequestSettings {
  readonly request: Request;
  readonly traits: ModelTraits;
  readonly loss: LossReport;
  /** The tool calls of the conversation and their ids in the form that the API takes. */
  readonly toolCallIds: ToolCallIds;
}

/** A part of a body whose optional fields may be undefined, so that they are not sent. */
export type Settings<T> = {
  readonly [Field in keyof T]: object extends Pick<T, Field> ? T[Field] | undefined : T[Field];
};
