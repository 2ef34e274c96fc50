import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect } from "vitest";
import { type FieldViolation, InvalidRequestError } from "../../../src/core/errors.ts";
import { userMessage } from "../../../src/core/message.ts";
import { RequestSchema } from "../../../src/gen/outrigger/v1/request_pb.ts";
import type { FunctionToolSchema } from "../../../src/gen/outrigger/v1/tool_pb.ts";
import { stringifyJson } from "../../../src/kit/json/json-source.ts";
import { resolveMedia } from "../../../src/kit/media/media.ts";
import type { RequestSettings } from "../../../src/providers/openai-responses/context.ts";
import { toRequestBody } from "../../../src/providers/openai-responses/request.ts";
import { shippedModels } from "../../support/shipped-models.ts";

/** Initial values of a request; a model and a message are added if there are none. */
export type RequestInit = MessageInitShape<typeof RequestSchema>;

/** A body as a server reads it. */
export type Body = Readonly<Record<string, unknown>>;

/** A request as it is sent. */
export interface Built {
  readonly body: Body;
  /** The body's bytes. */
  readonly text: string;
  /** `code field` of each warning. */
  readonly warnings: readonly string[];
}

const SETTINGS: RequestSettings = {
  provider: "openai",
  models: shippedModels("openai"),
  store: false,
  media: ({ value }, field) => resolveMedia(value, {}, field),
};

/** Translates a request. */
export async function build(
  init: RequestInit,
  settings: Partial<RequestSettings> = {},
  streaming = false,
): Promise<Built> {
  const request = create(RequestSchema, { model: "gpt-4o", messages: [userMessage("hi")], ...init });
  const { body, warnings } = await toRequestBody(request, streaming, { ...SETTINGS, ...settings });
  const text = stringifyJson(body);
  return {
    body: JSON.parse(text),
    text,
    warnings: warnings.map(({ code, field }) => `${code} ${field}`),
  };
}

/** The body of a request with the message `hi` for gpt-4o. */
export const PLAIN_BODY: Body = {
  model: "gpt-4o",
  input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] }],
  store: false,
};

/** Provider options under the name of the API. */
export function options(fields: Record<string, unknown>): Pick<RequestInit & object, "providerOptionsJson"> {
  return { providerOptionsJson: { openai: JSON.stringify(fields) } };
}

/** A tool that the caller runs. */
export function functionTool(value: MessageInitShape<typeof FunctionToolSchema>) {
  return { tool: { case: "function", value } } as const;
}

/** A tool that a provider runs. */
export function hostedTool(provider: string, config: unknown) {
  const value = { provider, configJson: JSON.stringify(config) };
  return { tool: { case: "hosted", value } } as const;
}

/** Returns the invalid fields that an error names. Fails if the request is accepted. */
export async function toRefusal(built: Promise<Built>): Promise<readonly FieldViolation[]> {
  const error = await built.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidRequestError);
  return (error as InvalidRequestError).violations;
}
