/**
 * The classification of a provider's failures: for every status and provider the kind of the error, whether
 * it is retryable, and when. Each provider's error codes are in the tests of its adapter.
 */
import {
  ErrorKind,
  type InferenceError,
  NetworkError,
  ProviderError,
  type RetryPolicy,
  retry,
  type SDKError,
  StreamError,
  userMessage,
} from "outrigger";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { type CallMode, collect, requestTo, toFailure } from "./support/calls.ts";
import { type Column, type ColumnName, createFixture, type Fixture } from "./support/columns.ts";
import { testTable } from "./support/table.ts";

let fixture: Fixture;

beforeAll(async () => {
  fixture = await createFixture();
});
beforeEach(() => fixture.simulator.clearRequests());
afterAll(() => fixture[Symbol.asyncDispose]());

type Kind = keyof typeof ErrorKind;

/** The kind of error for a status. */
interface StatusMapping {
  readonly status: number;
  readonly kind: Kind;
  /** Kinds at providers whose error code is more specific than the status. */
  readonly overrides?: Partial<Record<ColumnName, Kind>>;
}

const mappings: readonly StatusMapping[] = [
  { status: 400, kind: "INVALID_REQUEST" },
  { status: 401, kind: "AUTHENTICATION" },
  { status: 402, kind: "QUOTA_EXCEEDED", overrides: { gemini: "INVALID_REQUEST" } },
  { status: 403, kind: "ACCESS_DENIED" },
  { status: 404, kind: "NOT_FOUND" },
  { status: 408, kind: "REQUEST_TIMEOUT" },
  { status: 409, kind: "PROVIDER" },
  { status: 413, kind: "CONTEXT_LENGTH", overrides: { gemini: "INVALID_REQUEST" } },
  { status: 418, kind: "INVALID_REQUEST" },
  { status: 422, kind: "INVALID_REQUEST" },
  { status: 429, kind: "RATE_LIMIT" },
  { status: 499, kind: "ABORT", overrides: { anthropic: "INVALID_REQUEST" } },
  { status: 500, kind: "SERVER" },
  {
    status: 501,
    kind: "INVALID_REQUEST",
    overrides: { openai: "SERVER", anthropic: "SERVER", compatible: "SERVER" },
  },
  { status: 502, kind: "SERVER" },
  { status: 503, kind: "SERVER" },
  { status: 504, kind: "SERVER", overrides: { anthropic: "REQUEST_TIMEOUT", gemini: "REQUEST_TIMEOUT" } },
  { status: 529, kind: "SERVER" },
];

/** Retryable kinds: all that are not caused by the request. */
const retryableKinds: ReadonlySet<Kind> = new Set(["REQUEST_TIMEOUT", "PROVIDER", "RATE_LIMIT", "SERVER"]);

testTable(
  "Status",
  mappings.map((mapping) => ({
    title: `${mapping.status} ${mapping.kind}, ${retryableKinds.has(mapping.kind) ? "retryable" : "final"}`,
    verify: (column) => verifyStatus(column, mapping),
  })),
);

