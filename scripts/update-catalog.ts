import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { findProvider, type ModelInfo } from "@pydantic/genai-prices";
import type { CatalogData } from "../src/catalog/catalog-data.ts";
import { buildCatalog, type Overlay, renderCatalog, type Source } from "./catalog-builder.ts";

/*
 * Writes src/catalog/catalog.json from the installed price source and catalog-overlay.json.
 *
 *   node scripts/update-catalog.ts           writes the file
 *   node scripts/update-catalog.ts --check   exits 1 if the file is out of date
 */

const sourceName = "@pydantic/genai-prices";
const catalogPath = new URL("../src/catalog/catalog.json", import.meta.url);
const overlayPath = new URL("./catalog-overlay.json", import.meta.url);

/** The current text of the catalog file. The day of retrieval changes only with the version of the source. */
export function currentCatalog(): string {
  const source = readSource();
  const overlay: Overlay = readJson(overlayPath);
  return renderCatalog(buildCatalog(source, overlay, retrievalDay(source.version)));
}

function readSource(): Source {
  const root = new URL("../", import.meta.resolve(sourceName));
  const { version } = readJson<{ version: string }>(new URL("package.json", root));
  const licence = readFileSync(new URL("LICENSE", root), "utf8").trim();
  return { name: sourceName, version, licence, getModels };
}

function getModels(providerId: string): readonly ModelInfo[] {
  const provider = findProvider({ providerId });
  if (provider === undefined) throw new Error(`${sourceName} has no provider ${providerId}`);
  return provider.models;
}

function retrievalDay(version: string): string {
  const before: Partial<CatalogData> = existsSync(catalogPath) ? readJson(catalogPath) : {};
  if (before.source_version === version && before.retrieved_at !== undefined) return before.retrieved_at;
  return new Date().toISOString().slice(0, 10);
}

function readJson<T>(path: URL): T {
  return JSON.parse(readFileSync(path, "utf8"));
}

if (import.meta.main) {
  const text = currentCatalog();
  if (!process.argv.includes("--check")) {
    writeFileSync(catalogPath, text);
  } else if (readFileSync(catalogPath, "utf8") !== text) {
    process.stderr.write(
      "src/catalog/catalog.json is out of date: run scripts/update-catalog.ts and commit the file\n",
    );
    process.exitCode = 1;
  }
}
