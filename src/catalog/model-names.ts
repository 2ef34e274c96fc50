import type { CatalogData, CatalogEntry, ModelFamily, ProviderNaming } from "./catalog-data.ts";

/** The parts of an id: the model, and its snapshot, empty if none is named. */
export interface ModelName {
  readonly id: string;
  readonly snapshot: string;
}

/** Maximum length of a model id. Longer texts are not looked up. */
export const maxIdLength = 200;

/** Finds entries and families by the names of models. */
export class ModelNames {
  /** Every entry once. */
  readonly entries: readonly CatalogEntry[];
  /** Provider, then id or alias. */
  readonly #byName = new Map<string, Map<string, CatalogEntry>>();
  readonly #namings: ReadonlyMap<string, ProviderNaming>;
  readonly #families: readonly ModelFamily[];

  /**
   * @param added Entries that override the entries of the data with the same provider and id.
   */
  constructor(data: CatalogData, added: readonly CatalogEntry[]) {
    this.entries = mergeEntries(data.models, added);
    for (const entry of this.entries) this.#add(entry);
    this.#namings = new Map(data.providers.map((naming) => [naming.provider, naming]));
    this.#families = data.families;
  }

  /**
   * Returns the entry with that id or alias, or the entry of the model whose snapshot the id names. Searches all
   * providers if none is given.
   */
  find(model: string, provider?: string): CatalogEntry | undefined {
    if (model.length > maxIdLength) return undefined;
    for (const name of provider === undefined ? this.#byName.keys() : [provider]) {
      const names = this.#byName.get(name);
      const bare = this.#bare(model, name);
      const entry = names?.get(bare) ?? names?.get(this.#withoutSnapshot(bare, name));
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  /** Splits an id, also one that the catalog does not know. */
  split(model: string, provider: string): ModelName {
    const bare = this.#bare(model, provider);
    const entry = this.find(model, provider);
    if (bare === entry?.id) return { id: bare, snapshot: "" };
    const short = this.#withoutSnapshot(bare, provider);
    return { id: entry?.id ?? short, snapshot: bare.slice(short.length) };
  }

  /** Returns the first family that matches an id. */
  findFamily(model: string, provider: string): ModelFamily | undefined {
    if (model.length > maxIdLength) return undefined;
    const bare = this.#bare(model, provider);
    return this.#families.find(
      (family) =>
        family.provider === provider && family.patterns.some((pattern) => fitsPattern(pattern, bare)),
    );
  }

  #add(entry: CatalogEntry): void {
    const names = this.#byName.get(entry.provider) ?? new Map<string, CatalogEntry>();
    this.#byName.set(entry.provider, names);
    for (const name of [entry.id, ...(entry.aliases ?? [])]) names.set(name, entry);
  }

  #bare(model: string, provider: string): string {
    const prefix = this.#namings.get(provider)?.id_prefixes?.find((start) => model.startsWith(start));
    return prefix === undefined ? model : model.slice(prefix.length);
  }

  #withoutSnapshot(bare: string, provider: string): string {
    // Snapshots have no `*`, so a pattern is as long as the text that it matches.
    const snapshot = this.#namings
      .get(provider)
      ?.snapshots?.find((pattern) => fitsPattern(pattern, bare.slice(-pattern.length)));
    return snapshot === undefined ? bare : bare.slice(0, -snapshot.length);
  }
}

/**
 * Returns one entry for each provider and id. An added entry changes only the fields that it names, and replaces prices
 * together with all their changes.
 */
function mergeEntries(entries: readonly CatalogEntry[], added: readonly CatalogEntry[]): CatalogEntry[] {
  const byId = new Map<string, CatalogEntry>();
  for (const entry of [...entries, ...added]) {
    const key = `${entry.provider}\n${entry.id}`;
    byId.set(key, { ...byId.get(key), ...(entry.prices && { price_changes: [] }), ...entry });
  }
  return [...byId.values()];
}

/**
 * Reports whether a text matches a pattern as a whole: `*` is any text, `#` is one digit, anything else is literal. Not
 * a regular expression: one that is used once costs more to compile than to match.
 */
export function fitsPattern(pattern: string, text: string): boolean {
  return fitsFrom(pattern, 0, text, 0);
}

function fitsFrom(pattern: string, patternStart: number, text: string, textStart: number): boolean {
  let at = textStart;
  for (let index = patternStart; index < pattern.length; index += 1, at += 1) {
    const wanted = pattern[index];
    if (wanted === "*") return fitsSomewhere(pattern, index + 1, text, at);
    const found = text[at];
    if (wanted === "#" ? !isDigit(found) : wanted !== found) return false;
  }
  return at === text.length;
}

function fitsSomewhere(pattern: string, patternStart: number, text: string, textStart: number): boolean {
  if (patternStart === pattern.length) return true;
  for (let at = textStart; at <= text.length; at += 1) {
    if (fitsFrom(pattern, patternStart, text, at)) return true;
  }
  return false;
}

function isDigit(character: string | undefined): boolean {
  return character !== undefined && character >= "0" && character <= "9";
}
