/** Paths of all fields of a value, with `[]` for the elements of arrays. */
export function collectPaths(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((each) => collectPaths(each, `${path}[]`));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => {
    const at = path === "" ? name : `${path}.${name}`;
    return [at, ...collectPaths(each, at)];
  });
}
