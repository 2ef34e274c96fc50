/** JSON Pointers (RFC 6901): the names of places in a schema. */

/** The pointer of a place below another. Nothing is escaped in `base`. */
export function pointerBelow(base: string, ...tokens: readonly (string | number)[]): string {
  return tokens.reduce<string>((pointer, token) => `${pointer}/${escapeToken(String(token))}`, base);
}

function escapeToken(token: string): string {
  return /[~/]/.test(token) ? token.replaceAll("~", "~0").replaceAll("/", "~1") : token;
}

/** The tokens of a pointer; undefined where the text is no pointer. */
export function tokensOf(pointer: string): string[] | undefined {
  if (pointer === "") return [];
  if (!pointer.startsWith("/")) return undefined;
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The pointer as the fragment of a reference. */
export function fragmentOf(pointer: string): string {
  return `#${encodeURI(pointer)}`;
}

/** Characters of a pointer that a message shows at the most. */
const MAX_SHOWN = 200;

/** The path of a place for warnings and errors: the request's field, then the place in its schema. */
export function fieldAt(field: string, pointer: string): string {
  if (pointer === "") return field;
  return `${field}#${pointer.length > MAX_SHOWN ? `${pointer.slice(0, MAX_SHOWN)}…` : pointer}`;
}
