/**
 * What becomes of a provider's failure (specification §6.3, §6.4 and §8.8): for every status and
 * provider the kind of the error, whether a retry is worth it, and when. The words of each
 * provider's own codes are in the tests of its adapter.
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
import { collect, failureOf, type Manner, requestTo } from "./support/asking.ts";
import { type Column, type ColumnName, type Stage, setStage } from "./support/columns.ts";
import { proveTable } from "./support/table.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await setStage();
});
beforeEach(() => stage.simulator.clearRequests());
afterAll(() => stage[Symbol.asyncDispose]());

type Kind = keyof typeof ErrorKind;

/** What a status means. */
interface Meaning {
  readonly status: number;
  readonly kind: Kind;
  /** Kinds at providers whose own word for the failure says more than its status. */
  readonly but?: Partial<Record<ColumnName, Kind>>;
}

const meanings: readonly Meaning[] = [
  { status: 400, kind: "INVALID_REQUEST" },
  { status: 401, kind: "AUTHENTICATION" },
  { status: 402, kind: "QUOTA_EXCEEDED", but: { gemini: "INVALID_REQUEST" } },
  { status: 403, kind: "ACCESS_DENIED" },
  { status: 404, kind: "NOT_FOUND" },
  { status: 408, kind: "REQUEST_TIMEOUT", but: { gemini: "INVALID_REQUEST" } },
  { status: 409, kind: "PROVIDER" },
  { status: 413, kind: "CONTEXT_LENGTH", but: { gemini: "INVALID_REQUEST" } },
  { status: 418, kind: "INVALID_REQUEST" },
  { status: 422, kind: "INVALID_REQUEST" },
  { status: 429, kind: "RATE_LIMIT" },
  { status: 499, kind: "ABORT", but: { anthropic: "INVALID_REQUEST" } },
  { status: 500, kind: "SERVER" },
  {
    status: 501,
    kind: "INVALID_REQUEST",
    but: { openai: "SERVER", anthropic: "SERVER", compatible: "SERVER" },
  },
  { status: 502, kind: "SERVER" },
  { status: 503, kind: "SERVER" },
  { status: 504, kind: "SERVER", but: { anthropic: "REQUEST_TIMEOUT", gemini: "REQUEST_TIMEOUT" } },
  { status: 529, kind: "SERVER" },
];

/** Kinds that may pass: all that the client is not to blame for. */
const retryableKinds: ReadonlySet<Kind> = new Set(["REQUEST_TIMEOUT", "PROVIDER", "RATE_LIMIT", "SERVER"]);

proveTable(
  "§8.8 Status",
  meanings.map((meaning) => ({
    title: `${meaning.status} ${meaning.kind}, ${retryableKinds.has(meaning.kind) ? "retryable" : "final"}`,
    prove: (column) => proveStatus(column, meaning),
  })),
);

