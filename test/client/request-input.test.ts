/** The forms that a request has in TypeScript and not in the contract. */

import { durationMs } from "@bufbuild/protobuf/wkt";
import {
  Client,
  ConfigurationError,
  InvalidRequestError,
  RateLimitError,
  type Response,
  toolChoice,
  userMessage,
} from "outrigger";
import { describe, expect, it } from "vitest";
import { type RequestInput, toRequest } from "../../src/client/request-input.ts";
import { ScriptedAdapter } from "./support/scripted-adapter.ts";

const base = { model: "m", messages: [userMessage("hi")] };

/** Returns the mistakes in an input that may come from JavaScript. */
function getViolations(input: object): string[] {
  try {
    toRequest({ ...base, ...input });
    return [];
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) throw error;
    return error.violations.map(({ field, description }) => `${field}: ${description}`);
  }
}

describe("timeouts", () => {
  it("are milliseconds, and durations of the contract afterwards", () => {
    const { timeouts } = toRequest({ ...base, timeouts: { connectMs: 250, requestMs: 90_500.5 } });
    expect(timeouts?.connect && durationMs(timeouts.connect)).toBe(250);
    expect(timeouts?.request && durationMs(timeouts.request)).toBe(90_501);
    expect(timeouts?.betweenBytes).toBeUndefined();
  });

  it("may be 0 or left out, each by itself", () => {
    const limits = { betweenBytesMs: 0, connectMs: undefined } as { betweenBytesMs: number };
    const { timeouts } = toRequest({ ...base, timeouts: limits });
    expect(timeouts?.betweenBytes && durationMs(timeouts.betweenBytes)).toBe(0);
    expect([timeouts?.connect, timeouts?.request]).toEqual([undefined, undefined]);
    expect(toRequest({ ...base, timeouts: undefined }).timeouts).toBeUndefined();
  });

  it("may be durations, as a stored request has them", () => {
    const first = toRequest({ ...base, timeouts: { requestMs: 5 } });
    expect(toRequest(first)).toBe(first);
    const { timeouts } = first;
    expect(toRequest({ ...base, timeouts }).timeouts).toEqual(timeouts);
  });

  it.each([
    [
      "a negative number",
      { requestMs: -1 },
      "timeouts.requestMs: expected milliseconds, at least 0, found -1",
    ],
    ["NaN", { connectMs: Number.NaN }, "timeouts.connectMs: expected milliseconds, at least 0, found NaN"],
    [
      "no end",
      { requestMs: Infinity },
      "timeouts.requestMs: expected milliseconds, at least 0, found Infinity",
    ],
    ["a text for all", "5s", "timeouts: expected an object (Timeouts), found a string"],
    ["a text", { requestMs: "5s" }, "timeouts.requestMs: expected milliseconds, at least 0, found a string"],
    [
      "a number alone",
      { request: 5 },
      "timeouts.request: expected a Duration, found 5; requestMs takes milliseconds",
    ],
  ])("are rejected by name for %s", (_what, timeouts, violation) => {
    expect(getViolations({ timeouts })).toEqual([violation]);
  });
});

describe("providerOptions", () => {
  it("are objects, and JSON text of the contract afterwards", () => {
    const input: RequestInput = {
      ...base,
      providerOptions: { openai: { service_tier: "flex", seed: 1n } },
      providerOptionsJson: { gemini: "{}" },
    };
    expect(toRequest(input).providerOptionsJson).toEqual({
      gemini: "{}",
      openai: '{"service_tier":"flex","seed":1}',
    });
  });

  it.each([
    ["no object", { providerOptions: "x" }, ["providerOptions: expected an object, found a string"]],
    [
      "no object for a provider",
      { providerOptions: { a: 1 } },
      ['providerOptions["a"]: expected an object, found a number'],
    ],
    [
      "no object for a provider with a long name",
      { providerOptions: { ["p".repeat(60)]: 1 } },
      [`providerOptions["${"p".repeat(48)}"]: expected an object, found a number`],
    ],
    [
      "the same provider twice",
      { providerOptions: { a: {} }, providerOptionsJson: { a: "{}" } },
      ['providerOptions["a"]: is also in providerOptionsJson, expected it in only one of them'],
    ],
  ])("are rejected by name for %s", (_what, input, violations) => {
    expect(getViolations(input)).toEqual(violations);
  });
});

describe("the fields that errors name", () => {
  const providers = { one: new ScriptedAdapter("one") };
  const failure = async (call: Promise<Response>) => {
    const error: unknown = await call.catch((thrown: unknown) => thrown);
    if (!(error instanceof InvalidRequestError))
      throw new Error(`expected an invalid request, found ${error}`);
    return error;
  };

  it("are named as TypeScript does, in complete() and stream()", async () => {
    const client = new Client({ providers });
    const request = { ...base, toolChoice: toolChoice("required") };
    for (const call of [client.complete(request), client.stream(request).final()]) {
      const { violations, message } = await failure(call);
      expect(violations.map(({ field }) => field)).toEqual(["toolChoice.mode"]);
      expect(message).toMatch(/^toolChoice\.mode: /);
    }
  });

  it("keep the caller's words in the keys of maps", async () => {
    const call = new Client({ providers }).complete({ ...base, providerOptionsJson: { my_account: "[" } });
    expect((await failure(call)).message).toMatch(/^providerOptionsJson\["my_account"\]: /);
  });

  it("are named as in the contract if the client is asked to", async () => {
    const client = new Client({ providers, fieldPaths: "contract" });
    const { violations } = await failure(client.complete({ ...base, toolChoice: toolChoice("required") }));
    expect(violations.map(({ field }) => field)).toEqual(["tool_choice.mode"]);
  });

  it("are named as TypeScript does, but the provider's message is repeated", async () => {
    const violations = [{ field: "top_p", description: "is too high" }];
    const error = new InvalidRequestError("top_p: is too high", { provider: "one", violations });
    const one = new ScriptedAdapter("one", { failures: [error] });
    const thrown = await failure(new Client({ providers: { one } }).complete(base));
    expect(thrown.violations[0]?.field).toBe("topP");
    expect(thrown.message).toBe("top_p: is too high");
  });

  it("leave errors without fields and errors of others as they are", async () => {
    const [ours, theirs] = [new RateLimitError("slow"), new TypeError("theirs")];
    for (const error of [ours, theirs]) {
      const client = new Client({
        providers: { one: new ScriptedAdapter("one") },
        middleware: [() => Promise.reject(error)],
      });
      await expect(client.complete(base)).rejects.toBe(error);
    }
    const stream = (): never => {
      throw theirs;
    };
    const client = new Client({ providers, middleware: [{ stream }] });
    await expect(client.stream(base).final()).rejects.toBe(theirs);
  });
});

describe("complete()", () => {
  it("rejects a response of a middleware that is not whole", async () => {
    const client = new Client({
      providers: { one: new ScriptedAdapter("one") },
      middleware: [
        async (request, next) => {
          const { message: _, ...rest } = await next(request);
          return rest;
        },
      ],
    });
    const call = client.complete(base);
    await expect(call).rejects.toThrow(ConfigurationError);
    await expect(call).rejects.toThrow("found no message");
  });
});
