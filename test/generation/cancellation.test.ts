/** A generation that is cancelled ends at once, in whatever phase it is, and leaves nothing behind. */
import { getEventListeners } from "node:events";
import {
  AbortError,
  functionTool,
  type GenerateOptions,
  generate,
  RequestTimeoutError,
  type SDKError,
  stream,
} from "outrigger";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { waitUntil } from "../kit/http/servers.ts";
import { toFailure } from "../providers/support/calls.ts";
import { columns, createFixture, type Fixture } from "../providers/support/columns.ts";
import { createWeather, optionsFor } from "./support/weather.ts";

const prompt = "What is the weather in Paris?";

/** A phase of a generation: how to reach the phase, and stay there until the signal is aborted. */
interface Phase {
  readonly title: string;
  /** Model string of the simulator. */
  readonly model: string;
  /** Calls `onReached` when the phase is reached; later phases are never. */
  readonly options: (onReached: () => void) => Partial<GenerateOptions>;
  /** Whether the simulator sees the phase by itself. */
  readonly seenBySimulator?: boolean;
}

/** Waits forever, in a way that is not a timer and ignores the signal. */
function forever(onReached: () => void): Promise<never> {
  onReached();
  return new Promise(() => {});
}

const PHASES: readonly Phase[] = [
  {
    title: "before the headers",
    model: "sim-text:delay_ms=60000",
    options: () => ({}),
    seenBySimulator: true,
  },
  { title: "while the model writes", model: "sim-long:rate=5", options: () => ({}), seenBySimulator: true },
  {
    title: "in a wait between retries",
    model: "sim-text:status=503",
    options: (onReached) => ({ onRetry: onReached, retry: { baseDelay: 60 } }),
  },
  {
    title: "while tools are executed",
    model: "sim-tools:calls=2",
    options: (onReached) => ({
      tools: [functionTool({ name: "get_weather", execute: () => forever(onReached) })],
    }),
  },
  {
    title: "while a call is repaired",
    model: "sim-tools",
    options: (onReached) => ({
      tools: [
        functionTool({
          name: "get_weather",
          parameters: z.object({ city: z.string().refine(() => false) }),
          execute: () => "not reached",
        }),
      ],
      repairToolCall: () => forever(onReached),
    }),
  },
  {
    title: "between two steps",
    model: "sim-tools",
    options: (onReached) => ({ tools: [createWeather().tool], stopWhen: () => forever(onReached) }),
  },
];

const WAYS = [
  ["generate()", generate],
  ["stream()", (options: GenerateOptions) => stream(options).result()],
] as const;

/** Reasons of a signal, and the errors that they become. */
const REASONS: readonly (readonly [string, unknown, new (...args: never[]) => SDKError])[] = [
  ["without a reason", undefined, AbortError],
  ["with an error of ours", new RequestTimeoutError("the caller's deadline"), RequestTimeoutError],
];

let fixture: Fixture;

beforeAll(async () => {
  fixture = await createFixture();
});

beforeEach(() => fixture.simulator.clearRequests());

afterAll(() => fixture[Symbol.asyncDispose]());

describe.each(columns)("A generation over $title that is cancelled", (column) => {
  describe.each(WAYS)("%s", (_way, run) => {
    it.each(PHASES)("ends at once $title", async ({ model, options, seenBySimulator }) => {
      for (const [, reason, expected] of REASONS) {
        fixture.simulator.clearRequests();
        const timers = timersNow();
        const controller = new AbortController();
        const { promise: reached, resolve: onReached } = Promise.withResolvers<void>();
        const callOptions = { prompt, model, signal: controller.signal, ...options(onReached) };
        const failure = toFailure(() => run(optionsFor(column, fixture, callOptions)));
        await (seenBySimulator ? fixture.simulator.waitForRequest() : reached);
        controller.abort(reason);
        expect(await failure).toBeInstanceOf(expected);
        expect(getEventListeners(controller.signal, "abort")).toEqual([]);
        await waitUntil(() => fixture.requests.every(({ closedAt }) => closedAt !== undefined));
        await waitUntil(() => timersNow() <= timers);
      }
    });
  });

  it("releases all resources when the loop over a stream breaks early", async () => {
    const { signal } = new AbortController();
    for await (const { event } of stream(
      optionsFor(column, fixture, { prompt, model: "sim-long:rate=5", signal }),
    ))
      if (event.case === "textDelta") break;
    expect(await fixture.simulator.waitForClose()).toMatchObject({ aborted: true });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

it.each(WAYS)("A generation that fails leaves no timer and no listener behind, by %s", async (_way, run) => {
  const [column] = columns;
  if (column === undefined) throw new Error("there are no columns");
  const timers = timersNow();
  const { signal } = new AbortController();
  const timeout = { totalMs: 60_000, perStepMs: 50_000 };
  const options = { prompt, model: "sim-text:status=503", timeout, signal, retry: { baseDelay: 0.001 } };
  await toFailure(() => run(optionsFor(column, fixture, options)));
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await waitUntil(() => timersNow() <= timers);
});

describe("A generation that succeeds", () => {
  it.each(WAYS)("leaves no timer and no listener behind, by %s", async (_way, run) => {
    const [column] = columns;
    if (column === undefined) throw new Error("there are no columns");
    const timers = timersNow();
    const { signal } = new AbortController();
    const timeout = { totalMs: 60_000, perStepMs: 50_000, perToolMs: 40_000 };
    const callOptions = {
      prompt,
      model: "sim-tools:calls=3,rounds=2",
      maxToolRounds: 3,
      tools: [createWeather().tool],
    };
    const result = await run(optionsFor(column, fixture, { ...callOptions, timeout, signal }));
    expect(result.steps).toHaveLength(3);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await waitUntil(() => timersNow() <= timers);
  });

  it("does not abort the signal that its tools were given", async () => {
    const [column] = columns;
    if (column === undefined) throw new Error("there are no columns");
    const signals: AbortSignal[] = [];
    const tool = functionTool({
      name: "get_weather",
      execute: (_args, { signal }) => void signals.push(signal),
    });
    await generate(optionsFor(column, fixture, { prompt, model: "sim-tools", tools: [tool] }));
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });
});

describe("A tool", () => {
  it("gets the signal that the generation was cancelled", async () => {
    const [column] = columns;
    if (column === undefined) throw new Error("there are no columns");
    const controller = new AbortController();
    const told = Promise.withResolvers<unknown>();
    const tool = functionTool({
      name: "get_weather",
      execute: (_args, { signal }) => {
        signal.addEventListener("abort", () => told.resolve(signal.reason));
        controller.abort(new AbortError("the user left"));
        return new Promise(() => {});
      },
    });
    const callOptions = { prompt, model: "sim-tools", tools: [tool], signal: controller.signal };
    await expect(generate(optionsFor(column, fixture, callOptions))).rejects.toThrow("the user left");
    expect(String(await told.promise)).toContain("the user left");
  });
});

/** Counts the timers of this process that wait. The number of timers of connections stays the same. */
function timersNow(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
}
