/** Headers of an answer. Names are lower case; a header that came several times is joined by ", ". */
export interface HttpHeaders extends Iterable<[name: string, value: string]> {
  /** The value of a header, whatever the case of its name. Undefined where it did not come. */
  get(name: string): string | undefined;
}

/** Makes headers of a record, as undici and tests have them. */
export function createHeaders(record: Readonly<Record<string, string | string[] | undefined>>): HttpHeaders {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(record)) {
    if (value !== undefined) values.set(name.toLowerCase(), joinValues(value));
  }
  return {
    get: (name) => values.get(name.toLowerCase()),
    [Symbol.iterator]: () => values[Symbol.iterator](),
  };
}

function joinValues(value: string | string[]): string {
  return typeof value === "string" ? value : value.join(", ");
}
