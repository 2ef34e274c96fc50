/**
 * The WebSocket mode of `/v1/responses`: each `response.create` is a request, whose events are messages. Requests are
 * answered one after the other.
 */
import { type SDKError, toSdkError } from "../../core/errors.ts";
import { type JsonObject, without } from "../../kit/json/json.ts";
import type { EndpointRequest, EndpointSocket } from "../endpoint.ts";
import { errorObjectOf, statusOf } from "./errors.ts";
import { MessageSink } from "./event-output.ts";
import { mistake, parseBody, quote } from "./fields.ts";
import { LatestResponse } from "./latest-response.ts";
import type { ResponsesParts } from "./parts.ts";
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
  const latest = new LatestResponse();
  for await (const text of socket.messages) await new Exchange(socket, request, parts, latest).answer(text);
  socket.close(NORMAL_CLOSURE, "");
}

/** One message and its answer. */
class Exchange {
  readonly #socket: EndpointSocket;
  readonly #request: EndpointRequest;
  readonly #parts: ResponsesParts;
  readonly #latest: LatestResponse;
  /** Appended to each event: the `stream_id` of the message. */
  #suffix = "}";

  constructor(
    socket: EndpointSocket,
    request: EndpointRequest,
    parts: ResponsesParts,
    latest: LatestResponse,
  ) {
    this.#socket = socket;
    this.#request = request;
    this.#parts = parts;
    this.#latest = latest;
  }

  async answer(text: string): Promise<void> {
    try {
      this.#socket.admit(text);
      await this.#run(this.#bodyOf(text));
    } catch (thrown) {
      if (this.#request.signal.aborted) return;
      const error = toSdkError(thrown);
      this.#request.noteFailure(error);
      await this.#send(JSON.stringify(failureMessage(error)));
    }
  }

  /** The body of the request that a message is. */
  #bodyOf(text: string): JsonObject {
    const message = parseBody(Buffer.from(text));
    const streamId = message.string("stream_id", { max: 128 });
    if (streamId !== undefined) this.#suffix = `,"stream_id":${JSON.stringify(streamId)}}`;
    const type = message.requireString("type");
    if (type !== "response.create")
      throw mistake("type", "unsupported_value", `expected "response.create", found ${quote(type)}`);
    if (message.boolean("generate") === false)
      throw mistake(
        "generate",
        "unsupported_value",
        "expected true, since responses cannot be prepared without generating them",
      );
    return this.#latest.expand(without(message.value, ...OWN_MEMBERS));
  }

  async #run(body: JsonObject): Promise<void> {
    const bytes = Buffer.from(JSON.stringify(body));
    const { read, started } = await startRun(bytes, this.#parts, this.#request);
    const sink = new MessageSink();
    const pads = read.streamOptions.includeObfuscation === true;
    const writer = ResponseEvents.create(started.run, sink, { startingAfter: -1, pads });
    let last: string | undefined;
    for await (const batch of started.events) {
      writer.push(batch);
      last = (await this.#sendAll(sink.take())) ?? last;
    }
    writer.end();
    last = (await this.#sendAll(sink.take())) ?? last;
    this.#latest.replace(body, bytes.byteLength, last);
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
