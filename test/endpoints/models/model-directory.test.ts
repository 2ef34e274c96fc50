import { Client, OpenAIAdapter } from "outrigger";
import { describe, expect, it } from "vitest";
import { createCatalog, defaultCatalog } from "../../../src/catalog/catalog.ts";
import type { ProviderApi } from "../../../src/client/providers.ts";
import { ModelDirectory } from "../../../src/endpoints/models/model-directory.ts";
import { createDirectory } from "../support/directory.ts";

const providers = new Map<string, ProviderApi>([
  ["openai", "openai-responses"],
  ["anthropic", "anthropic-messages"],
  ["router", "openai-chat"],
]);

const aliases = { fast: { provider: "anthropic", model: "claude-haiku-4-5" }, mine: { model: "gpt-5.2" } };

function directory(defaultProvider?: string) {
  return createDirectory({ providers, defaultProvider, aliases });
}

describe("the name of a model", () => {
  it.each([
    ["gpt-5.2", "", "gpt-5.2", "openai"],
    ["openai/gpt-5.2", "openai", "gpt-5.2", "openai"],
    ["claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5", "anthropic"],
    ["anthropic/claude-next", "anthropic", "claude-next", "anthropic"],
    ["router/meta-llama/Llama-3", "router", "meta-llama/Llama-3", "router"],
    ["meta-llama/Llama-3", "", "meta-llama/Llama-3", "openai"],
    ["unheard-of", "", "unheard-of", "openai"],
    ["openai/", "", "openai/", "openai"],
    ["/gpt-5.2", "", "/gpt-5.2", "openai"],
  ])("%s leads to one provider", (name, provider, model, served) => {
    expect(directory().resolve(name)).toMatchObject({ provider, model, served: { provider: served, model } });
  });

  it("resolves an alias to its target, which the middleware inserts", () => {
    expect(directory().resolve("fast")).toEqual({
      provider: "",
      model: "fast",
      served: { provider: "anthropic", model: "claude-haiku-4-5", api: "anthropic-messages" },
    });
    expect(directory("router").resolve("mine").served).toEqual({
      provider: "router",
      model: "gpt-5.2",
      api: "openai-chat",
    });
  });

  it("stays with the default provider if it lists the model, or if no provider does", () => {
    const catalog = createCatalog({ models: [{ id: "gpt-5.2", provider: "router" }] });
    const modelDirectory = createDirectory({ providers, defaultProvider: "router", catalog });
    expect(modelDirectory.resolve("gpt-5.2").served.provider).toBe("router");
    expect(modelDirectory.resolve("claude-sonnet-4-5").served.provider).toBe("anthropic");
    expect(modelDirectory.resolve("constructor").served.provider).toBe("router");
  });

  it("is not an error without providers, which the client reports", () => {
    const none = createDirectory();
    expect(none.resolve("m").served).toEqual({ provider: "", model: "m", api: undefined });
    expect(none.list()).toEqual([]);
  });
});

describe("the list of models", () => {
  it("lists every model under a name that resolves to it", () => {
    const modelDirectory = directory();
    const listed = modelDirectory.list();
    expect(listed.length).toBeGreaterThan(20);
    for (const { id, served } of listed) expect(modelDirectory.resolve(id).served).toEqual(served);
    const ids = listed.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(["gpt-5.2", "claude-sonnet-4-5", "fast", "mine"]));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("names the provider if the plain id leads to another", () => {
    const two = createDirectory({
      providers: new Map<string, ProviderApi>([
        ["openai", "openai-responses"],
        ["openai-eu", "openai-responses"],
      ]),
    });
    expect(two.list().map(({ id }) => id)).toEqual(expect.arrayContaining(["gpt-5.2", "openai-eu/gpt-5.2"]));
  });

  it("has the models that a configuration names for a program", () => {
    const catalog = createCatalog({ models: [{ id: "gpt-5.2", provider: "codex" }] });
    const modelDirectory = createDirectory({
      providers: new Map([...providers, ["codex", "command"]]),
      catalog,
    });
    const served = { provider: "codex", model: "gpt-5.2", api: "command" };
    expect(modelDirectory.list().find(({ id }) => id === "codex/gpt-5.2")).toMatchObject({ served });
    const alone = createDirectory({ providers: new Map([["codex", "command"]]), catalog });
    expect(alone.list().map(({ id }) => id)).toEqual(["gpt-5.2"]);
    expect(alone.resolve("").served).toEqual(served);
  });

  it("finds models by every name that the catalog knows", () => {
    expect(directory().find("openai/gpt-5.2")?.info?.id).toBe("gpt-5.2");
    expect(directory().find("fast")?.served.model).toBe("claude-haiku-4-5");
    expect(directory().find("unheard-of")).toBeUndefined();
  });

  it("finds models that the catalog does not know if calls with their names reach a provider", () => {
    const served = { provider: "router", model: "unheard/of", api: "openai-chat" };
    expect(directory().find("router/unheard/of")).toEqual({
      id: "router/unheard/of",
      served,
      info: undefined,
    });
    const options = { catalog: createCatalog(), providers: new Map([["local", "openai-chat" as const]]) };
    const local = createDirectory(options);
    const model = { provider: "local", model: "unheard-of", api: "openai-chat" };
    expect(local.find("unheard-of")).toEqual({ id: "unheard-of", served: model, info: undefined });
    expect(createDirectory({ ...options, providers: new Map() }).find("unheard-of")).toBeUndefined();
  });
});

it("A directory lists the aliases and providers of the present, however they changed", () => {
  const registered = new Map<string, ProviderApi>();
  const client = new Client({ modelAliases: { fast: { model: "m" } } });
  const options = {
    providers: registered,
    catalog: defaultCatalog,
    get routing() {
      return client.routing;
    },
  };
  const models = new ModelDirectory(options);
  const ids = () => models.list().map(({ id }) => id);
  expect(ids()).toEqual(["fast"]);
  client.register("openai", new OpenAIAdapter({ apiKey: "test-key" }));
  registered.set("openai", "openai-responses");
  expect(ids()).toEqual(expect.arrayContaining(["fast", "gpt-5.2"]));
});
