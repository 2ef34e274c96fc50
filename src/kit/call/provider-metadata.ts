import { measureMemory } from "../../core/memory-pool.ts";
import { isEmpty, isObject, type JsonObject, type JsonValue } from "../json/json.ts";

/** Maximum characters of the metadata of one answer. */
const MAX_METADATA_CHARS = 64 * 1024;

/** Approximate memory of a member without its name and value, in bytes. */
const MEMBER_BYTES = 64;

/**
 * Collects the facts without a unified form that a provider reports alongside its answer, for
 * `Response.provider_metadata_json`. Chunks of a stream repeat members, or complete them.
 */
export class ProviderMetadata {
  // Without a prototype, which a member named `__proto__` would replace.
  readonly #members: Members = Object.create(null);

  /**
   * Adds a member. Replaces an earlier value, but adds the members of an object to an earlier object, which is changed
   * in place since a copy for each chunk would take quadratic time. Returns the additional memory that it takes, in
   * bytes.
   */
  add(name: string, value: unknown): number {
    if (!isObject(value)) return setMember(this.#members, name, value);
    const known = this.#members[name];
    const members: Members = isObject(known) ? (known as Members) : Object.create(null);
    let bytes = 0;
    for (const key in value) bytes += setMember(members, key, value[key]);
    if (members === known || isEmpty(members)) return bytes;
    this.#members[name] = members;
    return bytes + MEMBER_BYTES + name.length;
  }

  /** Returns the members as `toMetadataJson` does. */
  toJson(): string {
    return writeMembers(this.#members);
  }
}

type Members = Record<string, unknown>;

/**
 * Returns the members that are not empty as JSON text, sorted, so that it is the same whole and streamed; empty if
 * there are none. Members that would exceed the limit are left out.
 */
function writeMembers(members: Members): string {
  const written: string[] = [];
  let chars = 2;
  for (const name of Object.keys(members).sort()) {
    const value = sorted(members[name], false);
    if (!hasContent(value)) continue;
    const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
    if (chars + member.length + 1 > MAX_METADATA_CHARS) continue;
    chars += member.length + 1;
    written.push(member);
  }
  return written.length === 0 ? "" : `{${written.join(",")}}`;
}

/** Sets a member unless the value is empty. Returns the additional memory that it takes, in bytes. */
function setMember(members: Members, name: string, value: unknown): number {
  const known = members[name];
  if (!hasContent(value) || known === value) return 0;
  members[name] = value;
  const nameBytes = known === undefined ? MEMBER_BYTES + name.length : 0;
  return nameBytes + Math.max(0, measureMemory(value) - measureMemory(known));
}

/**
 * Returns the members of an answer as `Response.provider_metadata_json`.
 * @param readElsewhere Members that have a unified form, and `usage`.
 * @param usage The counts of the answer, which are members if they say more than the contract has fields for.
 * @param unifiedCounts Counts that the contract has fields for.
 */
export function toMetadataJson(
  members: object,
  readElsewhere: ReadonlySet<string>,
  usage: unknown,
  unifiedCounts: ReadonlySet<string>,
): string {
  const further: Members = Object.create(null);
  for (const name in members) if (!readElsewhere.has(name)) further[name] = (members as JsonObject)[name];
  further.usage = furtherCounts(usage, unifiedCounts);
  return writeMembers(further);
}

/**
 * Returns counts if they say more than the contract has fields for.
 * @param unified Counts that the contract has fields for.
 */
export function furtherCounts(counts: unknown, unified: ReadonlySet<string>): JsonObject | undefined {
  if (!isObject(counts)) return undefined;
  for (const name in counts) if (!unified.has(name) && hasContent(counts[name])) return counts;
  return undefined;
}

/**
 * Returns a value whose objects have their members in the order of their names.
 * @param keepsEmpty Whether an object keeps its empty members. Nested objects do.
 */
function sorted(value: unknown, keepsEmpty = true): unknown {
  if (Array.isArray(value)) return value.map((element) => sorted(element));
  if (!isObject(value)) return value;
  const copy: Members = Object.create(null);
  for (const name of Object.keys(value).sort())
    if (keepsEmpty || hasContent(value[name])) copy[name] = sorted(value[name]);
  return copy;
}

/** Reports whether a value is not empty. */
export function hasContent(value: unknown): value is JsonValue {
  if (value === undefined || value === null || value === "") return false;
  return Array.isArray(value) ? value.length > 0 : !isObject(value) || !isEmpty(value);
}
