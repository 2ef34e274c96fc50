/**
 * The container in which the provider runs code (provider documentation: "Code execution tool", "Containers"). An
 * answer names its container; a request that names the same one finds the files of earlier turns there.
 */

import { asObject, asString, objectIn } from "../../kit/json/json.ts";
import type { MessageCreateParams } from "../../wire/anthropic-messages/request.ts";
import type { Container, ToolCaller } from "../../wire/anthropic-messages/response.ts";
import type { Untrusted } from "../../wire/untrusted.ts";
import type { RequestContext } from "./context.ts";

/** Kind of the native part that names a container. It is not a content block. */
export const CONTAINER_KIND = "container";

/** The container of an earlier answer. */
export interface UsedContainer {
  readonly id: string;
  /** Whether code in the container waits for the results of the calls that it made. */
  readonly isWaiting: boolean;
  /** When the provider deletes the container, in milliseconds since the epoch; NaN if that is unknown. */
  readonly expiresAt: number;
  /** Path of the container's part in the request. */
  readonly field: string;
}

/** Returns the container that a native part names; undefined if it has no id. */
export function usedContainer(
  { id, expires_at: expiry }: Untrusted<Container>,
  isWaiting: boolean,
  field: string,
): UsedContainer | undefined {
  if (typeof id !== "string") return undefined;
  return { id, isWaiting, expiresAt: Date.parse(asString(expiry) ?? ""), field };
}

/** Reports whether a call was made by the provider's code, as opposed to the model itself. */
export function isCode(caller: unknown): boolean {
  const { type } = objectIn<ToolCaller>(caller);
  return type !== undefined && type !== "direct";
}

/**
 * Returns `container` of a request: the one in which code waits, or the last one of the conversation if the request has
 * tools of the provider and the container has not expired. Options that choose skills are merged into it.
 */
export function containerSettings(
  container: UsedContainer | undefined,
  { request, options, loss }: RequestContext,
): Untrusted<Pick<MessageCreateParams, "container">> {
  if (container === undefined) return {};
  const hasHostedTools =
    request.tools.some(({ tool }) => tool.case === "hosted") || options.body.tools !== undefined;
  if (!container.isWaiting && !hasHostedTools) return {};
  if (!container.isWaiting && container.expiresAt <= Date.now()) {
    const message = "the container has expired; the provider starts a new one, without its files";
    loss.note(container.field, "foreign_state_stripped", message);
    return {};
  }
  const hasSettings = asObject(options.body.container) !== undefined;
  return { container: hasSettings ? { id: container.id } : container.id };
}
