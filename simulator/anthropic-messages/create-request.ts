import type { MessageCreateParams } from "../../src/wire/anthropic-messages/request.ts";

type RequiredParam = "max_tokens" | "messages" | "model";

/** The checked body of `POST /v1/messages`. The API accepts null for every optional parameter. */
export type CreateRequest = Readonly<Pick<MessageCreateParams, RequiredParam>> & {
  readonly [Name in Exclude<keyof MessageCreateParams, RequiredParam>]?: MessageCreateParams[Name] | null;
};
