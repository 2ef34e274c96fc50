/** The specification's checklist for errors and retries of generations, over every wire API. */
import {
  AccessDeniedError,
  AuthenticationError,
  ContentFilterError,
  ContextLengthError,
  type GenerateOptions,
  generate,
  InvalidRequestError,
  NotFoundError,
  QuotaExceededError,
  RateLimitError,
  SDKError,
  ServerError,
  StreamError,
  stream,
} from "outrigger";
import { expect } from "vitest";
import { toFailure } from "../providers/support/calls.ts";
import { createFixture } from "../providers/support/columns.ts";
import { testTable } from "../providers/support/table.ts";
import { createWeather, optionsFor } from "./support/weather.ts";

const prompt = "What is an outrigger?";

/** The error for a status and the provider's code, and whether a retry may help. */
const FAILURES = [
  ["status=400", InvalidRequestError, false],
  ["status=401", AuthenticationError, false],
  ["status=403", AccessDeniedError, false],
  ["status=404", NotFoundError, false],
  ["status=400,code=context_length_exceeded", ContextLengthError, false],
  ["status=429", RateLimitError, true],
  ["status=429,code=insufficient_quota", QuotaExceededError, false],
  ["status=500", ServerError, true],
  ["status=503", ServerError, true],
] as const;

/** A policy that records its delays and does not wait long. */
function noting() {
  const told: [name: string, attempt: number, delay: number][] = [];
  const onRetry: GenerateOptions["onRetry"] = (error, attempt, delay) =>
    void told.push([error.name, attempt, delay]);
  return { told, onRetry };
}

const quick = { baseDelay: 0.001, jitter: false };

