import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { userMessage } from "../../../src/core/message.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { resolveMedia } from "../../../src/kit/media/media.ts";
import type { RequestSettings } from "../../../src/providers/anthropic-messages/context.ts";
import { toRequestBody } from "../../../src/providers/anthropic-messages/request.ts";
import { shippedModels } from "../../support/shipped-models.ts";

/** The fields of a request. The model and the message have defaults. */
export type RequestInit = MessageInitShape<typeof RequestSchema>;

/** A body as a server reads it. */
export type Body = Readonly<Record<string, unknown>>;

/** A request as it is sent. */
export interface Built {
  readonly body: Body;
  /** The body's bytes. */
  readonly text: string;
  readonly betas: readonly string[];
  /** `code field` of each warning. */
  readonly warnings: readonly string[];
  /** The message of each warning. */
  readonly messages: readonly string[];
}

const SETTINGS: RequestSettings = {
  provider: "anthropic",
  models: shippedModels("anthropic"),
  apiVersion: "2023-06-01",
  media: (media, field) => resolveMedia(media, {}, field),
};

/** Translates a request, without cache breakpoints unless its options ask for them. */
export async function build(
  init: RequestInit,
  settings: Partial<RequestSettings> = {},
  streaming = false,
): Promise<Built> {
  const request = create(RequestSchema, {
    model: "claude-sonnet-4-5",
    messages: [userMessage("hi")],
    providerOptionsJson: { anthropic: '{"auto_cache":false}' },
    ...init,
  });
  const { body, betas, warnings } = await toRequestBody(request, streaming, { ...SETTINGS, ...settings });
  const text = stringifyJson(body);
  return {
    body: JSON.parse(text),
    text,
    betas,
    warnings: warnings.map(({ code, field }) => `${code} ${field}`),
    messages: warnings.map(({ message }) => message),
  };
}

/** Provider options by the API's name, without cache breakpoints. */
export function options(fields: Record<string, unknown>): Pick<RequestInit & object, "providerOptionsJson"> {
  return { providerOptionsJson: { anthropic: JSON.stringify({ auto_cache: false, ...fields }) } };
}
