import type { Document, Image, ToolCall } from "../../gen/outrigger/v1/message_pb.ts";
import type { ProviderSettings, TranslationContext } from "../../kit/adapter/request-context.ts";
import { ToolCallIdMapper, type ToolCallIdRule } from "../../kit/adapter/tool-call-id-mapper.ts";
import type { LossReport } from "../../kit/call/loss-report.ts";
import type { JsonObject } from "../../kit/json/json.ts";
import type { ResolvedMedia } from "../../kit/media/media.ts";
import type { CustomToolCallOutput, FunctionCallOutput } from "../../wire/openai-responses/request.ts";

/** Name of OpenAI in state, hosted tools and options, whatever name the provider is registered under. */
export const PROVIDER_NAME = "openai";

/** An image or document part. */
export type MediaPart =
  | { readonly case: "image"; readonly value: Image }
  | { readonly case: "document"; readonly value: Document };

/** Turns the source of a part into a URL, bytes or a file id. @param field Path of the part, for errors. */
export type MediaSource = (part: MediaPart, field: string) => Promise<ResolvedMedia>;

/** The settings of the provider entry that the translation of a request needs. */
export interface RequestSettings extends ProviderSettings {
  /** Whether the provider stores the response, so that an item can be referred to by its id alone. */
  readonly store: boolean;
  readonly media: MediaSource;
}

/** The context for translating one request. */
export interface RequestContext extends RequestSettings, TranslationContext {
  /**
   * Returns the tool calls of the conversation and their ids in the form that the API takes: always the same object.
   */
  readonly getToolCallIds: () => ToolCallIds;
}

/** A part of a body whose optional fields may be undefined, so that they are not sent. */
export type Settings<T> = {
  readonly [Field in keyof T]: object extends Pick<T, Field> ? T[Field] | undefined : T[Field];
};

/** The provider options of one request. */
export interface ProviderOptions {
  /** Fields that are merged into the body, last. */
  readonly body: JsonObject;
  /** `store`: whether the provider stores the response; undefined if the options do not set it. */
  readonly store: boolean | undefined;
  /** `tools`: tools that are added to the request's tools. Not checked. */
  readonly tools: unknown;
}

/** Longer ids are refused, including ids from other providers and from some servers of this API. */
const CALL_IDS: ToolCallIdRule = { pattern: /^.{1,64}$/s, prefix: "call_", length: 32 };

/** Reports whether the API takes the id of a call. */
export function acceptsCallId(id: string): boolean {
  return CALL_IDS.pattern.test(id);
}

/** The fields that the item with the result of a call has from the call. */
export interface ResultHead {
  readonly type: (FunctionCallOutput | CustomToolCallOutput)["type"];
  readonly call_id: string;
  /** The program of the model that waits for the result; absent if the model itself called. */
  readonly caller?: JsonObject;
}

/** The tool calls of a conversation: their ids in the form that the API takes, and which calls are of custom tools. */
export class ToolCallIds {
  readonly #ids: ToolCallIdMapper;
  readonly #custom = new Set<string>();
  readonly #programs = new Map<string, JsonObject>();

  constructor(loss: LossReport) {
    this.#ids = new ToolCallIdMapper(CALL_IDS, loss);
  }

  /**
   * Records a call and returns its id on the wire.
   * @param field Path of the call, for the warning.
   * @param caller The caller that the API named with the call.
   */
  ofCall({ id, input }: ToolCall, field: string, caller?: JsonObject): string {
    if (input.case === "text") this.#custom.add(id);
    else this.#custom.delete(id);
    if (caller?.type === "program") this.#programs.set(id, caller);
    else this.#programs.delete(id);
    return this.#ids.ofCall(id, `${field}.id`);
  }

  /** Returns what the item with the result of the call with that id has from the call. */
  ofResult(id: string): ResultHead {
    const type = this.#custom.has(id) ? "custom_tool_call_output" : "function_call_output";
    const head = { type, call_id: this.#ids.ofResult(id) } as const;
    const caller = this.#programs.get(id);
    return caller === undefined ? head : { ...head, caller };
  }
}
