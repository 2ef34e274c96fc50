import { createAdapter, type WireSettings } from "../client/providers.ts";
import type { ProviderAdapter } from "../core/adapter.ts";
import { FormerAdapters } from "./former-adapters.ts";
import type { KeyFile } from "./key-files.ts";

/**
 * Creates the adapter of a provider whose key may change. Each key has a separate adapter, so that a call in progress
 * keeps the key that it began with, and that key is removed from its errors.
 * @param settings Their key is replaced by the current one.
 * @throws ConfigurationError if the settings are invalid.
 */
export function createRotatingAdapter(
  name: string,
  settings: WireSettings,
  keyFile: KeyFile,
): ProviderAdapter {
  const former = new FormerAdapters();
  const create = (apiKey: string) => createAdapter(name, { ...settings, apiKey });
  let key = keyFile.current();
  let adapter = create(key);
  const useKey = (next: string) => {
    if (next === key) return;
    former.add(adapter);
    key = next;
    adapter = create(key);
  };
  const close = async () => {
    await Promise.all([adapter.close?.(), former.close()]);
  };
  return new Proxy(adapter, {
    get(_first, member) {
      if (member === "close") return close;
      useKey(keyFile.current());
      const value: unknown = Reflect.get(adapter, member);
      return typeof value === "function" ? value.bind(adapter) : value;
    },
  });
}
