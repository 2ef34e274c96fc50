/**
 * The WebSocket mode of `/v1/responses`: each `response.create` is a request, whose events are messages. Requests of
 * one lane are answered one after the other, requests of different lanes at once.
 */
import { withFieldPaths } from "../../client/field-paths.ts";
import { SDKError, toSdkError } from "../../core/errors.ts";
import { yieldTurnAfter } from "../../core/loop-turns.ts";
import type { EndpointRequest, EndpointSocket, SocketMessage } from "../../http/endpoint.ts";
import { toRequestFailure } from "../../http/request-failure.ts";
import { type JsonObject, type JsonValue, without } from "../../kit/json/json.ts";
import { getStatus, toErrorObject } from "../openai/errors.ts";
import { invalidParameter, parseBody, quote, toFields } from "../openai/fields.ts";
import { previousNotFound } from "../openai/not-found.ts";
import { createRun, prepareRun } from "./create-response.ts";
import { MessageSink } from "./event-output.ts";
import { LaneQueue } from "./lane-queue.ts";
import type { LatestResponse } from "./latest-response.ts";
import type { ResponsesParts } from "./parts.ts";
import { readRequest } from "./read-request.ts";
import { SocketLanes } from "./socket-lanes.ts";
import { ResponseEvents } from "./write-events.ts";

/** Status codes of RFC 6455. */
const NORMAL_CLOSURE = 1000;
const INTERNAL_ERROR = 1011;

/** Members of a message that do not belong to a request. A socket always streams. */
const SOCKET_MEMBERS = ["type", "stream_id", "stream", "generate"];

/** Serves a socket until its caller closes it. */
export async function serveSocket(
  socket: EndpointSocket,
  request: EndpointRequest,
  parts: ResponsesParts,
): Promise<void> {
  const lanes = new SocketLanes(parts.responseCache, request.caller.name);
  const failures: unknown[] = [];
  const queue = new LaneQueue((thrown) => {
    failures.push(thrown);
    socket.close(INTERNAL_ERROR, "internal error");
  });
  try {
    for await (const message of socket.messages) {
      const exchange = new Exchange({ socket, message, request, parts, lanes });
      queue.add(exchange.lane, () => exchange.answer());
    }
    await queue.drain();
  } finally {
    lanes.forgetAll();
  }
  if (failures.length > 0) throw failures[0];
  socket.close(NORMAL_CLOSURE, "");
}

interface ExchangeOptions {
  readonly socket: EndpointSocket;
  readonly message: SocketMessage;
  /** The request of the socket. */
  readonly request: EndpointRequest;
  readonly parts: ResponsesParts;
  readonly lanes: SocketLanes;
}

/** A message that was read. */
interface SocketRequest {
  readonly body: JsonObject;
  /** Returns the text of the message. */
  readonly text: () => string;
  readonly lane: LatestResponse;
  readonly generates: boolean;
}

/** One message and its answer. */
class Exchange {
  readonly #socket: EndpointSocket;
  readonly #message: SocketMessage;
  readonly #request: EndpointRequest;
  readonly #parts: ResponsesParts;
  readonly #lanes: SocketLanes;
  readonly #read: SocketRequest | RefusedSteer | SDKError;
  #lane: string | undefined;
  /** Undefined if the message was counted at once. */
  #admission: Promise<void> | undefined;
  /** `previous_response_id` of the message. */
  #previousId: unknown;
  /** Returns the path in the message of a path in the request. */
  #toMessagePath: (field: string) => string = (field) => field;

  /** Reads the message, so that its lane is known. */
  constructor({ socket, message, request, parts, lanes }: ExchangeOptions) {
    this.#socket = socket;
    this.#message = message;
    const { client } = message;
    this.#request = { ...request, client, readStored: (read) => message.readStored(read) };
    this.#parts = parts;
    this.#lanes = lanes;
    this.#read = this.#readMessage();
  }

  /** Name of the lane. Undefined for the lane without a name. */
  get lane(): string | undefined {
    return this.#lane;
  }

