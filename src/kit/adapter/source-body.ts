import type { Request } from "../../gen/outrigger/v1/request_pb.ts";

/**
 * Writes the body of a request in its source form: all members as the caller spelled them, except the model.
 * @param members JSON text of the members, by their names.
 * @param changes JSON text of members to replace, or to add at the end.
 */
export function writeSourceBody(
  members: ReadonlyMap<string, string>,
  { model }: Request,
  changes: Readonly<Record<string, string>> = {},
): string {
  const changed = new Map(members).set("model", JSON.stringify(model));
  for (const name in changes) changed.set(name, changes[name] ?? "");
  return writeMembers(changed);
}

/** Writes an object. @param members Names, and values as JSON text. */
export function writeMembers(members: Iterable<readonly [name: string, value: string]>): string {
  let text = "";
  for (const [name, value] of members) text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${value}`;
  return text === "" ? "{}" : `${text}}`;
}

/** Reports whether the source form asks for a stream. A call that differs from it has to be translated. */
export function requestsStream(members: ReadonlyMap<string, string>): boolean {
  return members.get("stream") === "true";
}
