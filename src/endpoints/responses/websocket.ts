/**
 * The WebSocket mode of `/v1/responses`: each `response.create` is a request, whose events are messages. Requests are
 * answered one after the other, those of all lanes.
 */
import { type SDKError, toSdkError } from "../../core/errors.ts";
import { type JsonObject, without } from "../../kit/json/json.ts";
import type { EndpointRequest, EndpointSocket } from "../endpoint.ts";
import { errorObjectOf, statusOf } from "./errors.ts";
import { MessageSink } from "./event-output.ts";
import { type Fields, mistake, parseBody, quote } from "./fields.ts";
import type { LatestResponse } from "./latest-response.ts";
import { previousNotFound } from "./not-found.ts";
import type { ResponsesParts } from "./parts.ts";
import { SocketLanes } from "./socket-lanes.ts";
import { startRun } from "./start-run.ts";
import { ResponseEvents } from "./write-events.ts";

/** Status of RFC 6455: the purpose of the connection is fulfilled. */
const NORMAL_CLOSURE = 1000;

/** Members of a message that do not belong to a request. A socket always streams. */
const OWN_MEMBERS = ["type", "stream_id", "stream", "generate"];

/** Serves a socket until its caller closes it. */
export async function serveSocket(
  socket: EndpointSocket,
  request: EndpointRequest,
  parts: ResponsesParts,
): Promise<void> {
  const lanes = new SocketLanes(parts.keptResponses, request.caller.name);
  try {
    for await (const message of socket.messages)
      await new Exchange(socket, request, parts, lanes).answer(message);
  } finally {
    lanes.forgetAll();
  }
  socket.close(NORMAL_CLOSURE, "");
}

/** One message and its answer. */
class Exchange {
  readonly #socket: EndpointSocket;
  readonly #request: EndpointRequest;
  readonly #parts: ResponsesParts;
  readonly #lanes: SocketLanes;
  /** Appended to each event: the `stream_id` of the message. */
  #suffix = "}";
  /** `previous_response_id` of the message. */
  #previousId: unknown;

  constructor(socket: EndpointSocket, request: EndpointRequest, parts: ResponsesParts, lanes: SocketLanes) {
    this.#socket = socket;
    this.#request = request;
    this.#parts = parts;
    this.#lanes = lanes;
  }

  async answer(message: Uint8Array): Promise<void> {
    try {
      this.#socket.admit(message);
      await this.#create(parseBody(message));
    } catch (thrown) {
      if (this.#request.signal.aborted) return;
      const error = toSdkError(thrown);
      this.#request.noteFailure(error);
      // As OpenAI's API: the client has to begin again with the whole conversation.
      this.#lanes.forget(this.#previousId);
      await this.#send(JSON.stringify(failureMessage(error)));
    }
  }

  async #create(message: Fields): Promise<void> {
    const name = this.#lanes.readName(message);
    if (name !== undefined) this.#suffix = `,"stream_id":${JSON.stringify(name)}}`;
    const type = message.requireString("type");
    if (type !== "response.create")
      throw mistake("type", "unsupported_value", `expected "response.create", found ${quote(type)}`);
    this.#previousId = message.string("previous_response_id");
    const generates = message.boolean("generate") ?? true;
    const body = this.#expand(without(message.value, ...OWN_MEMBERS));
    await this.#run(body, this.#lanes.open(name), generates);
    this.#lanes.limit();
  }

  /** The body of a request, with what it continues. A response that is not stored is known to its connection alone. */
  #expand(body: JsonObject): JsonObject {
    const { previous_response_id: previous, store } = body;
    const isUnknown = store === false && typeof previous === "string" && !this.#lanes.has(previous);
    if (isUnknown && this.#parts.allowsUnstoredContinuation !== true) throw previousNotFound(previous);
    return this.#lanes.expand(body, (bytes) => this.#socket.reserve(bytes));
  }

  async #run(body: JsonObject, lane: LatestResponse, generates: boolean): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(body));
    const isContinued =
      typeof this.#previousId === "string" && body.previous_response_id !== this.#previousId;
    const continuedId = isContinued ? this.#previousId : undefined;
    const options = { generates, ...(typeof continuedId === "string" && { continuedId }) };
    const { read, started } = await startRun(bytes, this.#parts, this.#request, options);
    const sink = new MessageSink();
    const pads = read.streamOptions.includeObfuscation === true;
    const writer = ResponseEvents.create(started.run, sink, { startingAfter: -1, pads }, read.settings);
    let last: string | undefined;
    for await (const batch of started.events) {
      writer.push(batch);
      last = (await this.#sendAll(sink.take())) ?? last;
    }
    writer.end();
    last = (await this.#sendAll(sink.take())) ?? last;
    if (writer.failure !== undefined) this.#lanes.forget(this.#previousId);
    if (body.store === false || !generates) lane.replace(body, bytes.byteLength, last);
    else lane.forget();
    if (writer.failure !== undefined) this.#request.noteFailure(writer.failure);
  }

  /** Returns the last one. */
  async #sendAll(messages: readonly string[]): Promise<string | undefined> {
    for (const message of messages) await this.#send(message);
    return messages.at(-1);
  }

  #send(message: string): Promise<void> {
    return this.#socket.send(message.slice(0, -1) + this.#suffix);
  }
}

function failureMessage(error: SDKError): object {
  return { type: "error", status: statusOf(error), error: errorObjectOf(error) };
}
