/**
 * The part of ECMAScript 2026 that Node 24 has and TypeScript's libraries do not describe yet: JSON source text access.
 */
interface JSON {
  /** Parses JSON text; the reviver gets the source text of each primitive value. */
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  /** Creates a value that `stringify` writes as its source text. Primitives only. */
  rawJSON(text: string): object;
  /** Reports whether a value came from `rawJSON`. */
  isRawJSON(value: unknown): boolean;
}
