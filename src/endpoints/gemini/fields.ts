/**
 * Reads the fields of a body as Google's servers read the JSON form of protobuf ("ProtoJSON Format"): fields by their
 * JSON or their proto names, numbers also as texts, enum values in any case, and a single value as a list with one
 * element.
 */
import { type Bounds, type Element, Fields, parseBody } from "../openai/fields.ts";

/** The fields of a message in the body. Callers use the JSON names, in camel case; paths have the names of the body. */
export class ProtoFields extends Fields {
  static override of(element: Element): ProtoFields {
    const { value, path, text } = Fields.of(element);
    return new ProtoFields(value, path, text);
  }

  /** Parses the body of a request. @throws InvalidRequestError as `parseBody`. */
  static parse(body: Uint8Array): ProtoFields {
    const { value, path, text } = parseBody(body);
    return new ProtoFields(value, path, text);
  }

  override at(name: string): string {
    return super.at(this.#spell(name));
  }

  override get(name: string): unknown {
    return super.get(this.#spell(name));
  }

  override spelled(name: string): string {
    return super.spelled(this.#spell(name));
  }

  override number(name: string, bounds: Bounds = {}): number | undefined {
    const value = this.get(name);
    const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
    if (Number.isNaN(number)) return super.number(name, bounds);
    const spelling = this.#spell(name);
    return new Fields({ [spelling]: number }, this.path, this.text).number(spelling, bounds);
  }

  override word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const upper = this.string(name)?.toUpperCase();
    return words.find((word) => word === upper) ?? super.word(name, words);
  }

  override object(name: string): ProtoFields | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    return ProtoFields.of({ value, path: this.at(name), text: () => this.spelled(name) });
  }

  override list(name: string, bounds: Bounds = {}): readonly Element[] | undefined {
    const value = this.get(name);
    if (value === undefined || Array.isArray(value)) return super.list(name, bounds);
    return [{ value, path: this.at(name), text: () => this.spelled(name) }];
  }

  /** Reads a list of messages. Empty if it is absent. */
  messages(name: string, bounds: Bounds = {}): readonly ProtoFields[] {
    return (this.list(name, bounds) ?? []).map((element) => ProtoFields.of(element));
  }

  /** Returns the names in the body of the fields that are set and are not among the known ones. */
  getOthers(known: ReadonlySet<string>): readonly string[] {
    return Object.keys(this.value).filter((name) => !known.has(toJsonName(name)) && this.has(name));
  }

  /** Returns the name of a field as it is spelled in the body. */
  #spell(name: string): string {
    if (Object.hasOwn(this.value, name)) return name;
    const proto = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return Object.hasOwn(this.value, proto) ? proto : name;
  }
}

/** No field has a longer name. Millions of underscores would take hundreds of megabytes to replace. */
const MAX_NAME_CHARS = 256;

/** Returns the JSON name of a field. @param name Its JSON or its proto name. */
export function toJsonName(name: string): string {
  if (name.length > MAX_NAME_CHARS) return name;
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
