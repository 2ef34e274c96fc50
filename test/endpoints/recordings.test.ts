/**
 * Recorded answers of real providers, read through `/v1/responses`: provider stream in, Responses stream out, and a
 * whole answer in, a whole response out. OpenAI's SDK must read the same content as the adapter.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { type Response, toolCallsOf } from "outrigger";
import { FinishReason_Reason } from "outrigger/proto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sidecar, startSidecar } from "../clients/runner/sidecar.ts";
import { type ColumnName, columns } from "../providers/support/columns.ts";
import { readers } from "../providers/support/recorded-answers.ts";
import { type Decoded, decode, factsFor } from "../support/decode.ts";
import { getRecordings, type Recording, toBytes } from "../support/recordings.ts";
import { expectValid, expectValidEvent } from "./schemas/validate.ts";
import { factsOfAnswer, factsOfResponse } from "./support/answer-facts.ts";
import { eventsIn } from "./support/events-in.ts";
import { expectWholeStream } from "./support/expect-whole-stream.ts";
import { unpublishedForms } from "./support/unpublished-forms.ts";

const all = columns.flatMap(({ name }) =>
  ([".sse", ".json"] as const).flatMap((ending) => getRecordings(readers[name].folder, ending)),
);
const folder = mkdtempSync(join(tmpdir(), "outrigger-recordings-"));

let provider: Server;
let sidecar: Sidecar;
let openai: OpenAI;

beforeAll(async () => {
  provider = createServer(replay).listen(0, "127.0.0.1");
  await new Promise((resolve) => provider.once("listening", resolve));
  sidecar = await startSidecar(["serve", "--config", writeConfiguration()]);
  openai = new OpenAI({ apiKey: "any", baseURL: `http://${sidecar.address}/v1`, maxRetries: 0 });
}, 60_000);

afterAll(async () => {
  await sidecar.stop();
  provider.close();
  rmSync(folder, { recursive: true });
});

describe.each(columns)("recorded streams of $title", ({ name }) => {
  const recordings = getRecordings(readers[name].folder, ".sse");

  it.each(recordings.map((recording) => [recording.file, recording] as const))(
    "reach OpenAI's SDK without loss: %s",
    async (_, recording) => {
      const decoded = await read(name, recording);
      const last = decoded.events.at(-1)?.event;
      const isError =
        last?.case === "finish" && last.value.finishReason?.reason === FinishReason_Reason.ERROR;
      if (last?.case === "finish" && last.value.response !== undefined && !isError) {
        const { response: answer } = last.value;
        const request = { model: `${name}/${getModel(recording)}`, input: "Begin.", tools: toTools(answer) };
        const response = await streamed(request, unpublishedForms.includes(recording.file));
        expect(factsOfResponse(response)).toEqual(factsOfAnswer(answer));
      } else {
        await expectFailure(name, recording);
      }
    },
  );
});

describe.each(columns)("recorded whole answers of $title", ({ name }) => {
  const answers = getRecordings(readers[name].folder, ".json").flatMap((recording) => {
    const answer = readWhole(name, recording);
    return answer === undefined ? [] : [[recording.file, recording, answer] as const];
  });

  it.each(answers)(
    "are the same response whole, stored and replayed: %s",
    async (file, recording, answer) => {
      const request = { model: `${name}/${getModel(recording)}`, input: "Begin.", tools: toTools(answer) };
      const { id, ...whole } = await fetchJson("responses", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(request),
      });
      expect(factsOfResponse(whole as unknown as OpenAI.Responses.Response)).toEqual(factsOfAnswer(answer));
      expect(await fetchJson(`responses/${id}`)).toEqual({ id, ...whole });
      const events = eventsIn(await rawEvents(String(id)));
      const last = expectWholeStream(events, unpublishedForms.includes(file) ? () => [] : undefined);
      expect(last).toEqual({ id, ...whole });
    },
  );
});

/** The answer that the adapter reads. Undefined if it is a failure. */
function readWhole(name: ColumnName, recording: Recording): Response | undefined {
  if (recording.status !== 200) return undefined;
  const facts = factsFor(name, { model: getModel(recording) });
  try {
    const answer = readers[name].whole(toBytes(recording).toString("utf8"), facts);
    return answer.finishReason?.reason === FinishReason_Reason.ERROR ? undefined : answer;
  } catch {
    return undefined;
  }
}

