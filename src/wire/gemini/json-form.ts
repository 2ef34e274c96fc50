/**
 * The JSON form of a type of the official SDK: its enums are strings on the wire, and classes are plain objects.
 * Nothing that was parsed or is about to be written is changed, so every field is read-only.
 */
export type JsonForm<T> = T extends string
  ? `${T}`
  : T extends readonly (infer Element)[]
    ? readonly JsonForm<Element>[]
    : T extends object
      ? { readonly [Field in keyof T]: JsonForm<T[Field]> }
      : T;
