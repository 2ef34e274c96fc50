import { createAdapter, type WireSettings } from "../client/providers.ts";
import type { CallOptions, ProviderAdapter } from "../core/adapter.ts";
import type { EventStream } from "../core/event-stream.ts";
import type { Request, ToolChoice_Mode } from "../gen/outrigger/v1/request_pb.ts";
import type { Response } from "../gen/outrigger/v1/response_pb.ts";
import { FormerAdapters } from "./former-adapters.ts";
import type { KeyFile } from "./key-files.ts";

/**
 * The adapter of a provider whose key may change. Each key has a separate adapter, so that a call in progress keeps the
 * key that it began with, and that key is removed from its errors.
 */
export class RotatingAdapter implements ProviderAdapter {
  readonly name: string;
  readonly #settings: WireSettings;
  readonly #keyFile: KeyFile;
  #key: string;
  #adapter: ProviderAdapter;
  /** Adapters of former keys. */
  readonly #former = new FormerAdapters();

  /**
   * @param settings With any key.
   * @throws ConfigurationError if the settings are invalid.
   */
  constructor(name: string, settings: WireSettings, keyFile: KeyFile) {
    this.name = name;
    this.#settings = settings;
    this.#keyFile = keyFile;
    this.#key = keyFile.current();
    this.#adapter = createAdapter(name, { ...settings, apiKey: this.#key });
  }

  get catalogProvider(): string | undefined {
    return this.#adapter.catalogProvider;
  }

  complete(request: Request, options?: CallOptions): Promise<Response> {
    return this.#current().complete(request, options);
  }

  stream(request: Request, options?: CallOptions): EventStream {
    return this.#current().stream(request, options);
  }

  supportsToolChoice(mode: ToolChoice_Mode, model: string, options?: CallOptions): boolean {
    return this.#adapter.supportsToolChoice?.(mode, model, options) ?? true;
  }

  supportsJsonSchema(model: string, options?: CallOptions): boolean {
    return this.#adapter.supportsJsonSchema?.(model, options) ?? true;
  }

  async close(): Promise<void> {
    await Promise.all([this.#adapter.close?.(), this.#former.close()]);
  }

  #current(): ProviderAdapter {
    const key = this.#keyFile.current();
    if (key === this.#key) return this.#adapter;
    this.#former.add(this.#adapter);
    this.#key = key;
    this.#adapter = createAdapter(this.name, { ...this.#settings, apiKey: key });
    return this.#adapter;
  }
}
