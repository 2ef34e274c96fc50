import type { MessageCreateParams } from "../../src/wire/anthropic-messages/request.ts";

type RequiredParam = "max_tokens" | "messages" | "model";

/** The body of `POST /v1/messages` once it has been checked. The API takes null for every parameter that is optional. */
export type CreateRequest = Readonly<Pick<MessageCreateParams, RequiredParam>> & {
  readonly [Name in Exclude<keyof MessageCreateParams, RequiredParam>]?: MessageCreateParams[Name] | null;
};
