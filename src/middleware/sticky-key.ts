/** The field of a call by which all calls of a conversation or a user go to the same target of an alias. */
import { createHash } from "node:crypto";
import type { CallOptions } from "../core/adapter.ts";
import { Role } from "../gen/outrigger/v1/message_pb.ts";
import type { Request } from "../gen/outrigger/v1/request_pb.ts";
import { asObject, tryReadJson } from "../kit/json/json.ts";

/**
 * A field of a call: `prompt_cache_key`, a setting for providers; `user`, which is the first of `safety_identifier`,
 * `user` and `user_id` in the settings for providers or the metadata of the request; `metadata.` and a name in that
 * metadata; `caller`, the name of the access key; `conversation`, the messages up to the first one of the user.
 */
export type StickyField = "prompt_cache_key" | "user" | "caller" | "conversation" | `metadata.${string}`;

/** The fields that are named by one word. */
export const STICKY_WORDS = ["prompt_cache_key", "user", "caller", "conversation"] as const;

/** Returns the first of several fields that a call has, with its name; undefined if it has none. */
export function readStickyKey(
  fields: readonly StickyField[],
  request: Request,
  options: CallOptions,
): string | undefined {
  for (const field of fields) {
    const value = readField(field, request, options);
    if (value !== undefined && value !== "") return `${field}=${value}`;
  }
  return undefined;
}

function readField(field: StickyField, request: Request, options: CallOptions): string | undefined {
  switch (field) {
    case "caller":
      return options.caller?.name;
    case "conversation":
      return hashBeginning(request);
    case "prompt_cache_key":
      return readSetting(["prompt_cache_key"], request, options);
    case "user":
      return readSetting(["safety_identifier", "user", "user_id"], request, options);
    default:
      return request.metadata[field.slice("metadata.".length)];
  }
}

/** Returns a setting for providers by its names, from the request or from the body in which the caller wrote it. */
function readSetting(
  names: readonly string[],
  { providerOptionsJson, metadata }: Request,
  { source }: CallOptions,
): string | undefined {
  const settings = Object.values(providerOptionsJson).map((text) => asObject(tryReadJson(text)) ?? {});
  const members = source?.getMembers();
  for (const name of names) {
    const given = settings.map((object) => object[name] ?? asObject(object.metadata)?.[name]);
    const found = [...given, tryReadJson(members?.get(name) ?? ""), metadata[name]].find(isText);
    if (found !== undefined) return found;
  }
  return undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Hashes the roles and texts of a conversation up to the first message of the user, which later calls repeat. */
function hashBeginning({ messages }: Request): string {
  const first = messages.findIndex(({ role }) => role === Role.USER);
  const beginning = messages
    .slice(0, first + 1)
    .map(({ role, content }) => [
      role,
      content.map(({ part }) => (part.case === "text" ? part.value : part.case)),
    ]);
  return createHash("sha256").update(JSON.stringify(beginning)).digest("base64");
}