  async answer(): Promise<void> {
    try {
      if (this.#socket.isEnding) return;
      if (this.#read instanceof SDKError) throw this.#read;
      if (this.#admission !== undefined) await this.#admission;
      if ("steer" in this.#read) return await this.#send(JSON.stringify(toFailedSteer(this.#read)));
      await this.#run(this.#read);
      this.#lanes.limit();
    } catch (thrown) {
      const failure = toRequestFailure(thrown, this.#request.signal);
      if (failure === undefined) return;
      const error = withFieldPaths(failure, this.#toMessagePath);
      this.#request.noteFailure(error);
      // As in OpenAI's API, the client has to begin again with the whole conversation.
      this.#lanes.forget(this.#previousId);
      await this.#send(JSON.stringify(failureMessage(error)));
    } finally {
      this.#message.release();
    }
  }

  #readMessage(): SocketRequest | RefusedSteer | SDKError {
    try {
      this.#admission = this.#message.admit();
      const message = parseBody(this.#message.content);
      this.#lane = this.#lanes.readName(message);
      const type = message.requireString("type");
      if (type === "response.steer") return { steer: message.value };
      if (type !== "response.create")
        throw invalidParameter(
          "type",
          "unsupported_value",
          `expected "response.create", found ${quote(type)}`,
        );
      this.#previousId = message.string("previous_response_id");
      const generates = message.boolean("generate") ?? true;
      const body = without(message.value, ...SOCKET_MEMBERS);
      return { body, text: message.text, lane: this.#lanes.open(this.#lane), generates };
    } catch (thrown) {
      return toSdkError(thrown);
    }
  }

  /**
   * Returns the body of a request, with the conversation that it continues. Only its connection knows a response that
   * is not stored.
   * @param reserve Takes memory for the conversation.
   */
  #expand(body: JsonObject, reserve: (bytes: number) => void): JsonObject {
    const { previous_response_id: previous, store } = body;
    const isUnknown = store === false && typeof previous === "string" && !this.#lanes.has(previous);
    if (isUnknown && this.#parts.allowsUnstoredContinuation !== true) throw previousNotFound(previous);
    return this.#lanes.expand(body, reserve);
  }

  async #run({ body: read, text: getText, lane, generates }: SocketRequest): Promise<void> {
    let bytes = this.#message.content.byteLength;
    const body = this.#expand(read, (more) => {
      this.#message.reserve(more);
      bytes += more;
    });
    const isExpanded = body !== read;
    if (isExpanded) this.#toMessagePath = createPathMap(read.input, body.input);
    const turn = yieldTurnAfter(bytes);
    if (turn !== undefined) await turn;
    const fields = toFields(body, isExpanded ? once(() => JSON.stringify(body)) : getText);
    const previousId = this.#previousId;
    const isContinued = typeof previousId === "string" && body.previous_response_id !== previousId;
    const continuedId = isContinued ? previousId : undefined;
    const owner = this.#request.caller.name;
    const prepared = await readRequest(fields, { ...this.#parts, owner, continuedId });
    const { started } = generates
      ? await createRun(prepared, this.#parts, this.#request, { isStreamed: true })
      : prepareRun(prepared);
    const sink = new MessageSink();
    const pads = prepared.streamOptions.includeObfuscation === true;
    const writer = ResponseEvents.create(started.run, sink, { startingAfter: -1, pads }, prepared.settings);
    let last: string | undefined;
    for await (const batch of started.events) {
      writer.push(batch);
      last = (await this.#sendAll(sink.take())) ?? last;
    }
    writer.end();
    last = (await this.#sendAll(sink.take())) ?? last;
    if (writer.failure !== undefined) this.#lanes.forget(this.#previousId);
    if (body.store === false || !generates) lane.replace(body, bytes, last);
    else lane.forget();
    if (writer.failure !== undefined) this.#request.noteFailure(writer.failure);
  }

  /** Sends messages and returns the last one. */
  async #sendAll(messages: readonly string[]): Promise<string | undefined> {
    for (const message of messages) await this.#send(message);
    return messages.at(-1);
  }

  #send(message: string): Promise<void> {
    const lane = this.#lane;
    const suffix = lane === undefined ? "" : `,"stream_id":${JSON.stringify(lane)}`;
    return this.#socket.send(`${message.slice(0, -1)}${suffix}}`);
  }
}

/** Returns a function that creates a text on its first call, and returns the same text on later calls. */
function once(create: () => string): () => string {
  let text: string | undefined;
  return () => {
    text ??= create();
    return text;
  };
}

/** Returns a function that converts paths of an expanded request, which begins with earlier items, to the message's. */
function createPathMap(
  input: JsonValue | undefined,
  expanded: JsonValue | undefined,
): (field: string) => string {
  const [sent, all] = [input, expanded].map((items) => (Array.isArray(items) ? items.length : 1));
  const inserted = (all ?? 0) - (sent ?? 0);
  return (field) =>
    field.replace(/^input\[(\d+)\]/, (_, index: string) => {
      if (Number(index) < inserted) return "previous_response_id";
      return Array.isArray(input) ? `input[${Number(index) - inserted}]` : "input";
    });
}

/** Input for a response in progress, which no provider accepts. */
interface RefusedSteer {
  readonly steer: JsonObject;
}

/** Returns the event that returns the input to the client. */
function toFailedSteer({ steer }: RefusedSteer): object {
  const error = {
    type: "invalid_request_error",
    code: "steering_not_supported",
    message: "the sidecar cannot add input to a response in progress; send it as the next request",
  };
  const { input, previous_response_id } = steer;
  return { type: "response.steer.failed", sequence_number: 0, error, steer: { previous_response_id, input } };
}

function failureMessage(error: SDKError): object {
  return { type: "error", status: getStatus(error), error: toErrorObject(error) };
}
