/**
 * JSON that a peer sent and that claims to be a `T`: it has the field names of `T`, and the value of every field is
 * unknown until it is read. Servers omit fields, add others and send other types than they document.
 */
export type Untrusted<T> = { readonly [Field in FieldName<T>]?: unknown };

/** The field names of every member of a union. */
export type FieldName<Union> = Union extends unknown ? keyof Union : never;