testTable("Errors and retries", [
  {
    title: "Each status is an error of its class, and says whether a retry may help",
    async verify(column) {
      for (const [fault, expected, retryable] of FAILURES) {
        await using fixture = await createFixture(`sim-text:${fault}`);
        const failure = await toFailure(() =>
          generate(optionsFor(column, fixture, { prompt, maxRetries: 0 })),
        );
        expect(failure).toBeInstanceOf(expected);
        expect(failure).toMatchObject({ retryable, provider: column.name });
      }
    },
  },
  {
    title: "Failures that a retry cannot help are thrown at once",
    async verify(column) {
      for (const [fault, expected] of FAILURES.filter(([, , retryable]) => !retryable)) {
        await using fixture = await createFixture(`sim-text:${fault}`);
        const { told, onRetry } = noting();
        const failure = await toFailure(() =>
          stream(optionsFor(column, fixture, { prompt, retry: quick, onRetry })).result(),
        );
        expect(failure).toBeInstanceOf(expected);
        expect([told, fixture.requests.length]).toEqual([[], 1]);
      }
    },
  },
  {
    title: "A provider that gives up by itself is asked again",
    async verify(column) {
      for (const status of [408, 504]) {
        await using fixture = await createFixture(`sim-text:status=${status},times=1`);
        for (const run of [generate, (options: GenerateOptions) => stream(options).result()]) {
          fixture.simulator.clearRequests();
          const { text, attempts } = await run(optionsFor(column, fixture, { prompt, retry: quick }));
          expect([text === "", attempts.length, fixture.requests.length]).toEqual([false, 2, 2]);
          expect(attempts[0]?.error).toMatchObject({
            providerFailure: { provider: column.name, httpStatusCode: status },
          });
        }
      }
    },
  },
  {
    title: "Delays grow from retry to retry, with jitter unless it is switched off",
    async verify(column) {
      const retry = { baseDelay: 0.004, backoffMultiplier: 2 };
      await using fixture = await createFixture("sim-text:status=503,times=3");
      const exact = noting();
      const policy = { retry: { ...retry, jitter: false }, maxRetries: 3, onRetry: exact.onRetry };
      await generate(optionsFor(column, fixture, { prompt, ...policy }));
      expect(exact.told.map(([, , delay]) => delay)).toEqual([0.004, 0.008, 0.016]);
      expect(exact.told.map(([name, attempt]) => [name, attempt])).toEqual(
        [0, 1, 2].map((n) => ["ServerError", n]),
      );
      fixture.simulator.clearRequests();
      const varied = noting();
      await generate(optionsFor(column, fixture, { prompt, retry, maxRetries: 3, onRetry: varied.onRetry }));
      for (const [, attempt, delay] of varied.told) {
        const base = 0.004 * 2 ** attempt;
        expect(delay).toBeGreaterThanOrEqual(base * 0.5);
        expect(delay).toBeLessThan(base * 1.5);
      }
    },
  },
  {
    title: "The delay that the provider asks for replaces the computed one",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=429,retry_after_ms=30,times=1");
      const { told, onRetry } = noting();
      await generate(optionsFor(column, fixture, { prompt, retry: { ...quick, baseDelay: 5 }, onRetry }));
      expect(told).toEqual([["RateLimitError", 0, 0.03]]);
    },
  },
  {
    title: "A delay over the longest one is no retry",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=429,retry_after=61");
      const failure = await toFailure(() => generate(optionsFor(column, fixture, { prompt })));
      expect(failure).toMatchObject({ name: "RateLimitError", retryAfter: 61 });
      expect(fixture.requests).toHaveLength(1);
    },
  },
  {
    title: "maxRetries 0 disables retries",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=503");
      const options = optionsFor(column, fixture, { prompt, maxRetries: 0 });
      expect(await toFailure(() => generate(options))).toBeInstanceOf(ServerError);
      expect(await toFailure(() => stream(options).result())).toBeInstanceOf(ServerError);
      expect(fixture.requests).toHaveLength(2);
    },
  },
  {
    title: "Rate limits are retried unseen, and listed among the attempts",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=429,retry_after_ms=2,times=2");
      const result = await generate(optionsFor(column, fixture, { prompt }));
      expect(result.text).toContain(prompt);
      const kinds = result.attempts.map(({ error, provider }) => [error?.message !== undefined, provider]);
      expect(kinds).toEqual([
        [true, column.name],
        [true, column.name],
        [false, column.name],
      ]);
    },
  },
  {
    title: "Each step is retried separately: no tool is executed twice",
    async verify(column) {
      await using fixture = await createFixture("sim-tools:rounds=2");
      const weather = createWeather();
      let calls = 0;
      const client: GenerateOptions["client"] = {
        stream: (request, options) => fixture.client.stream(request, options),
        complete(request, options) {
          calls += 1;
          // The second and the third step fail once each.
          if (calls === 2 || calls === 4) throw new ServerError("overloaded");
          return fixture.client.complete(request, options);
        },
      };
      const options = { prompt: "What is the weather in Lima?", tools: [weather.tool], maxToolRounds: 2 };
      const result = await generate(optionsFor(column, fixture, { ...options, client, retry: quick }));
      expect(result.attempts.map(({ step, error }) => [step, error === undefined])).toEqual([
        [1, true],
        [2, false],
        [2, true],
        [3, false],
        [3, true],
      ]);
      expect([weather.asked.length, fixture.requests.length]).toEqual([2, 3]);
    },
  },
  {
    title: "A stream is not retried after its first event",
    async verify(column) {
      await using fixture = await createFixture("sim-long:cut_events=12");
      const result = stream(optionsFor(column, fixture, { prompt, retry: quick }));
      const cases: (string | undefined)[] = [];
      const read = async () => {
        for await (const { event } of result) cases.push(event.case);
      };
      expect(await toFailure(read)).toBeInstanceOf(StreamError);
      expect([cases[0], cases.at(-1)]).toEqual(["streamStart", "error"]);
      expect(await toFailure(() => result.response())).toBeInstanceOf(StreamError);
      expect(fixture.requests).toHaveLength(1);
    },
  },
  {
    title: "A stream is retried before its first event",
    async verify(column) {
      await using fixture = await createFixture("sim-text:status=503,times=2");
      const result = await stream(optionsFor(column, fixture, { prompt, retry: quick })).result();
      expect(result.text).toContain(prompt);
      expect(fixture.requests).toHaveLength(3);
    },
  },
  {
    title: "A failure after the first step has the usage of all steps",
    async verify(column) {
      await using fixture = await createFixture("sim-tools:rounds=1");
      const { tool } = createWeather();
      let calls = 0;
      const client: GenerateOptions["client"] = {
        stream: (request, options) => fixture.client.stream(request, options),
        async complete(request, options) {
          calls += 1;
          if (calls > 1) throw new ContentFilterError("blocked");
          return fixture.client.complete(request, options);
        },
      };
      const options = { prompt: "What is the weather in Lima?", tools: [tool], client };
      const failure = await toFailure(() => generate(optionsFor(column, fixture, options)));
      expect(failure).toBeInstanceOf(SDKError);
      expect(failure).toMatchObject({ name: "ContentFilterError", outputStarted: true });
      expect(failure).toMatchObject({ usage: { outputTokens: expect.any(Number) } });
    },
  },
]);
