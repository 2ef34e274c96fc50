import { Client, createBudget, createCatalog, QuotaExceededError, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import type { Caller, CallerBudget } from "../../src/core/caller.ts";
import { createCallerBudgets } from "../../src/middleware/caller-budgets.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { calls, toFailure } from "./support/providers.ts";

/** A token of a prompt costs a millionth of a dollar, and one of an answer two. */
const catalog = createCatalog({
  models: ["m", "n"].map((id) => ({ id, provider: "one", prices: { input: 1, output: 2 } })),
});

/** A client whose answers have 3 input tokens and 2 output tokens. */
function createClient(): Client {
  const budgets = createCallerBudgets((budget, name) => createBudget({ ...budget, catalog, name }));
  return new Client({ providers: { one: new ScriptedAdapter("one", {}) }, middleware: [budgets], catalog });
}

function request(model = "m") {
  return { model, maxTokens: 2, messages: [userMessage("twelve bytes")] };
}

function getCaller(name: string, ...budgets: (Partial<CallerBudget> & Pick<CallerBudget, "window">)[]) {
  const countsModel = () => true;
  const all = budgets.map((budget) => ({ countsModel, ...budget }));
  return { name, isRestricted: false, allowsModel: () => true, budgets: all } satisfies Caller;
}

describe.each(calls)("createCallerBudgets() around %s", (_kind, call) => {
  it("counts the calls of each caller separately, and of callers without a budget none", async () => {
    const client = createClient();
    const shop = getCaller("shop", { window: "day", requests: 1 });
    await call(client, request(), { caller: shop });
    const refused = await toFailure(call(client, request(), { caller: shop }));
    expect(refused).toBeInstanceOf(QuotaExceededError);
    expect(refused.message).toMatch(
      /^the budget of 1 request per day for the caller shop has too little left for this call; it resets at /,
    );
    await call(client, request(), { caller: getCaller("search", { window: "day", requests: 1 }) });
    const { budgets: _, ...unlimited } = getCaller("unlimited");
    for (let count = 0; count < 3; count += 1) await call(client, request(), { caller: unlimited });
    await call(client, request());
  });

  it("counts money, tokens and requests by the usage that the provider reports", async () => {
    const client = createClient();
    // Each call costs 3 × 1 + 2 × 2 millionths of a dollar.
    const caller = getCaller("shop", { window: "month", usd: 0.000_015 }, { window: "hour", tokens: 100 });
    for (let count = 0; count < 2; count += 1) await call(client, request(), { caller });
    const refused = await toFailure(call(client, request(), { caller }));
    expect(refused.message).toContain("0.000015 US dollars per month");
  });

  it("applies a budget with models to the calls of these models", async () => {
    const client = createClient();
    const countsModel = (provider: string, model: string) => provider === "one" && model === "n";
    const caller = getCaller("shop", { window: "day", requests: 1, models: ["one/n"], countsModel });
    await call(client, request("n"), { caller });
    const refused = await toFailure(call(client, request("n"), { caller }));
    expect(refused.message).toContain("for the caller shop and one/n has too little left");
    await call(client, request("m"), { caller });
    await call(client, request("m"), { caller });
  });

  it("keeps the count of a budget that stays the same while others change", async () => {
    const client = createClient();
    const kept = { window: "day", requests: 2 } as const;
    await call(client, request(), { caller: getCaller("shop", kept, { window: "hour", requests: 1 }) });
    await call(client, request(), { caller: getCaller("shop", kept) });
    const changed = getCaller("shop", { window: "hour", requests: 50 }, kept);
    expect((await toFailure(call(client, request(), { caller: changed }))).message).toContain(
      "2 requests per day",
    );
  });

  it("counts a call once in a budget that is listed twice", async () => {
    const client = createClient();
    const twice = { window: "day", requests: 2 } as const;
    const caller = getCaller("shop", twice, twice);
    for (let count = 0; count < 2; count += 1) await call(client, request(), { caller });
    await toFailure(call(client, request(), { caller }));
  });
});