testTable("Retries", [
  {
    title: "Failures that are not retryable are thrown at once",
    async verify(column) {
      for (const status of [400, 401, 402, 403, 404, 413, 422]) {
        const { waits, requests } = await attempt(column, `sim-text:status=${status}`);
        expect({ status, waits, requests }).toEqual({ status, waits: [], requests: 1 });
      }
    },
  },
  {
    title: "Retryable failures are retried",
    async verify(column) {
      for (const status of [409, 429, 500, 502, 503, 529]) {
        const { waits, requests } = await attempt(column, `sim-text:status=${status},retry_after=2`);
        expect({ status, waits, requests }).toEqual({ status, waits: [2000, 2000], requests: 3 });
      }
    },
  },
  {
    title: "retry-after-ms is honoured exactly",
    async verify(column) {
      const { error, waits } = await attempt(column, "sim-text:status=429,retry_after_ms=1500");
      expect(error?.retryAfter).toBe(1.5);
      expect(waits).toEqual([1500, 1500]);
    },
  },
  {
    title: "A delay above max_delay is reported instead of waited for",
    async verify(column) {
      const { error, waits, requests } = await attempt(column, "sim-text:status=429,retry_after=61");
      expect({ waits, requests }).toEqual({ waits: [], requests: 1 });
      expect(error).toMatchObject({ kind: ErrorKind.RATE_LIMIT, retryable: true, retryAfter: 61 });
    },
  },
  {
    title: "max_retries = 0 switches retries off",
    async verify(column) {
      expect(await attempt(column, "sim-text:status=503", { maxRetries: 0 })).toMatchObject({ requests: 1 });
    },
  },
  {
    title: "A socket that closes without an answer is NETWORK",
    async verify(column) {
      const { error, requests } = await attempt(column, "sim-text:drop=1");
      expect(error).toBeInstanceOf(NetworkError);
      expect(error).toMatchObject({ retryable: true, outputStarted: false });
      expect(requests).toBe(3);
    },
  },
  {
    title: "A stream that is cut is STREAM, and not retried",
    async verify(column) {
      const { error, requests } = await attempt(column, "sim-text:cut_events=8", {}, "stream");
      expect(error).toBeInstanceOf(StreamError);
      expect(error).toMatchObject({ retryable: true, outputStarted: true });
      expect(requests).toBe(1);
    },
  },
  {
    title: "A stream that ends cleanly but early is STREAM",
    async verify(column) {
      const { error, requests } = await attempt(column, "sim-text:end_without_terminal=1", {}, "stream");
      expect(error).toBeInstanceOf(StreamError);
      expect(error).toMatchObject({ retryable: true, outputStarted: true });
      expect(requests).toBe(1);
    },
  },
  {
    title: "A failure that is reported inside a stream keeps its kind",
    async verify(column) {
      const { error, requests } = await attempt(column, "sim-text:error_after=8", {}, "stream");
      expect(error).toBeInstanceOf(ProviderError);
      expect(error).toMatchObject({ kind: ErrorKind.SERVER, retryable: true, outputStarted: true });
      expect(requests).toBe(1);
    },
  },
  {
    title: "The error is in the stream's last event",
    async verify(column) {
      const error = await getErrorEvent(column, "sim-text:error_after=8");
      expect(error).toMatchObject({
        kind: ErrorKind.SERVER,
        outputStarted: true,
        providerFailure: { provider: column.name },
      });
    },
  },
]);

/** Delay before a retry, in seconds, that the failures of the first table report. */
const RETRY_AFTER = 3;

async function verifyStatus(column: Column, mapping: StatusMapping): Promise<void> {
  const byCode = { ...mapping, kind: mapping.overrides?.[column.name] ?? mapping.kind };
  await verifyFailure(column, "json", "complete", byCode);
  await verifyFailure(column, "json", "stream", byCode);
  // A proxy in front of the provider gives no information but the status.
  await verifyFailure(column, "html", "complete", mapping);
  await verifyFailure(column, "empty", "stream", mapping);
}

async function verifyFailure(
  column: Column,
  body: "json" | "html" | "empty",
  mode: CallMode,
  { status, kind }: StatusMapping,
): Promise<void> {
  const model = `sim-text:status=${status},retry_after=${RETRY_AFTER},error_body=${body}`;
  const { error } = await attempt(column, model, { maxRetries: 0 }, mode);
  // A used-up quota does not recover within a retry delay.
  const retryAfter = kind === "QUOTA_EXCEEDED" ? undefined : RETRY_AFTER;
  const retryable = retryableKinds.has(kind);
  expect(error).toMatchObject({ kind: ErrorKind[kind], retryable, retryAfter, outputStarted: false });
  if (error instanceof ProviderError)
    expect(error).toMatchObject({ provider: column.name, httpStatusCode: status });
}

/** The outcome of retrying until success or until the policy is exhausted. */
interface Attempts {
  readonly error: SDKError | undefined;
  /** Milliseconds of each wait; the waits are only recorded. */
  readonly waits: readonly number[];
  readonly requests: number;
}

async function attempt(
  column: Column,
  model: string,
  policy: Partial<RetryPolicy> = {},
  mode: CallMode = "complete",
): Promise<Attempts> {
  const { client, simulator } = fixture;
  simulator.clearRequests();
  const waits: number[] = [];
  const request = requestTo({ name: column.name, model }, { messages: [userMessage("Where are we?")] });
  const call = async () => (mode === "complete" ? client.complete(request) : collect(client.stream(request)));
  const wait = async (milliseconds: number) => void waits.push(milliseconds);
  const error = await toFailure(() => retry(call, policy, { wait }));
  return { error: error as SDKError | undefined, waits, requests: simulator.requests.length };
}

/** The failure in the last event of a stream. */
async function getErrorEvent({ name }: Column, model: string): Promise<InferenceError | undefined> {
  const request = requestTo({ name, model }, { messages: [userMessage("Where are we?")] });
  const seen: (InferenceError | undefined)[] = [];
  const reading = async () => {
    for await (const { event } of fixture.client.stream(request))
      seen.push(event.case === "error" ? event.value : undefined);
  };
  await toFailure(reading);
  return seen.at(-1);
}
