/** Messages of the contract as JSON and back, for storing a conversation or logging a response. */
import {
  createRegistry,
  type DescMessage,
  fromJson,
  type JsonValue,
  type MessageShape,
  type Message as ProtoMessage,
  toJson as toProtoJson,
} from "@bufbuild/protobuf";
import { file_outrigger_v1_attempt } from "../gen/outrigger/v1/attempt_pb.ts";
import { file_outrigger_v1_catalog_service } from "../gen/outrigger/v1/catalog_service_pb.ts";
import { file_outrigger_v1_error } from "../gen/outrigger/v1/error_pb.ts";
import { file_outrigger_v1_generation } from "../gen/outrigger/v1/generation_pb.ts";
import { file_outrigger_v1_message, type Message, MessageSchema } from "../gen/outrigger/v1/message_pb.ts";
import { file_outrigger_v1_request } from "../gen/outrigger/v1/request_pb.ts";
import { file_outrigger_v1_response, ResponseSchema } from "../gen/outrigger/v1/response_pb.ts";
import { file_outrigger_v1_stream_event } from "../gen/outrigger/v1/stream_event_pb.ts";
import { file_outrigger_v1_tool } from "../gen/outrigger/v1/tool_pb.ts";
import { file_outrigger_v1_usage } from "../gen/outrigger/v1/usage_pb.ts";
import { InvalidRequestError } from "./errors.ts";
import { type CompleteResponse, completeResponse } from "./response.ts";

const registry = createRegistry(
  file_outrigger_v1_attempt,
  file_outrigger_v1_catalog_service,
  file_outrigger_v1_error,
  file_outrigger_v1_generation,
  file_outrigger_v1_message,
  file_outrigger_v1_request,
  file_outrigger_v1_response,
  file_outrigger_v1_stream_event,
  file_outrigger_v1_tool,
  file_outrigger_v1_usage,
);

/**
 * Converts a Response, Message, Usage, event or any other message of the contract to plain JSON, in the form of the
 * sidecar's JSON: enums by name, 64-bit numbers as strings, bytes in base64, defaults left out. `JSON.stringify` of the
 * message itself throws, since prices and times are bigints.
 *
 * ```ts
 * await writeFile("chat.json", JSON.stringify(messages.map(toJson)));
 * const restored = JSON.parse(await readFile("chat.json", "utf8")).map(messageFromJson);
 * ```
 * @throws TypeError if it is not a message of the contract.
 */
export function toJson(message: ProtoMessage): JsonValue {
  const schema = registry.getMessage(message.$typeName);
  if (schema === undefined)
    throw new TypeError(`expected a message of outrigger.v1, found ${message.$typeName}`);
  return toProtoJson(schema, message);
}

/**
 * Reads a Message from the JSON that `toJson` made, with its signatures and all other state.
 * @throws InvalidRequestError if the JSON is not a Message.
 */
export function messageFromJson(json: JsonValue): Message {
  return read(MessageSchema, json);
}

/**
 * Reads a Response from the JSON that `toJson` made.
 * @throws InvalidRequestError if the JSON is not a Response.
 */
export function responseFromJson(json: JsonValue): CompleteResponse {
  return completeResponse(read(ResponseSchema, json));
}

function read<Schema extends DescMessage>(schema: Schema, json: JsonValue): MessageShape<Schema> {
  try {
    return fromJson(schema, json);
  } catch (cause) {
    throw new InvalidRequestError(`expected the JSON of a ${schema.name}`, { cause });
  }
}