async function fetchJson(path: string, init?: RequestInit): Promise<Record<string, unknown>> {
  return (await fetch(`${openai.baseURL}/${path}`, init)).json() as Promise<Record<string, unknown>>;
}

/** The request for the answer, as far as it matters. */
interface Request {
  readonly model: string;
  readonly input: string;
  readonly tools: OpenAI.Responses.Tool[];
}

/** The tools that an answer calls. */
function toTools({ message }: Response): OpenAI.Responses.Tool[] {
  const calls = toolCallsOf(message);
  const names = [...new Set(calls.map(({ name }) => name))];
  return names.map((name) =>
    calls.some((call) => call.name === name && call.input.case === "text")
      ? { type: "custom", name }
      : { type: "function", name, parameters: { type: "object" }, strict: false },
  );
}

/** Decodes a recording with the adapter. */
function read(name: ColumnName, recording: Recording): Promise<Decoded> {
  const facts = factsFor(name, { model: getModel(recording) });
  return decode([toBytes(recording)], facts, readers[name].decoder);
}

/**
 * Returns the response that the SDK accumulates of a stream. The stream must be whole, and the stored response equal.
 */
async function streamed(request: Request, hasUnpublishedForms: boolean): Promise<OpenAI.Responses.Response> {
  const raw = await openai.responses.create({ ...request, stream: true }).asResponse();
  const body = await raw.text();
  expect(body.endsWith("data: [DONE]\n\n")).toBe(true);
  const events = eventsIn(body);
  const { id } = expectWholeStream(events, hasUnpublishedForms ? () => [] : undefined);
  const accumulated = await openai.responses.stream({ response_id: String(id) }).finalResponse();
  const stored = await openai.responses.retrieve(String(id));
  expect(await rawEvents(String(id))).toBe(body);
  expect(JSON.parse(JSON.stringify(stored.output))).toEqual(toOutput(events.at(-1)?.response));
  expect(factsOfResponse(accumulated)).toEqual(factsOfResponse(stored));
  return accumulated;
}

async function rawEvents(id: string): Promise<string> {
  return (await fetch(`${openai.baseURL}/responses/${id}?stream=true`)).text();
}

/** A recording that ends with a failure, or is cut, never becomes a completed response. */
async function expectFailure(name: ColumnName, recording: Recording): Promise<void> {
  const request = { model: `${name}/${getModel(recording)}`, input: "Begin.", stream: true, store: false };
  const answer = await fetch(`${openai.baseURL}/responses`, {
    method: "POST",
    body: JSON.stringify(request),
  });
  const body = await answer.text();
  if (answer.status !== 200) {
    expectValid("ErrorResponse", JSON.parse(body));
    return;
  }
  const events = eventsIn(body);
  for (const event of events) expectValidEvent(event);
  expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
  expect(events.at(-1)).toMatchObject({
    response: { status: "failed", error: { code: expect.any(String) } },
  });
  expect(body.endsWith("data: [DONE]\n\n")).toBe(true);
}

function toOutput(response: unknown): unknown {
  return typeof response === "object" && response !== null && "output" in response
    ? response.output
    : undefined;
}

/** The provider's name for a recording: Gemini's names are part of a path. */
function getModel({ file }: Recording): string {
  return `recording-${all.findIndex((each) => each.file === file)}`;
}

/** The provider: answers with the recording that the model names. */
function replay(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const [, index] = /recording-(\d+)/.exec(`${request.url} ${Buffer.concat(chunks)}`) ?? [];
    const recording = all[Number(index)];
    if (recording === undefined) throw new Error(`no recording is named in a request to ${request.url}`);
    const type = recording.file.endsWith(".sse") ? "text/event-stream" : "application/json";
    response.writeHead(recording.status, { "content-type": type });
    response.end(toBytes(recording));
  });
}

function writeConfiguration(): string {
  const { port } = provider.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const providers = {
    openai: { api: "openai-responses", api_key: "any", base_url: `${url}/v1` },
    anthropic: { api: "anthropic-messages", api_key: "any", base_url: url },
    gemini: { api: "gemini", api_key: "any", base_url: url },
    compatible: {
      api: "openai-chat",
      api_key: "any",
      base_url: `${url}/v1`,
    },
  };
  const path = join(folder, "outrigger.json");
  writeFileSync(path, JSON.stringify({ providers }));
  return path;
}
