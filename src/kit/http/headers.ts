/** Headers of an answer. Names are lower case; a header that came several times is joined by ", ". */
export interface HttpHeaders extends Iterable<[name: string, value: string]> {
  /** The value of a header, whatever the case of its name. Undefined where it did not come. */
  get(name: string): string | undefined;
}

/** Headers as undici has them: under names in lower case, each with its value or values. */
export type HeaderRecord = Readonly<Record<string, string | string[] | undefined>>;

/** Makes headers of a record whose names are in any case. */
export function createHeaders(record: HeaderRecord): HttpHeaders {
  return headersIn(
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value])),
  );
}

/** Looks at a record as headers. Most answers are asked for a few of many, so none is touched before. */
export function headersIn(record: HeaderRecord): HttpHeaders {
  const get = (name: string) => {
    const key = name.toLowerCase();
    return Object.hasOwn(record, key) ? joinValues(record[key]) : undefined;
  };
  return { get, [Symbol.iterator]: () => entriesOf(record) };
}

function* entriesOf(record: HeaderRecord): Generator<[name: string, value: string]> {
  for (const [name, values] of Object.entries(record)) {
    const value = joinValues(values);
    if (value !== undefined) yield [name, value];
  }
}

function joinValues(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}
