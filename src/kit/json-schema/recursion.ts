import type { JsonObject, JsonValue } from "../json/json.ts";
import { isSchemaObject } from "./keywords.ts";
import { type References, referenceOf } from "./references.ts";
import { SchemaMisfit } from "./relaxations.ts";

/** Schemas of one document that references lead to. */
const MAX_TARGETS = 1000;

/** Tells which references of a document lead back to where they stand. */
export class Recursion {
  readonly #root: JsonObject;
  readonly #references: References;
  #cycles: ReadonlyMap<JsonObject, number> | undefined;

  constructor(root: JsonObject, references: References) {
    this.#root = root;
    this.#references = references;
  }

  /**
   * Whether a reference in `owner`, which is the root or what some reference leads to, begins
   * `owner` again on the way through `target`.
   * @throws SchemaMisfit where references lead to more schemas than any provider takes.
   */
  leadsBack(owner: JsonObject, target: JsonObject): boolean {
    this.#cycles ??= this.#findCycles();
    const cycle = this.#cycles.get(owner);
    return cycle !== undefined && cycle === this.#cycles.get(target);
  }

  /**
   * Whether a schema in `owner` begins `owner` again without an optional property on the way, so
   * that its values could not end, or only in an empty list or with null.
   */
  mustRecur(owner: JsonObject, schema: JsonValue): boolean {
    const open: unknown[] = [schema];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (Array.isArray(next)) open.push(...next);
      if (!isSchemaObject(next)) continue;
      const target = this.#targetOf(next);
      if (target !== undefined && this.leadsBack(owner, target)) return true;
      for (const [key, value] of Object.entries(next)) {
        if (key === "properties") open.push(...requiredIn(next));
        else if (isOwn(key, value)) open.push(value);
      }
    }
    return false;
  }

  /** Numbers the cycles: strongly connected components, as Tarjan finds them, of schemas that refer to one another. */
  #findCycles(): ReadonlyMap<JsonObject, number> {
    const cycles = new Map<JsonObject, number>();
    const seen = new Map<JsonObject, number>();
    const path: JsonObject[] = [];
    const visit = (schema: JsonObject): number => {
      const order = seen.size;
      seen.set(schema, order);
      this.#checkTargets(seen.size);
      path.push(schema);
      const targets = this.#targetsIn(schema);
      let lowest = order;
      for (const target of targets) {
        if (!seen.has(target)) lowest = Math.min(lowest, visit(target));
        else if (path.includes(target)) lowest = Math.min(lowest, seen.get(target) ?? order);
      }
      if (lowest === order) {
        const component = path.splice(path.indexOf(schema));
        const cyclic = component.length > 1 || targets.has(schema);
        if (cyclic) for (const each of component) cycles.set(each, order);
      }
      return lowest;
    };
    visit(this.#root);
    return cycles;
  }

  #checkTargets(count: number): void {
    if (count <= MAX_TARGETS) return;
    throw new SchemaMisfit("", `refers to more than ${MAX_TARGETS} schemas`);
  }

  /** What the references in a schema lead to; those in its definitions are not its own. */
  #targetsIn(schema: JsonObject): ReadonlySet<JsonObject> {
    const targets = new Set<JsonObject>();
    const open: unknown[] = [schema];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (Array.isArray(next)) open.push(...next);
      if (!isSchemaObject(next)) continue;
      const target = this.#targetOf(next);
      if (target !== undefined) targets.add(target);
      for (const [key, value] of Object.entries(next)) if (isOwn(key, value)) open.push(value);
    }
    return targets;
  }

  #targetOf(schema: JsonObject): JsonObject | undefined {
    if (referenceOf(schema) === undefined) return undefined;
    const target = this.#references.resolve(schema)?.schema;
    return isSchemaObject(target) ? target : undefined;
  }
}

/** Whether a member may hold schemas that belong to the schema itself, not to its definitions. */
function isOwn(key: string, value: unknown): boolean {
  return key !== "$defs" && key !== "definitions" && typeof value === "object" && value !== null;
}

function requiredIn({ properties, required }: JsonObject): unknown[] {
  if (!isSchemaObject(properties) || !Array.isArray(required)) return [];
  const names = new Set<unknown>(required);
  return Object.entries(properties).flatMap(([name, value]) => (names.has(name) ? [value] : []));
}
