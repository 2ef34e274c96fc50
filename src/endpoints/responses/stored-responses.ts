/** Stored responses: reading, deleting and cancelling them, and listing their input. */
import { invalidField, NotFoundError } from "../../core/errors.ts";
import type { EndpointRequest, EndpointResponse } from "../../http/endpoint.ts";
import { KEEP_ALIVE_MS } from "../../http/event-body.ts";
import { jsonResponse, jsonTextResponse } from "../../http/json-response.ts";
import { asObject, tryParseJson } from "../../kit/json/json.ts";
import type { RunWithOrigin } from "../../runs/engine.ts";
import { quote } from "../openai/fields.ts";
import { toRunId } from "../openai/ids.ts";
import type { EventOptions } from "./event-output.ts";
import { listItems, readPage, withinMemory } from "./item-list.ts";
import type { ResponsesParts } from "./parts.ts";
import { objectFromEvents } from "./read-events.ts";
import { getSettings, type ResponseSettings } from "./settings.ts";
import { ItemWriter } from "./write-items.ts";
import { writeRun } from "./write-response.ts";
import { type StreamSource, streamResponse } from "./write-stream.ts";

/** `GET /v1/responses/{id}`: returns the response in its current state, or its events, starting at any event. */
export async function getResponse(
  request: EndpointRequest,
  parts: ResponsesParts,
  id: string,
): Promise<EndpointResponse> {
  const { query } = request;
  const isStreamed = readBoolean(query, "stream") || (await requestsStream(request));
  const startingAfter = readCursor(query);
  const pads = readBoolean(query, "include_obfuscation");
  if (startingAfter !== undefined && !isStreamed)
    throw invalidField("starting_after", "is set without stream=true, expected both or neither");
  const run = await findRun(request, parts, id, !isStreamed);
  if (!isStreamed) return await jsonTextResponse(await getResponseObject(run, request, parts));
  return streamResponse(createSource(run, request, parts, { pads, startingAfter: startingAfter ?? -1 }));
}

/** Returns the events of a stored run, from a checkpoint near the first event that the caller wants. */
function createSource(
  run: RunWithOrigin,
  { query, signal, caller, noteFailure }: EndpointRequest,
  { engine, checkpoints: all, keepAliveMs = KEEP_ALIVE_MS }: ResponsesParts,
  options: EventOptions,
): StreamSource {
  const settings = getRequestedSettings(run, query);
  const checkpoints = all.open(run, settings);
  const checkpoint = checkpoints.find(options.startingAfter);
  const events = engine.streamRun(caller.name, run.id, checkpoint?.sequence ?? -1, signal);
  const reading = { run, events, settings, checkpoints, checkpoint };
  return { ...reading, ...options, keepAliveMs, signal, startedRun: false, onFailure: noteFailure };
}

/** `DELETE /v1/responses/{id}`. */
export async function deleteResponse(
  request: EndpointRequest,
  { engine, checkpoints }: ResponsesParts,
  id: string,
): Promise<EndpointResponse> {
  await orNotFound(id, () => engine.deleteRun(request.caller.name, getRunId(id)));
  checkpoints.forget(getRunId(id));
  return jsonResponse({ id, object: "response", deleted: true });
}

/** `POST /v1/responses/{id}/cancel`. Only background responses can be cancelled this way. */
export async function cancelResponse(
  request: EndpointRequest,
  parts: ResponsesParts,
  id: string,
): Promise<EndpointResponse> {
  const { background } = await findRun(request, parts, id, false);
  if (!background) throw invalidField("response_id", "Cannot cancel a synchronous response.");
  const run = await orNotFound(id, () => parts.engine.cancelRun(request.caller.name, getRunId(id)));
  return await jsonTextResponse(await getResponseObject(run, request, parts));
}

/** `GET /v1/responses/{id}/input_items`. */
export async function listInputItems(
  request: EndpointRequest,
  parts: ResponsesParts,
  id: string,
): Promise<EndpointResponse> {
  const page = readPage(request.query);
  const run = await findRun(request, parts, id, false);
  const settings = getRequestedSettings(run, request.query);
  const query = { ...page, owner: request.caller.name, source: { inputRunId: run.id } };
  return await listItems(withinMemory(parts.engine.threads, request), query, new ItemWriter(settings));
}

function findRun(
  { caller, readStored }: EndpointRequest,
  { engine }: ResponsesParts,
  id: string,
  withSteps: boolean,
): Promise<RunWithOrigin> {
  return orNotFound(id, () => readStored(() => engine.getRun(caller.name, getRunId(id), withSteps)));
}

/**
 * Returns the response object of a run. If the sidecar executes tools of the run, the object is read from the events.
 */
async function getResponseObject(
  run: RunWithOrigin,
  { query, caller, signal }: EndpointRequest,
  { engine }: ResponsesParts,
): Promise<string> {
  const settings = getRequestedSettings(run, query);
  if (run.mcpTools.length === 0) return writeRun(run, settings);
  return await objectFromEvents(run, engine.streamRun(caller.name, run.id, -1, signal), settings);
}

function getRequestedSettings(run: RunWithOrigin, query: URLSearchParams): ResponseSettings {
  const settings = getSettings(run);
  return { ...settings, include: [...settings.include, ...readIncludes(query)] };
}

/** Reads `include`, in the forms in which clients send lists. */
function readIncludes(query: URLSearchParams): readonly string[] {
  return ["include", "include[]"].flatMap((name) => query.getAll(name).flatMap((value) => value.split(",")));
}

function readBoolean(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value === null || value === "false") return false;
  if (value === "true") return true;
  throw invalidField(name, `expected true or false, found ${quote(value)}`);
}

/** OpenAI's SDK for Go sends `stream` in a body, although the request is a GET. */
async function requestsStream({ readBody }: EndpointRequest): Promise<boolean> {
  const body = await readBody();
  return body.byteLength > 0 && asObject(tryParseJson(Buffer.from(body).toString("utf8")))?.stream === true;
}

function readCursor(query: URLSearchParams): number | undefined {
  const value = query.get("starting_after");
  if (value === null) return undefined;
  if (/^(-1|\d{1,9})$/.test(value)) return Number(value);
  throw invalidField("starting_after", `expected the sequence number of an event, found ${quote(value)}`);
}

/** Returns the run of a response. @throws NotFoundError if this API did not issue the id; `orNotFound` describes it. */
function getRunId(id: string): string {
  const runId = toRunId(id);
  if (runId === undefined) throw new NotFoundError("");
  return runId;
}

/** Reports a response that does not exist, or belongs to another caller, in the words of OpenAI's API. */
async function orNotFound<T>(id: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!(thrown instanceof NotFoundError)) throw thrown;
    const description = `Response with id ${quote(id)} not found.`;
    throw new NotFoundError(description, { violations: [{ field: "response_id", description }] });
  }
}