proveTable("§8.8 Retries", [
  {
    title: "Failures that are final are thrown at once",
    async prove(column) {
      for (const status of [400, 401, 402, 403, 404, 413, 422]) {
        const { waits, requests } = await attempt(column, `sim-text:status=${status}`);
        expect({ status, waits, requests }).toEqual({ status, waits: [], requests: 1 });
      }
    },
  },
  {
    title: "Failures that may pass are tried again",
    async prove(column) {
      for (const status of [409, 429, 500, 502, 503, 529]) {
        const { waits, requests } = await attempt(column, `sim-text:status=${status},retry_after=2`);
        expect({ status, waits, requests }).toEqual({ status, waits: [2000, 2000], requests: 3 });
      }
    },
  },
  {
    title: "retry-after-ms is exact",
    async prove(column) {
      const { error, waits } = await attempt(column, "sim-text:status=429,retry_after_ms=1500");
      expect(error?.retryAfter).toBe(1.5);
      expect(waits).toEqual([1500, 1500]);
    },
  },
  {
    title: "A delay above max_delay is told, not waited for",
    async prove(column) {
      const { error, waits, requests } = await attempt(column, "sim-text:status=429,retry_after=61");
      expect({ waits, requests }).toEqual({ waits: [], requests: 1 });
      expect(error).toMatchObject({ kind: ErrorKind.RATE_LIMIT, retryable: true, retryAfter: 61 });
    },
  },
  {
    title: "max_retries = 0 switches retries off",
    async prove(column) {
      expect(await attempt(column, "sim-text:status=503", { maxRetries: 0 })).toMatchObject({ requests: 1 });
    },
  },
  {
    title: "A socket that closes without an answer is NETWORK",
    async prove(column) {
      const { error, requests } = await attempt(column, "sim-text:drop=1");
      expect(error).toBeInstanceOf(NetworkError);
      expect(error).toMatchObject({ retryable: true, outputStarted: false });
      expect(requests).toBe(3);
    },
  },
  {
    title: "A stream that is cut is STREAM, and not begun anew",
    async prove(column) {
      const { error, requests } = await attempt(column, "sim-text:cut_events=8", {}, "stream");
      expect(error).toBeInstanceOf(StreamError);
      expect(error).toMatchObject({ retryable: true, outputStarted: true });
      expect(requests).toBe(1);
    },
  },
  {
    title: "A stream that ends early in good order is STREAM",
    async prove(column) {
      const { error, requests } = await attempt(column, "sim-text:end_without_terminal=1", {}, "stream");
      expect(error).toBeInstanceOf(StreamError);
      expect(error).toMatchObject({ retryable: true, outputStarted: true });
      expect(requests).toBe(1);
    },
  },
  {
    title: "A failure told inside a stream keeps its kind",
    async prove(column) {
      const { error, requests } = await attempt(column, "sim-text:error_after=8", {}, "stream");
      expect(error).toBeInstanceOf(ProviderError);
      expect(error).toMatchObject({ kind: ErrorKind.SERVER, retryable: true, outputStarted: true });
      expect(requests).toBe(1);
    },
  },
  {
    title: "The error travels in the stream's last event",
    async prove(column) {
      const error = await errorEventOf(column, "sim-text:error_after=8");
      expect(error).toMatchObject({
        kind: ErrorKind.SERVER,
        outputStarted: true,
        providerFailure: { provider: column.name },
      });
    },
  },
]);

/** Seconds after which the failures of the first table ask to be tried again. */
const RETRY_AFTER = 3;

async function proveStatus(column: Column, meaning: Meaning): Promise<void> {
  const told = { ...meaning, kind: meaning.but?.[column.name] ?? meaning.kind };
  await proveFailure(column, "json", "complete", told);
  await proveFailure(column, "json", "stream", told);
  // A proxy in front of the provider says no more than the status.
  await proveFailure(column, "html", "complete", meaning);
  await proveFailure(column, "empty", "stream", meaning);
}

async function proveFailure(
  column: Column,
  body: "json" | "html" | "empty",
  manner: Manner,
  { status, kind }: Meaning,
): Promise<void> {
  const model = `sim-text:status=${status},retry_after=${RETRY_AFTER},error_body=${body}`;
  const { error } = await attempt(column, model, { maxRetries: 0 }, manner);
  // Waiting does not bring money back.
  const retryAfter = kind === "QUOTA_EXCEEDED" ? undefined : RETRY_AFTER;
  const retryable = retryableKinds.has(kind);
  expect(error).toMatchObject({ kind: ErrorKind[kind], retryable, retryAfter, outputStarted: false });
  if (error instanceof ProviderError)
    expect(error).toMatchObject({ provider: column.name, httpStatusCode: status });
}

/** What came of trying until it succeeds or the policy is used up. */
interface Attempts {
  readonly error: SDKError | undefined;
  /** Milliseconds of each wait; nothing is really waited for. */
  readonly waits: readonly number[];
  readonly requests: number;
}

async function attempt(
  column: Column,
  model: string,
  policy: Partial<RetryPolicy> = {},
  manner: Manner = "complete",
): Promise<Attempts> {
  const { client, simulator } = stage;
  simulator.clearRequests();
  const waits: number[] = [];
  const request = requestTo({ name: column.name, model }, { messages: [userMessage("Where are we?")] });
  const call = async () =>
    manner === "complete" ? client.complete(request) : collect(client.stream(request));
  const wait = async (milliseconds: number) => void waits.push(milliseconds);
  const error = await failureOf(() => retry(call, policy, { wait }));
  return { error: error as SDKError | undefined, waits, requests: simulator.requests.length };
}

/** The failure in the last event of a stream. */
async function errorEventOf({ name }: Column, model: string): Promise<InferenceError | undefined> {
  const request = requestTo({ name, model }, { messages: [userMessage("Where are we?")] });
  const seen: (InferenceError | undefined)[] = [];
  const reading = async () => {
    for await (const { event } of stage.client.stream(request))
      seen.push(event.case === "error" ? event.value : undefined);
  };
  await failureOf(reading);
  return seen.at(-1);
}
