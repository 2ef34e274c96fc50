/** Paths of a request of the contract -> paths of the body that it was read from. */

/** A message of the request, by its origin in the body. */
export interface MessagePaths {
  readonly path: string;
  /** Paths of its parts. */
  readonly parts: readonly string[];
}

/** The origins of a request in its body. */
export interface RequestPaths {
  readonly messages: readonly MessagePaths[];
  readonly tools: readonly string[];
  /** Fields of the contract that have another name in the API, the longer ones first. */
  readonly fields: readonly (readonly [string, string])[];
}

const ELEMENT = /^(messages|tools)\[(\d+)\](?:\.content\[(\d+)\])?/;

/** Returns the path in the body. @param field Path with the names of the contract: `messages[2].content[0].image`. */
export function toBodyPath(field: string, { messages, tools, fields }: RequestPaths): string {
  // Settings without a field in the contract are passed to the provider under their own names.
  const inner = field.replace(/^provider_options_json\["[^"]*"\]\.?/, "");
  const [, list, index, part] = ELEMENT.exec(inner) ?? [];
  if (list === "tools") return tools[Number(index)] ?? inner;
  if (list === "messages") {
    const message = messages[Number(index)];
    return message?.parts[Number(part)] ?? message?.path ?? inner;
  }
  return fields.find(([name]) => inner === name || inner.startsWith(`${name}.`))?.[1] ?? inner;
}
