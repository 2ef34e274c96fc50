/**
 * Types JSON that goes to the server unread, as the type that it replaces: blocks that the caller wrote in the server's
 * format, and blocks that the server itself sent.
 */
export function verbatim<T extends object>(json: { readonly [Field in keyof T]?: unknown }): T {
  return json as T;
}
