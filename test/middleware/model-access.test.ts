import { createCache, createFallback, createRetry, ErrorKind, type Middleware } from "outrigger";
import { afterEach, describe, expect, it } from "vitest";
import type { Caller } from "../../src/core/caller.ts";
import { createModelAccess } from "../../src/middleware/model-access.ts";
import { useSimulator } from "../simulator/support.ts";
import { calls, getClient, listAsked, requestFor, toFailure } from "./support/providers.ts";

const simulator = useSimulator();

afterEach(() => simulator().clearRequests());

/** A caller that may use models by `provider/model`. */
function getCaller(...allowed: string[]): Caller {
  const allowsModel = (provider: string, model: string) => allowed.includes(`${provider}/${model}`);
  return { name: "checkout", isRestricted: true, allowsModel };
}

const access = createModelAccess();

const modelAliases = { fast: { provider: "two", model: "sim-tools" } };

describe.each(calls)("createModelAccess() around %s", (_kind, call) => {
  async function run(middleware: readonly Middleware[], model: string, caller: Caller, changes = {}) {
    const client = getClient(simulator(), middleware, { modelAliases });
    try {
      return await call(client, requestFor(model, changes), { caller });
    } finally {
      await client.close();
    }
  }

  it("lets a caller use its models, and no other", async () => {
    const caller = getCaller("one/sim-text");
    expect(await run([access], "sim-text", caller)).toMatchObject({ provider: "one" });
    const denied = await toFailure(run([access], "sim-tools", caller));
    expect(denied).toMatchObject({
      kind: ErrorKind.ACCESS_DENIED,
      retryable: false,
      message: 'the caller checkout may not use the model "sim-tools" of "one"',
    });
    expect(denied.toProto().providerFailure).toBeUndefined();
    expect(listAsked(simulator())).toEqual(["/v1/responses sim-text"]);
  });

  it("checks the provider that a request names as the one that it leaves out", async () => {
    const caller = getCaller("one/sim-text");
    expect(await run([access], "sim-text", caller, { provider: "one" })).toMatchObject({ provider: "one" });
    for (const [provider, model] of [
      ["two", "sim-text"],
      ["", "two/sim-text"],
      ["one", " sim-text"],
    ] as const)
      expect((await toFailure(run([access], model, caller, { provider }))).kind).toBe(
        ErrorKind.ACCESS_DENIED,
      );
    expect(listAsked(simulator())).toHaveLength(1);
  });

  it("checks the target of an alias", async () => {
    const denied = await toFailure(run([access], "fast", getCaller("one/fast", "two/fast", "two/sim-text")));
    expect(denied.message).toContain('the model "sim-tools" of "two"');
    expect(listAsked(simulator())).toEqual([]);
  });

  it("skips the targets of a fallback that the caller may not use", async () => {
    const fallback = createFallback({
      targets: [
        { provider: "two", model: "sim-tools" },
        { provider: "two", model: "sim-text" },
      ],
    });
    const failing = "sim-text:status=503";
    const caller = getCaller(`one/${failing}`, "two/sim-text");
    expect(await run([fallback, access], failing, caller)).toMatchObject({ provider: "two" });
    expect(listAsked(simulator())).toEqual([`/v1/responses ${failing}`, "/v1/messages sim-text"]);
    const failure = await toFailure(run([fallback, access], failing, getCaller(`one/${failing}`)));
    expect(failure.kind).toBe(ErrorKind.SERVER);
  });

  it("does not continue to a fallback if the first model is not allowed, nor retry", async () => {
    const fallback = createFallback({ targets: [{ provider: "two", model: "sim-text" }] });
    const middleware = [fallback, createRetry({ maxRetries: 3, baseDelay: 0.001 }), access];
    const denied = await toFailure(run(middleware, "sim-text", getCaller("two/sim-text")));
    expect(denied.kind).toBe(ErrorKind.ACCESS_DENIED);
    expect(listAsked(simulator())).toEqual([]);
  });

  it("returns no cached answers to a caller that may not use the model", async () => {
    const middleware = [access, createCache()];
    const client = getClient(simulator(), middleware);
    const request = requestFor("sim-text", { temperature: 0 });
    await call(client, request, { caller: getCaller("one/sim-text") });
    const denied = await toFailure(call(client, request, { caller: getCaller("one/other") }));
    expect(denied.kind).toBe(ErrorKind.ACCESS_DENIED);
    await client.close();
  });

  it.each([
    ["the model of a tool", { tools: [hosted('{"type":"image_generation","model":"sim-tools"}')] }],
    [
      "a tool among the options",
      { providerOptionsJson: { one: '{"tools":[{"type":"x","model":"sim-tools"}]}' } },
    ],
  ])("checks %s if the provider's fields name it", async (_name, changes) => {
    const denied = await toFailure(run([access], "sim-text", getCaller("one/sim-text"), changes));
    expect(denied).toMatchObject({ kind: ErrorKind.ACCESS_DENIED });
    expect(denied.message).toContain('"sim-tools"');
    expect(listAsked(simulator())).toEqual([]);
  });

  it.each([
    ["models", '{"models":["sim-text"]}'],
    ["fallbacks", '{"fallbacks":["sim-text"]}'],
    ["extra.fallbacks", '{"extra":{"fallbacks":[{"model":"sim-tools"}]}}'],
    ["context_window_fallbacks", '{"context_window_fallbacks":[{"sim-text":["sim-tools"]}]}'],
    ["contentPolicyFallbacks", '{"contentPolicyFallbacks":[{"sim-text":["sim-tools"]}]}'],
    ["router_settings", '{"router_settings":{"any":1}}'],
    ["router_settings_override", '{"router_settings_override":{"any":1}}'],
    ["user_config", '{"user_config":{"model_list":[]}}'],
    ["preset", '{"preset":"cheap"}'],
    ["route", '{"route":"fallback"}'],
    ["plugins[0].allowed_models", '{"plugins":[{"id":"auto-router","allowed_models":["*"]}]}'],
    ["extra_body.model", '{"extra_body":{"model":{"id":"sim-tools"}}}'],
    ["tools[0].model", '{"tools":[{"model":["sim-text"]}]}'],
  ])("refuses the option %s, which can choose another model", async (field, options) => {
    const changes = { providerOptionsJson: { one: options } };
    const denied = await toFailure(run([access], "sim-text", getCaller("one/sim-text"), changes));
    expect(denied).toMatchObject({
      kind: ErrorKind.ACCESS_DENIED,
      message:
        `the caller checkout may not set the option "${field}": ` +
        "it can choose another model, and the caller is limited to some models",
    });
    expect(listAsked(simulator())).toEqual([]);
  });

  it("names the end of a long path, whatever its depth", async () => {
    const deep = `${'{"abcdefgh":'.repeat(20_000)}{"models":[]}${"}".repeat(20_000)}`;
    const changes = { providerOptionsJson: { one: deep } };
    const denied = await toFailure(run([access], "sim-text", getCaller("one/sim-text"), changes));
    expect(denied.message).toMatch(/the option "…[^"]{1,110}models"/);
  });

  it("does not treat the name of a tool's parameter as a model, at any depth of the options", async () => {
    const deep = `${'{"a":'.repeat(20_000)}{"model":"sim-tools"}${"}".repeat(20_000)}`;
    const schema = '{"tools":[{"parameters":{"properties":{"model":{"type":"string"}}}}]}';
    const caller = getCaller("one/sim-text");
    const denied = await toFailure(run([access], "sim-text", caller, { providerOptionsJson: { x: deep } }));
    expect(denied.kind).toBe(ErrorKind.ACCESS_DENIED);
    const response = await run([access], "sim-text", caller, { providerOptionsJson: { x: schema } });
    expect(response.provider).toBe("one");
  });

  it("lets a caller without limits, and calls without a caller, use everything", async () => {
    const free: Caller = { name: "free", isRestricted: false, allowsModel: () => true };
    expect(await run([access], "sim-text", free)).toMatchObject({ provider: "one" });
    const client = getClient(simulator(), [access]);
    expect(await call(client, requestFor("sim-text"))).toMatchObject({ provider: "one" });
    await client.close();
  });
});

function hosted(configJson: string) {
  return { tool: { case: "hosted", value: { provider: "one", configJson } } } as const;
}
