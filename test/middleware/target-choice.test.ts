/** The choice among the targets of an alias, by a clock of the test. Over providers it is in alias-routing.test.ts. */
import {
  AbortError,
  assistantMessage,
  type CallTarget,
  QuotaExceededError,
  RateLimitError,
  ServerError,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { toRequest } from "../../src/client/request-input.ts";
import type { CallOptions } from "../../src/core/adapter.ts";
import { NetworkError, type SDKError } from "../../src/core/errors.ts";
import type { ContentPart } from "../../src/gen/outrigger/v1/message_pb.ts";
import { createEjectionRule } from "../../src/middleware/outlier-ejection.ts";
import { refusal } from "../../src/middleware/refusals.ts";
import { TargetChoice, type TargetChoiceOptions } from "../../src/middleware/target-choice.ts";

const request = toRequest({ model: "m", messages: [userMessage("Hello")] });

/** A choice among targets, each written `provider/model`, with helpers that call them. */
function createChoice(names: readonly string[], changes: Partial<TargetChoiceOptions> = {}) {
  const targets = names.map((name): CallTarget => {
    const [provider = "", model = ""] = name.split("/");
    return { provider, model };
  });
  const clock = { now: 0 };
  const ejected: string[] = [];
  const observer = {
    ejected: (_alias: string, { provider }: CallTarget) => void ejected.push(provider),
  };
  const choice = new TargetChoice("fast", { targets, observer, ...changes }, () => clock.now);
  const options: CallOptions = { aliasTargets: targets };
  const begin = (provider: string, given: CallOptions = options) => {
    const target = targets.find((each) => each.provider === provider);
    const call = target && choice.begin({ ...request, ...target }, "complete", given);
    if (call === undefined) throw new Error(`no target of ${provider}`);
    return call;
  };
  const choose = (chosen = request) => {
    const { provider, model } = choice.choose(chosen, "complete", options);
    return `${provider}/${model}`;
  };
  return { choice, clock, ejected, begin, choose, options };
}

const down = () => new ServerError("down", { provider: "one" });

describe("outlier ejection", () => {
  it("does not count calls that end while their target is left out", () => {
    const ejection = createEjectionRule({ consecutiveFailures: 2, baseTime: 5, maxEjected: 0.5 });
    const { clock, ejected, begin } = createChoice(["one/m", "two/m"], { ejection });
    const [first, second, third] = [begin("one"), begin("one"), begin("one")];
    first.end(down());
    second.end(down());
    expect(ejected).toEqual(["one"]);
    third.end(down());
    clock.now = 5000;
    begin("one").end(down());
    expect(ejected).toEqual(["one"]);
    begin("one").end(down());
    expect(ejected).toEqual(["one", "one"]);
  });

  it("rounds the share of the targets down", () => {
    const ejection = createEjectionRule({ consecutiveFailures: 1, maxEjected: 0.5 });
    const { ejected, begin } = createChoice(["one/m", "two/m", "three/m"], { ejection });
    begin("one").end(down());
    begin("two").end(down());
    expect(ejected).toEqual(["one"]);
  });

  it("does not count calls that their callers left, or that were refused here", () => {
    const ejection = createEjectionRule({ consecutiveFailures: 1, minCalls: 1 });
    const { ejected, begin } = createChoice(["one/m", "two/m"], { ejection });
    begin("one").leave();
    begin("one").end(new AbortError("left"));
    begin("one").end(refusal(new RateLimitError("too many calls")));
    expect(ejected).toEqual([]);
  });
});

describe("the strategy latency", () => {
  it.each<[string, SDKError]>([
    ["is down", down()],
    ["limits the rate", new RateLimitError("slow down", { provider: "one" })],
    ["has no credit left", new QuotaExceededError("pay", { provider: "one" })],
    ["cannot be reached", new NetworkError("refused")],
  ])("does not treat a target as fast if it %s at once", (_name, error) => {
    const { clock, begin, choose } = createChoice(["one/m", "two/m"], { choose: "latency" });
    const failed = begin("one");
    clock.now += 1;
    failed.end(error);
    const answered = begin("two");
    clock.now += 9000;
    answered.output();
    answered.end(undefined);
    expect(choose()).toBe("two/m");
  });

  it("counts every ended call as no longer pending, also one that its reader left", () => {
    for (const end of ["leave", "end"] as const) {
      const { clock, begin, choose } = createChoice(["one/m", "two/m"], { choose: "latency" });
      const two = begin("two");
      clock.now += 10;
      two.output();
      two.end(undefined);
      const one = begin("one");
      expect(choose()).toBe("two/m");
      if (end === "leave") one.leave();
      else one.end(new AbortError("left"));
      expect(choose()).toBe("one/m");
    }
  });
});

it("skips a target for as long as its circuit breaker is open", () => {
  const { clock, begin, choose } = createChoice(["one/m", "two/m"]);
  begin("one").end(refusal(new ServerError("open", { retryAfter: 5 })));
  expect([choose(), choose(), choose()]).toEqual(["two/m", "two/m", "two/m"]);
  clock.now = 4999;
  expect(choose()).toBe("two/m");
  clock.now = 5000;
  expect([choose(), choose()]).toContain("one/m");
  begin("one").end(refusal(new ServerError("open")));
  expect([choose(), choose()]).toContain("one/m");
});

it("sends failed calls to targets that are left out for a while only after the others", () => {
  const { choice, begin, options } = createChoice(["one/m", "two/m", "three/m"]);
  begin("two").end(refusal(new ServerError("open", { retryAfter: 5 })));
  const next = choice.listNext({ ...request, provider: "one", model: "m" }, options);
  expect(next.map(({ provider }) => provider)).toEqual(["three", "two"]);
});

it("continues a conversation with the model that wrote its latest state, or another one of its provider", () => {
  const { choose } = createChoice(["one/m", "two/small", "two/large"]);
  const part = (provider: string, model: string): Partial<ContentPart> => ({
    part: { case: "text", value: "Hi" },
    providerState: { $typeName: "outrigger.v1.ProviderState", provider, model, dataJson: "{}" },
  });
  const continued = (...states: (readonly [provider: string, model: string])[]) => {
    const answers = states.map(([provider, model]) =>
      assistantMessage([part(provider, model) as ContentPart]),
    );
    return choose({ ...request, messages: [...request.messages, ...answers, userMessage("And now?")] });
  };
  for (let left = 3; left > 0; left -= 1) {
    expect(continued(["two", "large-2026-01-01"])).toBe("two/large");
    expect(continued(["two", "retired"])).toBe("two/small");
    expect(continued(["two", "large"], ["one", "m"])).toBe("one/m");
  }
});

it("embeds with the requested model only, whatever key conversations are kept by", () => {
  const { choice, options } = createChoice(["one/m", "two/other"], { stickyBy: ["metadata.user"] });
  const operation = { kind: "embed", texts: ["x"] } as unknown as CallOptions["operation"];
  for (const user of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
    const embedding = { ...request, metadata: { user } };
    expect(choice.choose(embedding, "complete", { ...options, operation })).toMatchObject({ model: "m" });
  }
});
