import { accumulate, Client, type EventStream, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import { createModelAliases } from "../../src/middleware/model-aliases.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";

const aliases = createModelAliases({
  fast: { provider: "two", model: "m-mini" },
  any: { model: "m-large" },
  "m-mini": { model: "never" },
});

function aliased() {
  const one = new ScriptedAdapter("one");
  const two = new ScriptedAdapter("two");
  return {
    client: new Client({ providers: { one, two }, defaultProvider: "one", middleware: [aliases] }),
    one,
    two,
  };
}

function requestFor(model: string, provider = "") {
  return { model, provider, messages: [userMessage("hi")] };
}

describe("createModelAliases()", () => {
  it.each([
    ["complete", (client: Client, model: string) => client.complete(requestFor(model))],
    ["stream", (client: Client, model: string) => accumulate(client.stream(requestFor(model)))],
  ] as const)("replaces the model and the provider of a request to %s", async (_kind, call) => {
    const { client, one, two } = aliased();
    const response = await call(client, "fast");
    expect(two.requests).toMatchObject([{ model: "m-mini", provider: "two" }]);
    expect(one.requests).toEqual([]);
    expect(response).toMatchObject({ provider: "two", model: "m-mini" });
  });

  it("keeps the provider of the request where the alias has none", async () => {
    const { client, one, two } = aliased();
    await client.complete(requestFor("any"));
    await client.complete(requestFor("any", "two"));
    expect([one.requests, two.requests]).toMatchObject([[{ model: "m-large" }], [{ model: "m-large" }]]);
  });

  it("passes other models on, and the caller's own request is not changed", async () => {
    const { client, one } = aliased();
    const request = requestFor("fast");
    await client.complete(request);
    await client.complete(requestFor("m-huge"));
    expect(request).toMatchObject({ model: "fast", provider: "" });
    expect(one.requests).toMatchObject([{ model: "m-huge" }]);
  });

  it("rejects a provider that is not registered, like a request that names it", async () => {
    const one = new ScriptedAdapter("one");
    const wrong = createModelAliases({ fast: { provider: "none", model: "m" } });
    const client = new Client({ providers: { one }, middleware: [wrong] });
    await expect(client.complete(requestFor("fast"))).rejects.toThrow('"none" is not registered');
  });

  it("leaves the batches of a stream whole", async () => {
    const { client } = aliased();
    const sizes = async (stream: EventStream) => {
      const found: number[] = [];
      for await (const batch of stream.batches()) found.push(batch.length);
      return found;
    };
    expect(await sizes(client.stream(requestFor("fast")))).toEqual(
      await sizes(client.stream(requestFor("m-mini-2"))),
    );
  });
});
