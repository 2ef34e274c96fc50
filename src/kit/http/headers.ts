/** Headers of an answer. Names are lower case; a header that came several times is joined by ", ". */
export interface HttpHeaders extends Iterable<[name: string, value: string]> {
  /** Returns the value of a header, whatever the case of its name. Undefined if it is absent. */
  get(name: string): string | undefined;
}

/** Headers by name, each with its value or values, in the form of undici. */
export type HeaderRecord = Readonly<Record<string, string | string[] | undefined>>;

/** Creates headers from a record. The record is not copied: only a few of the many headers of an answer are read. */
export function createHeaders(record: HeaderRecord): HttpHeaders {
  const values = Object.keys(record).every(isLowerCase) ? record : withLowerCaseNames(record);
  const get = (name: string) => {
    const key = name.toLowerCase();
    return Object.hasOwn(values, key) ? joinValues(values[key]) : undefined;
  };
  return { get, [Symbol.iterator]: () => listEntries(values) };
}

/** Whether a name is in lower case, as names from undici are. */
function isLowerCase(name: string): boolean {
  return name === name.toLowerCase();
}

function withLowerCaseNames(record: HeaderRecord): HeaderRecord {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value]));
}

function* listEntries(record: HeaderRecord): Generator<[name: string, value: string]> {
  for (const [name, values] of Object.entries(record)) {
    const value = joinValues(values);
    if (value !== undefined) yield [name, value];
  }
}

function joinValues(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value.join(", ") : value;
}
