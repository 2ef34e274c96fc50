/**
 * JSON that goes to the server unread, as the type of what it replaces: blocks that the caller wrote in the server's
 * own form, and those that the server itself gave.
 */
export function verbatim<T extends object>(json: { readonly [Field in keyof T]?: unknown }): T {
  return json as T;
}
