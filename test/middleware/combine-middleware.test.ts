import { Client, createCache, type Middleware, textOf, userMessage } from "outrigger";
import { describe, expect, it } from "vitest";
import type { MiddlewareMethods } from "../../src/client/middleware.ts";
import { isCacheHit } from "../../src/core/response.ts";
import { combineMiddleware } from "../../src/middleware/combine-middleware.ts";
import { ScriptedAdapter } from "../client/support/scripted-adapter.ts";
import { calls, requestFor } from "./support/providers.ts";

/** Notes its name on the way in. */
function note(name: string, seen: string[]): MiddlewareMethods {
  return {
    complete: (request, next) => {
      seen.push(name);
      return next(request);
    },
    stream: (request, next) => {
      seen.push(name);
      return next(request);
    },
  };
}

describe.each(calls)("combineMiddleware() around %s", (_kind, call) => {
  it.each([0, 1, 2, 3])("calls %i in their order", async (count) => {
    const seen: string[] = [];
    const names = ["a", "b", "c"].slice(0, count);
    const combined = combineMiddleware(names.map((name) => note(name, seen)));
    const client = new Client({ providers: { one: new ScriptedAdapter("one") }, middleware: [combined] });
    expect(textOf(await call(client, requestFor("m")))).toBe("one m");
    expect(seen).toEqual(names);
  });
});

describe("isCacheHit()", () => {
  it("distinguishes cached answers from those of a provider", async () => {
    const hits: boolean[] = [];
    const observe: Middleware = async (request, next) => {
      const response = await next(request);
      hits.push(isCacheHit(response));
      return response;
    };
    const one = new ScriptedAdapter("one");
    const client = new Client({ providers: { one }, middleware: [observe, createCache()] });
    const request = { model: "m", messages: [userMessage("hi")] };
    await client.complete(request);
    await client.complete(request);
    expect(hits).toEqual([false, true]);
  });
});
