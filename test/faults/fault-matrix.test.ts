/**
 * Every fault of a provider over every wire API, to callers of every protocol, whole and streamed. Prints one table, in
 * which each mark is a call: of gRPC, gRPC-Web, Connect with protobuf and Connect with JSON, in this order.
 */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { type Code, ConnectError, createClient, type Client as RpcClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../../src/client/client.ts";
import { createAdapter, type WireApi, wireApis } from "../../src/client/providers.ts";
import { LawChecker } from "../../src/core/laws.ts";
import { ErrorKind, InferenceErrorSchema } from "../../src/gen/outrigger/v1/error_pb.ts";
import { InferenceService } from "../../src/gen/outrigger/v1/inference_service_pb.ts";
import { Role } from "../../src/gen/outrigger/v1/message_pb.ts";
import type { StreamEvent } from "../../src/gen/outrigger/v1/stream_event_pb.ts";
import { getCode, kindName } from "../../src/server/status/status-code.ts";
import { waitUntil } from "../kit/http/servers.ts";
import { TRANSPORTS } from "../server/support/clients.ts";
import { startTestServer, type TestServer } from "../server/support/test-server.ts";
import { type FaultServer, startFaultServer } from "./fault-server.ts";
import { type Expected, FAULTS, type Fault } from "./faults.ts";

/** The protocols of a mark, in their order. */
const PROTOCOLS = ["gRPC", "gRPC-Web over HTTP/1.1", "Connect over HTTP/1.1", "Connect with JSON"] as const;

/** Small, so that an endless answer exceeds them soon. */
const answerLimits = { maxBytes: 1_000_000, maxEventChars: 400_000, maxEvents: 5000 };

const CALLS = ["complete", "stream"] as const;

type Call = (typeof CALLS)[number];

let faults: FaultServer;
let client: Client;
let server: TestServer;
let callers: readonly RpcClient<typeof InferenceService>[];
const marks = new Map<string, string>();

beforeAll(async () => {
  faults = await startFaultServer();
  client = new Client({
    providers: Object.fromEntries(wireApis.map((api) => [api, createAdapter(api, toSettings(api))])),
    defaultProvider: "openai-chat",
  });
  server = await startTestServer({}, { inference: client });
  callers = PROTOCOLS.map((name) => {
    const transport = TRANSPORTS[name]?.(server.url);
    if (transport === undefined) throw new Error(`there is no protocol ${name}`);
    return createClient(InferenceService, transport);
  });
});

afterAll(async () => {
  process.stdout.write(`\n${formatTable()}\n`);
  await server.close();
  await client.close();
  await faults.close();
});

function toSettings(api: WireApi) {
  const baseUrl = api.startsWith("openai") ? `${faults.url}/v1` : faults.url;
  return { api, apiKey: "test-key", baseUrl, answerLimits };
}

/** The result that a caller saw. */
interface Seen extends Expected {
  readonly code: Code | undefined;
  readonly outputStarted: boolean;
  /** Cases of the events of a stream. */
  readonly events: readonly (string | undefined)[];
}

async function callOnce(
  caller: RpcClient<typeof InferenceService>,
  provider: WireApi,
  call: Call,
  { timeouts, model = "sim-text" }: Fault,
): Promise<Seen> {
  const request = {
    provider,
    model,
    maxTokens: 1000,
    messages: [{ role: Role.USER, content: [{ part: { case: "text" as const, value: "Where are we?" } }] }],
    timeouts: {
      ...(timeouts?.request === undefined ? {} : { request: durationFromMs(timeouts.request) }),
      ...(timeouts?.betweenBytes === undefined
        ? {}
        : { betweenBytes: durationFromMs(timeouts.betweenBytes) }),
    },
  };
  const events: StreamEvent[] = [];
  try {
    if (call === "complete") await caller.complete(request);
    else for await (const event of caller.stream(request)) events.push(event);
  } catch (thrown) {
    checkLaws(events);
    return observe(ConnectError.from(thrown), events);
  }
  checkLaws(events);
  return {
    ending: "OK",
    code: undefined,
    outputStarted: true,
    events: events.map(({ event }) => event.case),
  };
}

function checkLaws(events: readonly StreamEvent[]): void {
  if (events.length === 0) return;
  const laws = new LawChecker();
  for (const event of events) laws.check(event);
  laws.end();
}

function observe(error: ConnectError, events: readonly StreamEvent[]): Seen {
  const [detail] = error.findDetails(InferenceErrorSchema);
  if (detail === undefined) throw new Error(`a status without details: ${error.message}`);
  const last = events.at(-1)?.event;
  // A failed stream ends with an event that has the same error as the status.
  if (events.length > 0) expect(last).toMatchObject({ case: "error", value: { kind: detail.kind } });
  const { retryAfter, retryable: isRetryable, outputStarted } = detail;
  return {
    ending: kindName(detail.kind) as Expected["ending"],
    isRetryable,
    ...(retryAfter === undefined ? {} : { retryAfter: Number(retryAfter.seconds) }),
    code: error.code,
    outputStarted,
    events: events.map(({ event }) => event.case),
  };
}

/** Returns the result that a cell of the matrix must show. */
function getExpected(fault: Fault, call: Call): Partial<Seen> {
  const expected = fault[call];
  return {
    ...expected,
    code: expected.ending === "OK" ? undefined : getCode(ErrorKind[expected.ending]),
    outputStarted: expected.ending === "OK" || (call === "stream" && fault.hasOutput),
  };
}

describe("the page about failures", () => {
  it("lists every fault with its result", () => {
    const page = readFileSync(new URL("../../docs/failures.md", import.meta.url), "utf8");
    const rows = FAULTS.map(
      ({ name, phase, complete, stream }) => `| ${name} | ${phase} | ${shown(complete)} | ${shown(stream)} |`,
    );
    expect(page).toContain(`\n${rows.join("\n")}\n`);
  });
});

function shown({ ending, isRetryable }: Expected): string {
  if (ending === "OK") return "the answer";
  return `\`${ending}\`${isRetryable ? ", retryable" : ""}`;
}

describe("a provider's fault", () => {
  it.each(FAULTS)(
    "reaches every caller in the same way: $name $phase",
    { timeout: 60_000 },
    async (fault) => {
      faults.begin(fault.write);
      const cells = CALLS.flatMap((call) =>
        wireApis.flatMap((api) => callers.map((caller, index) => ({ call, api, caller, index }))),
      );
      const seen = await Promise.all(
        cells.map(async ({ call, api, caller, index }) => {
          const cell = `${api}, ${call}, ${PROTOCOLS[index]}`;
          const outcome = await callOnce(caller, api, call, fault);
          const { events: _, ...facts } = outcome;
          const isRight = isDeepStrictEqual(facts, { ...facts, ...getExpected(fault, call) });
          marks.set(describeCell(fault, call, api, index), isRight ? "✓" : "✗");
          return { cell, facts, wanted: getExpected(fault, call) };
        }),
      );
      expect(seen.map(({ cell, facts }) => ({ cell, ...facts }))).toEqual(
        seen.map(({ cell, facts, wanted }) => ({ cell, ...facts, ...wanted })),
      );
      if (fault.closesConnection) await waitUntil(() => faults.openConnections() === 0);
    },
  );
});

function describeCell({ name, phase }: Fault, call: Call, api: WireApi, index: number): string {
  return [name, phase, call, api, index].join("|");
}

/** A row for each fault and call; a mark for each protocol. */
function formatTable(): string {
  const rows = FAULTS.flatMap((fault) =>
    CALLS.map((call) => [
      fault.name,
      fault.phase,
      call,
      fault[call].ending,
      ...wireApis.map((api) =>
        PROTOCOLS.map((_, index) => marks.get(describeCell(fault, call, api, index)) ?? " ").join(""),
      ),
    ]),
  );
  const heads = ["Fault of the provider", "Phase", "Call", "Outcome", ...wireApis];
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => (row[at] ?? "").length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
